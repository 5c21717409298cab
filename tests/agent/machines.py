"""Machines for the pretended driver: what its file says, by key. fake_nvml/fake_nvml.c explains the keys."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
XID = 8  # the bit of XID events among what a GPU can tell
Values = dict[str, str | int | float]


def gpu_uuid(index: int) -> str:
    return f"GPU-{uuid.UUID(int=0xA000 + index)}"


def mig_uuid(index: int, place: int) -> str:
    return f"MIG-{uuid.UUID(int=0xB000 + 16 * index + place)}"


def h100(index: int, **more: str | int) -> Values:
    facts: Values = {
        "uuid": gpu_uuid(index),
        "name": "NVIDIA H100 80GB HBM3",
        "pci": f"00000000:{0x1B + index:02X}:00.0",
        "serial": f"16512230{index:05}",
        "minor": index,
        "architecture": 9,
        "capability": "9.0",
        "persistence": 1,
        "compute_mode": 0,
        "mig_mode": 0,
        "memory.total": 81559 * MIB,
        "memory.reserved": 600 * MIB,
        "memory.used": 12000 * MIB,
        "utilization": 87,
        "power": 512_300,
        "temperature": 61,
        "clock": 1980,
        "throttle": 0x4,  # the cap on power, as under any load
        "ecc.double": 0,
        "retirement_pending": "!3",
        "remapped": "0 0 0 0",
        "events": 0x1F,
        **more,
    }
    return {f"gpu.{index}.{name}": value for name, value in facts.items()}


def h100_with_mig(index: int = 0) -> Values:
    """One 1g.10gb and one 3g.40gb, in the first and third place. Utilization and remapped rows are not told then."""
    values = h100(index, mig_mode=1, utilization="!3", remapped="!3")
    for place, profile, slices, memory in ((0, "1g.10gb", 1, 9984), (2, "3g.40gb", 3, 40448)):
        facts: Values = {
            "uuid": mig_uuid(index, place),
            "name": f"NVIDIA H100 80GB HBM3 MIG {profile}",
            "gi": 7 + place,
            "ci": 0,
            "slices": slices,
            "memory_mb": memory,
            "memory.total": memory * MIB,
            "memory.used": 100 * (place + 1) * MIB,
        }
        values |= {f"gpu.{index}.mig.{place}.{name}": value for name, value in facts.items()}
    return values


def t4(index: int) -> Values:
    """No MIG, ECC switched off, no NVLink."""
    facts: Values = {
        "uuid": gpu_uuid(index),
        "name": "Tesla T4",
        "pci": f"00000000:{0x3B + index:02X}:00.0",
        "serial": f"032402{index:06}",
        "minor": index,
        "architecture": 6,
        "capability": "7.5",
        "persistence": 0,
        "compute_mode": 3,
        "memory.total": 15360 * MIB,
        "memory.reserved": 260 * MIB,
        "memory.used": 0,
        "utilization": 0,
        "power": 9_650,
        "temperature": 34,
        "clock": 300,
        "throttle": 0x1,
        "retirement_pending": 0,
        "events": 0x1F,
    }
    return {f"gpu.{index}.{name}": value for name, value in facts.items()}


def driver(*gpus: Values, version: str = "580.95.05", cuda: int = 13000) -> Values:
    values: Values = {"driver": version, "cuda": cuda}
    for gpu in gpus:
        values |= gpu
    return values


def nvlink(*indexes: int) -> Values:
    return {f"nvlink.{one}.{other}": 0 for one in indexes for other in indexes if one != other}


@dataclass
class Machine:
    """A machine that changes while it is looked at. `values` may be changed; `write` makes it so."""

    file: Path
    values: Values = field(default_factory=dict)
    _events: int = 0

    def write(self, values: Values | None = None) -> None:
        if values is not None:
            self.values = dict(values)
        text = "".join(f"{key} {value}\n" for key, value in self.values.items())
        new = self.file.with_suffix(".new")
        new.write_text(text)
        os.replace(new, self.file)  # noqa: PTH105 — nobody reads half a file

    def set(self, **values: str | int) -> None:
        """Dots are written as two underscores: gpu__0__error=15."""
        self.values |= {name.replace("__", "."): value for name, value in values.items()}
        self.write()

    def forget(self, prefix: str) -> None:
        self.values = {key: value for key, value in self.values.items() if not key.startswith(prefix)}
        self.write()

    def event(self, gpu: int, xid: int) -> None:
        self.values[f"event.{self._events}"] = f"{gpu} {XID} {xid}"
        self._events += 1
        self.write()
