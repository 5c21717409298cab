"""The GPUs of this server, through NVML: looked at as a whole, again and again, whatever becomes of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import pynvml

from agent import nvml
from agent.clock import Clock
from agent.explain import explain
from agent.health import Conditions, Signs, advance, health_of
from agent.holders import Holders
from agent.host import Host
from agent.look import Look
from agent.nvml import DriverError, GoneError, Handle, Place
from agent.readings import Reading, nvlink_peers, read_gpu
from agent.report import Device, DriverState, HealthReason, Inventory
from agent.xids import NoXids, XidWatch

_log = logging.getLogger(__name__)


@dataclass
class _Known:
    """What is remembered of a device between two looks: a device that is gone tells nothing about itself."""

    device: Device
    conditions: Conditions = field(default_factory=dict)
    last_xid: int = 0


class Gpus:
    """A `Source`. One thread looks; only the waiting for XIDs has another."""

    def __init__(self, host: Host, clock: Clock, holders: Holders, xids: XidWatch | NoXids) -> None:
        self._host = host
        self._clock = clock
        self._holders = holders
        self._xids = xids
        self._known: dict[str, _Known] = {}
        self._peers: Mapping[str, tuple[str, ...]] = {}
        self._is_started = False
        self._driver_is_new = False

    def look(self) -> Look:
        now = self._clock.now()
        try:
            return self._look(now)
        except DriverError as error:
            self._let_go()
            inventory = Inventory(error.state, explain(error.state, str(error), self._host))
            return Look(now, inventory, holders=self._holders.now(()))

    def close(self) -> None:
        self._let_go()

    def _look(self, now: datetime) -> Look:
        self._start()
        handles: dict[str, Handle] = {}
        readings: dict[str, Reading] = {}
        silent: list[Place] = []
        for place in nvml.places():
            found = self._read(place, now)
            if isinstance(found, Place):
                silent.append(found)
            else:
                handles[found.device.uuid], readings[found.device.uuid] = Handle(place.handle), found
        self._watch(handles)
        self._remember(readings)
        signs = self._judge(readings, silent, now)
        return Look(
            at=now,
            inventory=self._inventory(now, silent),
            samples=tuple(sample for reading in readings.values() for sample in reading.samples),
            holders=self._holders.now(readings.values()),
            signs=signs,
            last_xids={uuid: known.last_xid for uuid, known in self._known.items()},
            minors={uuid: each.minor for uuid, each in readings.items() if each.minor is not None},
            gpu_instances={uuid: number for each in readings.values() for uuid, number in each.gpu_instances.items()},
        )

    def _start(self) -> None:
        if not self._is_started:
            nvml.start()
            self._is_started = True
            self._driver_is_new = True

    def _let_go(self) -> None:
        """The driver is away, or not wanted any more: the next look starts it anew."""
        self._xids.end()
        if self._is_started:
            nvml.stop()
        self._is_started = False
        self._peers = {}

    def _read(self, place: Place, now: datetime) -> Reading | Place:
        if place.handle is None:
            return place
        try:
            uuid = nvml.ask(pynvml.nvmlDeviceGetUUID, place.handle)
            if uuid is None:
                return replace(place, handle=None, reason=HealthReason.NVML_ERROR, message="it does not tell its UUID")
            return read_gpu(place.handle, place.index, uuid, now, with_processes=self._holders.want_processes)
        except GoneError as error:
            return replace(place, handle=None, reason=error.reason, message=str(error))

    def _watch(self, handles: Mapping[str, Handle]) -> None:
        """At the start of the driver, and when a GPU has come."""
        if not handles.keys() <= self._peers.keys():
            self._xids.end()
            self._peers = nvlink_peers(handles)
            self._xids.begin(handles)

    def _remember(self, readings: Mapping[str, Reading]) -> None:
        for uuid, reading in readings.items():
            device = replace(reading.device, nvlink_peers=self._peers.get(uuid, ()))
            self._known.setdefault(uuid, _Known(device)).device = device

    def _judge(self, readings: Mapping[str, Reading], silent: list[Place], now: datetime) -> dict[str, Signs]:
        xids = self._xids.taken()
        reasons = {place.index: place.reason for place in silent}
        signs: dict[str, Signs] = {}
        for uuid, known in self._known.items():
            if uuid in readings:
                found = readings[uuid].signs
            else:
                found = Signs(gone=reasons.get(known.device.index) or HealthReason.OFF_THE_BUS)
            signs[uuid] = replace(found, xids=xids.get(uuid, ()))
            known.last_xid = next(reversed(signs[uuid].xids), known.last_xid)
            known.conditions = advance(known.conditions, signs[uuid], now, driver_is_new=self._driver_is_new)
        self._driver_is_new = False
        return signs

    def _inventory(self, now: datetime, silent: list[Place]) -> Inventory:
        known = sorted(self._known.values(), key=lambda each: each.device.index)
        devices = tuple(replace(each.device, health=health_of(each.conditions, now)) for each in known)
        state = DriverState.OK if devices or silent else DriverState.NO_GPU
        places = {each.index for each in devices}
        strangers = [f"GPU {place.index}: {place.message}" for place in silent if place.index not in places]
        words = explain(state, "", self._host) if state is DriverState.NO_GPU else "; ".join(strangers)
        version = nvml.ask(pynvml.nvmlSystemGetDriverVersion) or ""
        return Inventory(state, words, version, _cuda_version(), devices)


def _cuda_version() -> str:
    """The highest that the driver supports, "13.0"."""
    for call in (pynvml.nvmlSystemGetCudaDriverVersion_v2, pynvml.nvmlSystemGetCudaDriverVersion):
        version = nvml.ask(call)
        if version:
            return f"{version // 1000}.{version % 1000 // 10}"
    return ""
