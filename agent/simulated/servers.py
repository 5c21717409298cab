"""What a simulated fleet is made of, and where it comes from: a number, or the simulated cluster (cluster.py)."""

from __future__ import annotations

import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from agent.report import Device, Holder

_NAMES = uuid.UUID("3f2a7c0e-0c55-4c1e-9f3a-5d1e7b9c2a10")
_GPUS = 8
_TURN_SECONDS = 1800  # how long an invented workload lasts


class FleetError(Exception):
    """The fleet cannot be seen now."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a GPU is kept busy with. The key decides how its curves look."""

    key: str
    since: datetime


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    device: Device
    watts: float  # the most that it draws
    megahertz: int
    is_healthy: bool = True
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class SimulatedPod:
    """A running pod: its work, of which the key is its uid, and the cores and MiB that it asked for."""

    work: Work
    cores: float
    memory_mib: float


@dataclass(frozen=True, slots=True)
class SimulatedServer:
    name: str
    boot_id: str
    driver: str
    cuda: str
    gpus: tuple[SimulatedGpu, ...]
    holders: tuple[Holder, ...] = ()
    pods: tuple[SimulatedPod, ...] = ()


class Fleet(Protocol):
    def servers(self, now: datetime, /) -> list[SimulatedServer]:
        """Those whose agents would speak now. Raises FleetError."""

    def close(self) -> None:
        """Nothing more is asked."""


class InventedFleet:
    """So many servers of eight H100, named sim-1 and so on; two of three GPUs are busy, each half an hour others."""

    def __init__(self, count: int) -> None:
        self._names = [f"sim-{number}" for number in range(1, count + 1)]

    def servers(self, now: datetime) -> list[SimulatedServer]:
        turn = int(now.timestamp()) // _TURN_SECONDS
        return [
            SimulatedServer(
                name, boot_of(name), "580.95.05", "13.0", tuple(_invented(name, index, turn) for index in range(_GPUS))
            )
            for name in self._names
        ]

    def close(self) -> None:
        """There is nothing to close."""


def boot_of(name: str) -> str:
    """A simulated server never boots."""
    return str(uuid.uuid5(_NAMES, name))


def _invented(server: str, index: int, turn: int) -> SimulatedGpu:
    device = Device(
        uuid=f"GPU-{uuid.uuid5(_NAMES, f'{server}/{index}')}",
        index=index,
        pci_bus_id=f"00000000:{0x18 + 8 * index:02X}:00.0",
        product="NVIDIA H100 80GB HBM3",
        memory_mib=81559,
        architecture="Hopper",
        compute_capability="9.0",
        mig_enabled=False,
        persistence_mode=True,
        compute_mode="default",
    )
    key = f"{device.uuid}/{turn}"
    is_busy = zlib.crc32(key.encode()) % 3 != 0
    since = datetime.fromtimestamp(turn * _TURN_SECONDS, UTC)
    return SimulatedGpu(device, watts=700, megahertz=1980, work=Work(key, since) if is_busy else None)
