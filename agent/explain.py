"""Why no GPU can be seen, in a sentence: what was found, and what to do."""

from __future__ import annotations

from agent.host import Host
from agent.report import DriverState

_ADVICE = {
    DriverState.NO_LIBRARY: "libnvidia-ml.so.1 is not here; install NVIDIA's driver, or give the container the NVIDIA "
    "runtime with NVIDIA_VISIBLE_DEVICES=all and NVIDIA_DRIVER_CAPABILITIES=utility",
    DriverState.NO_DRIVER: "NVIDIA's library is here, but its kernel module is not loaded; load it (modprobe nvidia) "
    "or install the driver for this kernel",
    DriverState.MISMATCH: "the driver was upgraded while its old kernel module is still loaded; restart the server, "
    "or unload the module and load it again",
    DriverState.NO_PERMISSION: "this user may not use the driver; look at who may open /dev/nvidiactl and /dev/nvidia*",
    DriverState.NO_GPU: "the driver is loaded and counts no GPU; lspci and the kernel's log (dmesg) may tell more",
    DriverState.ERROR: "the driver does not work; the kernel's log (dmesg) may tell more",
}


def explain(state: DriverState, details: str, host: Host) -> str:
    """`details` are the driver's own words, or empty."""
    found = [details] if details else []
    if state is DriverState.MISMATCH and (version := host.module_version()):
        found.append(f"the kernel module has version {version}")
    if state is not DriverState.ERROR:
        found.append(_on_the_bus(len(host.pci_gpus())))
    return f"{_ADVICE[state]} ({'; '.join(found)})"


def _on_the_bus(count: int) -> str:
    if not count:
        return "no NVIDIA GPU is seen on the PCI bus"
    return f"{count} NVIDIA GPU{'s are' if count > 1 else ' is'} on the PCI bus"
