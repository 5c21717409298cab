"""What is asked for in terms of the models that a pool has: rooms know their GPUs by a model's name alone."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.gpus import ANY_GPU, WHOLE, Device, GpuRequirements, satisfies
from app.placement.room import Ask


def model_of(device: Device) -> str:
    """Slices and shares are models of their own."""
    if device.kind == WHOLE:
        return device.product
    share = "shared" if device.kind.is_shared else ""
    return " ".join(filter(None, (device.product, device.kind.mig_profile, share)))


class Models:
    """Of the devices that a pool's usable servers have."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self._devices = frozenset(devices)
        self._has_parts = any(device.kind != WHOLE for device in self._devices)
        self._found: dict[GpuRequirements, frozenset[str]] = {}

    def resolve(self, ask: Ask) -> Ask | None:
        """The same with the models that do for it; None where there is none."""
        if ask.wanted == ANY_GPU and (ask.models or not self._has_parts):
            return ask
        found = self._found.get(ask.wanted)
        if found is None:
            found = frozenset(model_of(device) for device in self._devices if satisfies(device, ask.wanted))
            self._found[ask.wanted] = found
        return ask._replace(models=found, wanted=ANY_GPU) if found else None
