"""The command `python -m agent inventory`: what this server has, for people or as JSON, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent.report import Device, DriverState, Health, Inventory
from agent.wire import plain


def as_json(inventory: Inventory) -> str:
    """In the form of the report that the app gets."""
    return json.dumps(plain(inventory), indent=2)


def as_text(inventory: Inventory) -> str:
    return "\n".join(_lines(inventory))


def _lines(inventory: Inventory) -> Iterator[str]:
    if inventory.driver_version:
        yield f"driver {inventory.driver_version}, CUDA up to {inventory.cuda_version or 'unknown'}"
    if inventory.state is not DriverState.OK:
        yield f"no GPU can be used: {inventory.message}"
    elif inventory.message:
        yield f"not everything answers: {inventory.message}"
    for device in inventory.devices:
        yield from _device(device)


def _device(device: Device) -> Iterator[str]:
    memory = "unknown memory" if device.memory_mib is None else f"{device.memory_mib} MiB"
    yield f"{device.index}  {device.uuid}  {device.product}, {memory}"
    facts = {
        "at": device.pci_bus_id,
        "architecture": device.architecture,
        "compute capability": device.compute_capability,
        "serial": device.serial,
        "compute mode": device.compute_mode,
        "NVLink peers": len(device.nvlink_peers) or None,
        "MIG": None if device.mig_enabled is None else "on" if device.mig_enabled else "off",
    }
    yield "   " + ", ".join(f"{name} {value}" for name, value in facts.items() if value)
    for instance in device.mig_instances:
        yield f"   {instance.uuid}  {instance.profile}, {instance.memory_mib} MiB"
    if device.health.health is not Health.OK:
        yield f"   {device.health.health}: {device.health.message}"
