"""Looks at a simulated fleet each interval, and speaks for all of its servers. In the place of agent/collector.py."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from agent.clock import Clock
from agent.health import Conditions, Signs, advance, health_of
from agent.look import Look
from agent.report import DriverState, HealthReason, Inventory
from agent.simulated.curves import pod_sample_of, sample_of
from agent.simulated.servers import Fleet, FleetError, SimulatedServer

_log = logging.getLogger(__name__)
_LOST = Signs(gone=HealthReason.LOST)


class Told(Protocol):
    @property
    def pod_uids(self) -> Collection[str]: ...

    def tell(self, look: Look) -> None: ...

    def hush(self) -> None: ...


class FleetCollector:
    """`node` gives who wants the looks at a server, by its name and boot."""

    def __init__(
        self, fleet: Fleet, clock: Clock, interval: Callable[[], float], node: Callable[[str, str], Told]
    ) -> None:
        self._fleet = fleet
        self._clock = clock
        self._interval = interval
        self._node = node
        self._conditions: dict[str, Conditions] = {}
        self._speaking: dict[str, Told] = {}
        self._is_blind = False
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            self.look()
            self._stopped.wait(self._interval())
        self._fleet.close()

    def stop(self) -> None:
        self._stopped.set()

    def stuck_seconds(self) -> float:
        return 0.0

    def watch_over(self) -> None:
        """Every wait for the simulated cluster has an end."""

    def look(self) -> None:
        now = self._clock.now()
        try:
            servers = self._fleet.servers(now)
        except FleetError as error:
            if not self._is_blind:
                _log.warning("%s", error)
            self._is_blind = True
            return
        self._is_blind = False
        for server in servers:
            node = self._speaking[server.name] = self._node(server.name, server.boot_id)
            node.tell(self._seen(server, now, node.pod_uids))
        for name in self._speaking.keys() - {server.name for server in servers}:
            self._speaking[name].hush()

    def _seen(self, server: SimulatedServer, now: datetime, wanted_pods: Collection[str]) -> Look:
        signs = {gpu.device.uuid: Signs() if gpu.is_healthy else _LOST for gpu in server.gpus}
        for uuid, found in signs.items():
            self._conditions[uuid] = advance(self._conditions.get(uuid, {}), found, now)
        uuids = tuple(signs)
        devices = tuple(
            replace(
                gpu.device,
                nvlink_peers=tuple(each for each in uuids if each != gpu.device.uuid),
                health=health_of(self._conditions[gpu.device.uuid], now),
            )
            for gpu in server.gpus
        )
        return Look(
            at=now,
            inventory=Inventory(DriverState.OK, "", server.driver, server.cuda, devices),
            samples=tuple(sample_of(gpu, now) for gpu in server.gpus if gpu.is_healthy),
            holders=server.holders,
            signs=signs,
            minors={gpu.device.uuid: gpu.device.index for gpu in server.gpus},
            pod_samples=tuple(pod_sample_of(pod, now) for pod in server.pods if pod.work.key in wanted_pods),
        )
