"""What GPUs and workloads' pods did, in the database. `app.store.packs` says how."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from app.domain.samples import OF_GPU, OF_POD, PodReading, Reading
from app.store.gpu_models import GpuSampleRow, PodSampleRow
from app.store.packs import Packs


class Device(NamedTuple):
    """Whose samples: the id of a GPU on record, and the UUID of a MIG instance on it, empty for the whole GPU."""

    gpu_id: UUID
    instance: str = ""


class Run(NamedTuple):
    """An attempt of a workload, by its number: it has one pod."""

    workload_id: UUID
    attempt: int


GPUS: Packs[Device, Reading] = Packs(GpuSampleRow, Device, OF_GPU)
PODS: Packs[Run, PodReading] = Packs(PodSampleRow, Run, OF_POD)
