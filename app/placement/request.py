"""What waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.cuda import CudaVersion
from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.server import ServerId
from app.placement.shape import Shape


@dataclass(frozen=True, slots=True)
class Request:
    """A waiting workload. `avoid` names servers where an attempt of it was lost; on `nominated` others were preempted
    for it.

    `run_seconds` is its run limit; `hold_seconds` how long it may keep its GPUs at most, with the time it has to start.
    """

    workload_id: UUID
    organization: str
    gpu_count: int
    cpu_millis: int
    memory_bytes: int
    queued_at: datetime
    cuda: CudaVersion | None = None
    avoid: frozenset[ServerId] = frozenset()
    priority: int = 0
    project: UUID | None = None
    run_seconds: int = 3600
    hold_seconds: int = 3600
    wanted: GpuRequirements = ANY_GPU
    preemptible: bool = False
    nominated: ServerId | None = None

    @property
    def shape(self) -> Shape:
        size = (self.gpu_count, self.cpu_millis, self.memory_bytes)
        return Shape(self.organization, *size, self.cuda, self.avoid, self.wanted)
