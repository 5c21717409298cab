"""NVML through pynvml, and what its errors mean: no driver, a device that is gone, or just no answer to a question.

Everything that a device is asked for may be missing: drivers differ in their functions, products in their sensors. So
`ask` answers None there. Handles and names follow nvml.h (https://docs.nvidia.com/deploy/nvml-api/).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NewType

import pynvml

from agent.report import DriverState, HealthReason

Handle = NewType("Handle", object)

LIBRARY = "libnvidia-ml.so.1"
_DRIVER_STATES = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: DriverState.NO_LIBRARY,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: DriverState.NO_DRIVER,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: DriverState.MISMATCH,
    pynvml.NVML_ERROR_NO_PERMISSION: DriverState.NO_PERMISSION,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: DriverState.NO_GPU,
}
# These say that the whole driver is away, whichever device was asked.
_DRIVER_GONE = {
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
}
_DEVICE_GONE = {
    pynvml.NVML_ERROR_GPU_IS_LOST: HealthReason.LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED: HealthReason.RESET_REQUIRED,
}
_NO_ANSWER = {
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NO_DATA,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_NOT_READY,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
}


class DriverError(Exception):
    """No GPU can be asked anything; `state` says why."""

    def __init__(self, state: DriverState, message: str) -> None:
        super().__init__(message)
        self.state = state


class GoneError(Exception):
    """One GPU answers nothing any more, the others may."""

    def __init__(self, reason: HealthReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnexpectedError(Exception):
    """The driver failed at something that every device can answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the driver counts a GPU. Without a handle, `reason` and `message` say why."""

    index: int
    handle: Handle | None = None
    reason: HealthReason | None = None
    message: str = ""


def start() -> None:
    """Load and initialize the library. Raises DriverError."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        state = _DRIVER_STATES.get(error.value, DriverState.ERROR)
        raise DriverError(state, _words(error)) from None


def stop() -> None:
    """Give the library back; it may be started again. What it says to that is of no use to anybody."""
    ask_or_none(pynvml.nvmlShutdown)


def ask(call: Callable[..., Any], *arguments: object) -> Any | None:
    """The answer, or None where this device or driver has none. Raises GoneError and DriverError."""
    try:
        return must(call, *arguments)
    except UnexpectedError:
        return None


def must(call: Callable[..., Any], *arguments: object) -> Any | None:
    """As `ask`, but an error that means more than "not here" raises UnexpectedError."""
    try:
        return call(*arguments)
    except UnicodeDecodeError:
        return None
    except pynvml.NVMLError as error:
        code = error.value
        if code in _DRIVER_GONE:
            raise DriverError(_DRIVER_STATES.get(code, DriverState.ERROR), _words(error)) from None
        if code in _DEVICE_GONE:
            raise GoneError(_DEVICE_GONE[code], _words(error)) from None
        if code in _NO_ANSWER:
            return None
        raise UnexpectedError(f"{getattr(call, '__name__', call)}: {_words(error)}") from None


def ask_or_none(call: Callable[..., Any], *arguments: object) -> Any | None:
    """As `ask`, for what may be told while everything breaks down."""
    try:
        return ask(call, *arguments)
    except (DriverError, GoneError):
        return None


def places() -> list[Place]:
    """Of all GPUs that the driver counts. Raises DriverError."""
    return [_place(index) for index in range(_count())]


def _place(index: int) -> Place:
    try:
        handle = must(pynvml.nvmlDeviceGetHandleByIndex, index)
    except GoneError as error:
        return Place(index, reason=error.reason, message=str(error))
    except UnexpectedError as error:
        return Place(index, reason=HealthReason.NVML_ERROR, message=str(error))
    if handle is None:
        return Place(index, reason=HealthReason.NVML_ERROR, message="this user may not use it")
    return Place(index, Handle(handle))


def _count() -> int:
    try:
        count = must(pynvml.nvmlDeviceGetCount)
    except (UnexpectedError, GoneError) as error:
        raise DriverError(DriverState.ERROR, f"cannot count GPUs: {error}") from None
    return int(count or 0)


def mig_handles(handle: Handle) -> list[Handle]:
    """Of the GPU's MIG instances. They go stale when the instances are made anew, so none is kept."""
    places = ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    found = [ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place) for place in range(places)]
    return [Handle(each) for each in found if each is not None]


def library_changed(maps: Path = Path("/proc/self/maps")) -> bool:
    """Whether the library on disk is another one than what this process has loaded: after an upgrade of the driver.

    A loaded library stays what it was, so then only a new process can speak to the new driver.
    """
    loaded = _loaded_library(maps)
    if loaded is None:
        return False
    path, inode = loaded
    if path.endswith(" (deleted)"):
        return True
    try:
        return os.stat(path).st_ino != inode  # noqa: PTH116 — a library's path as the kernel names it
    except FileNotFoundError:
        return True


def _loaded_library(maps: Path) -> tuple[str, int] | None:
    """Its path and inode, out of /proc/PID/maps: address, permissions, offset, device, inode, path."""
    with maps.open() as lines:
        for line in lines:
            if "libnvidia-ml.so" in line:
                columns = line.rstrip("\n").split(None, 5)
                return columns[5], int(columns[4])
    return None


def _words(error: Any) -> str:
    return f"NVML error {error.value}: {error}"
