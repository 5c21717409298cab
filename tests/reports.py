"""Reports of node agents, for whoever tests what becomes of them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from agent.report import (
    Device,
    DeviceHealth,
    DriverState,
    Health,
    HealthReason,
    Holder,
    Inventory,
    MigInstance,
    PodSample,
    Report,
    Sample,
)
from tests.clock import START

XID_79 = DeviceHealth(Health.FAILED, HealthReason.OFF_THE_BUS, "fell off the bus", START, 79)


def a_device(number: int = 0, **changes: Any) -> Device:
    device = Device(f"GPU-{number:04}", number, f"00000000:{number:02}:00.0", "NVIDIA H100", 81559, "Hopper", "9.0")
    return replace(device, **changes)


def an_inventory(count: int = 2, **changes: Any) -> Inventory:
    devices = tuple(map(a_device, range(count)))
    return replace(Inventory(DriverState.OK, "", "570.86", "12.8", devices), **changes)


def a_mig_device(number: int = 0) -> Device:
    slices = tuple(MigInstance(f"MIG-{number}-{i}", "1g.10gb", 9856) for i in range(2))
    return a_device(number, mig_enabled=True, mig_instances=slices)


def a_sample(number: int = 0, at: datetime = START, utilization: float | None = 50.0, **changes: Any) -> Sample:
    return replace(Sample(f"GPU-{number:04}", at, utilization, 1000, 300.0, 60.0, 1500), **changes)


def a_pod_sample(uid: str = "uid-1", at: datetime = START, cores: float | None = 1.5, **changes: Any) -> PodSample:
    return replace(PodSample(uid, at, cores, 2048), **changes)


def a_holder(pod: str, number: int = 0, **changes: Any) -> Holder:
    return replace(Holder(f"GPU-{number:04}", "gpuyard", pod, "", "workload"), **changes)


def a_report(sequence: int = 1, *, at: datetime = START, **changes: Any) -> Report:
    """Sent at `at`, with nothing new in it."""
    report = Report("gpu-1", "boot-1", "0.1", "agent-1", START - timedelta(minutes=1), sequence, at)
    return replace(report, **changes)


def as_input(part: Any) -> Any:
    """As an agent sends it: members of enums by name, fields in the API's spelling."""
    if is_dataclass(part) and not isinstance(part, type):
        return {_camel(field.name): as_input(getattr(part, field.name)) for field in fields(part)}
    if isinstance(part, Enum):
        return part.name
    if isinstance(part, datetime):
        return part.isoformat()
    return [as_input(it) for it in part] if isinstance(part, tuple) else part


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
