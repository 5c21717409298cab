"""What the machine itself tells, without NVML: its boot, its PCI bus, the kernel module, the pods of its processes."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")  # VGA and 3D controllers; audio and bridges of a card are other classes
# The kubelet names a pod's group after its uid: "kubepods-burstable-pod12ab34cd_….slice" or "/kubepods/pod12ab34cd-…".
_POD_GROUP = re.compile(r"pod([a-f0-9]{8}[-_][a-f0-9]{4}[-_][a-f0-9]{4}[-_][a-f0-9]{4}[-_][a-f0-9]{12}|[a-f0-9]{32})")


def pod_uid_in(group: str) -> str | None:
    """The uid of the pod that a control group is of, by the group's name or path."""
    match = _POD_GROUP.search(group)
    return match[1].replace("_", "-") if match else None


@dataclass(frozen=True)
class Host:
    """Files of the kernel. `root` is / but in tests."""

    root: Path = Path("/")

    def boot_id(self) -> str:
        """Empty where the kernel does not tell it."""
        return self._text("proc/sys/kernel/random/boot_id")

    def module_version(self) -> str:
        """Of the NVIDIA kernel module that is loaded; empty without one."""
        return self._text("sys/module/nvidia/version")

    def pci_gpus(self) -> list[str]:
        """The addresses of NVIDIA GPUs on the PCI bus, whether or not a driver is there."""
        devices = self.root / "sys/bus/pci/devices"
        if not devices.is_dir():
            return []
        return sorted(
            place.name
            for place in devices.iterdir()
            if self._text(f"sys/bus/pci/devices/{place.name}/vendor") == _NVIDIA
            and self._text(f"sys/bus/pci/devices/{place.name}/class").startswith(_DISPLAY_CLASSES)
        )

    def pod_of(self, pid: int) -> str | None:
        """The uid of the pod that a process belongs to, by its control group of either version."""
        return pod_uid_in(self._text(f"proc/{pid}/cgroup"))

    def _text(self, name: str) -> str:
        with suppress(OSError):  # not there, ended meanwhile, or not ours to read: all the same nothing is known
            return (self.root / name).read_text(errors="replace").strip()
        return ""
