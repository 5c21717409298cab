"""What a waiting workload asks for, apart from which workload it is: all of one shape get one and the same answer."""

from __future__ import annotations

from typing import NamedTuple

from app.domain.cuda import CudaVersion
from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.server import ServerId
from app.placement.room import Ask


class Shape(NamedTuple):
    """A tuple rather than a dataclass: it is hashed once for every waiting workload of every plan."""

    organization: str
    gpu_count: int
    cpu_millis: int
    memory_bytes: int
    cuda: CudaVersion | None = None
    avoid: frozenset[ServerId] = frozenset()
    wanted: GpuRequirements = ANY_GPU

    @property
    def ask(self) -> Ask:
        return Ask(self.gpu_count, self.cpu_millis, self.memory_bytes, wanted=self.wanted)
