"""What a source of GPUs must be able to do, and what one look at a server finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from agent.health import Signs
from agent.report import Holder, Inventory, PodSample, Sample


@dataclass(frozen=True, slots=True)
class Look:
    """`holders` is None where nobody could tell. `signs` are by UUID; `minors` and `gpu_instances` name device files
    and MIG instances by the driver's numbers."""

    at: datetime
    inventory: Inventory
    samples: tuple[Sample, ...] = ()
    holders: tuple[Holder, ...] | None = None
    signs: Mapping[str, Signs] = field(default_factory=dict)
    last_xids: Mapping[str, int] = field(default_factory=dict)
    minors: Mapping[str, int] = field(default_factory=dict)
    gpu_instances: Mapping[str, int] = field(default_factory=dict)
    pod_samples: tuple[PodSample, ...] = ()


class Source(Protocol):
    """The GPUs of one server: NVML's or simulated ones."""

    def look(self) -> Look:
        """Raises nothing: what is wrong is in the answer."""

    def close(self) -> None:
        """No look follows."""
