"""Looks as a source would have them."""

from __future__ import annotations

from datetime import datetime

from agent.look import Look
from agent.outbox import Identity
from agent.report import Device, DriverState, Holder, Inventory, PodSample, Sample
from tests.clock import START

IDENTITY = Identity("gpu-1", "boot", "1.0", "agent", START)
HOLDER = Holder("GPU-0", "team-a", "train-0", container="main")


def inventory(*uuids: str, state: DriverState = DriverState.OK) -> Inventory:
    return Inventory(state, devices=tuple(Device(uuid, index) for index, uuid in enumerate(uuids)))


def look(
    at: datetime = START,
    *uuids: str,
    found: Inventory | None = None,
    holders: tuple[Holder, ...] | None = None,
    pods: tuple[str, ...] = (),
) -> Look:
    uuids = uuids or ("GPU-0",)
    samples = tuple(Sample(uuid, at, utilization=50.0) for uuid in uuids)
    of_pods = tuple(PodSample(uid, at, 1.5, 100) for uid in pods)
    return Look(at, found or inventory(*uuids), samples, holders, pod_samples=of_pods)
