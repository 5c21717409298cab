"""What one look finds at one GPU: its facts, its samples, the signs of its health. No state, no decisions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from typing import Any

import pynvml

from agent.health import Signs
from agent.nvml import Handle, UnexpectedError, ask, ask_or_none, mig_handles, must
from agent.report import Device, MigInstance, Sample

_MIB = 1 << 20
_GIB = 1 << 30
_ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper",
    10: "Blackwell", 13: "Rubin",
}  # fmt: skip
_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
_MIG_NAME = re.compile(r"\bMIG (\S+)$")

_HW_SLOWDOWN = pynvml.nvmlClocksEventReasonHwSlowdown
_THERMAL = pynvml.nvmlClocksEventReasonSwThermalSlowdown | pynvml.nvmlClocksEventReasonHwThermalSlowdown
_POWER_BRAKE = pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown


@dataclass(frozen=True, slots=True)
class Process:
    """A process that computes on a GPU. `device` is the GPU's or the MIG instance's UUID; the id is the host's."""

    pid: int
    device: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Of one GPU at one moment. `minor` is the number of its device file, by which some clusters name it.

    `gpu_instances`: by the UUID of a MIG instance, the driver's number of it.
    """

    device: Device
    samples: tuple[Sample, ...]
    signs: Signs
    minor: int | None = None
    gpu_instances: Mapping[str, int] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mig:
    instance: MigInstance
    gpu_instance: int | None
    compute_instance: int | None
    used_mib: int | None


def read_gpu(handle: Handle, index: int, uuid: str, at: datetime, *, with_processes: bool) -> Reading:
    """Raises GoneError and DriverError."""
    error = None
    try:
        must(pynvml.nvmlDeviceGetMemoryInfo, handle)  # every driver can, unless something is wrong
    except UnexpectedError as unexpected:
        error = str(unexpected)
    total, used = _memory(handle)
    mode = ask(pynvml.nvmlDeviceGetMigMode, handle)
    found = [_mig(each, total) for each in mig_handles(handle)] if mode and mode[0] else []
    migs = [mig for mig in found if mig.instance.uuid]  # one without is just being taken away
    device = _facts(handle, index, uuid, total, mode, migs)
    samples = (_sample(handle, uuid, used, at), *(_mig_sample(mig, at) for mig in migs))
    return Reading(
        device,
        samples,
        _signs(handle, error),
        minor=ask(pynvml.nvmlDeviceGetMinorNumber, handle),
        gpu_instances={mig.instance.uuid: mig.gpu_instance for mig in migs if mig.gpu_instance is not None},
        processes=_processes(handle, uuid, migs) if with_processes else (),
    )


def _facts(handle: Handle, index: int, uuid: str, total: int | None, mode: Any, migs: list[_Mig]) -> Device:
    pci = ask(pynvml.nvmlDeviceGetPciInfo_v3, handle)
    persistence = ask(pynvml.nvmlDeviceGetPersistenceMode, handle)
    compute_mode = ask(pynvml.nvmlDeviceGetComputeMode, handle)
    capability = ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    return Device(
        uuid=uuid,
        index=index,
        pci_bus_id=str(pci.busId) if pci else "",
        product=ask(pynvml.nvmlDeviceGetName, handle) or "",
        memory_mib=None if total is None else total // _MIB,
        architecture=_ARCHITECTURES.get(ask(pynvml.nvmlDeviceGetArchitecture, handle) or 0, ""),
        compute_capability="{}.{}".format(*capability) if capability else "",
        serial=ask(pynvml.nvmlDeviceGetSerial, handle),
        mig_enabled=bool(mode[0]) if mode else None,
        mig_instances=tuple(mig.instance for mig in migs),
        persistence_mode=None if persistence is None else bool(persistence),
        compute_mode=_COMPUTE_MODES.get(-1 if compute_mode is None else compute_mode, ""),
    )


def _memory(handle: Handle) -> tuple[int | None, int | None]:
    """Total and used bytes. The older call counts as used what the driver keeps for itself."""
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2) or ask(
        pynvml.nvmlDeviceGetMemoryInfo, handle
    )
    return (memory.total, memory.used) if memory else (None, None)


def _mig(handle: Handle, gpu_total: int | None) -> _Mig:
    total, used = _memory(handle)
    instance = MigInstance(
        uuid=ask(pynvml.nvmlDeviceGetUUID, handle) or "",
        profile=_profile(handle, gpu_total),
        memory_mib=None if total is None else total // _MIB,
    )
    gpu_instance = ask(pynvml.nvmlDeviceGetGpuInstanceId, handle)
    compute_instance = ask(pynvml.nvmlDeviceGetComputeInstanceId, handle)
    return _Mig(instance, gpu_instance, compute_instance, None if used is None else used // _MIB)


def _profile(handle: Handle, gpu_total: int | None) -> str:
    """ "1g.10gb". A MIG device's name ends with it; where it does not, it follows from slices and memory."""
    if match := _MIG_NAME.search(ask(pynvml.nvmlDeviceGetName, handle) or ""):
        return match[1]
    attributes = ask(pynvml.nvmlDeviceGetAttributes_v2, handle)
    if attributes is None or not gpu_total:
        return ""
    slices, compute = attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount
    eighths = round(attributes.memorySizeMB * _MIB / gpu_total * 8)
    gigabytes = round(eighths / 8 * -(-gpu_total // _GIB))
    return f"{f'{compute}c.' if compute != slices else ''}{slices}g.{gigabytes}gb"


def _sample(handle: Handle, uuid: str, used: int | None, at: datetime) -> Sample:
    power = ask(pynvml.nvmlDeviceGetPowerUsage, handle)
    utilization = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    return Sample(
        device=uuid,
        at=at,
        utilization=None if utilization is None else float(utilization.gpu),
        memory_used_mib=None if used is None else used // _MIB,
        power_watts=None if power is None else power / 1000,
        temperature=_temperature(handle),
        sm_clock_mhz=ask(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
    )


def _mig_sample(mig: _Mig, at: datetime) -> Sample:
    """Of an instance the driver tells its memory alone."""
    return Sample(device=mig.instance.uuid, at=at, memory_used_mib=mig.used_mib)


def _temperature(handle: Handle) -> float | None:
    """The call that comes without a version is gone from CUDA 14 on, the other one missing before."""
    for call in (pynvml.nvmlDeviceGetTemperatureV, pynvml.nvmlDeviceGetTemperature):
        degrees = ask(call, handle, pynvml.NVML_TEMPERATURE_GPU)
        if degrees is not None:
            return float(degrees)
    return None


def _signs(handle: Handle, error: str | None) -> Signs:
    remapped = ask(pynvml.nvmlDeviceGetRemappedRows, handle)
    slowdown = _slowdown(handle)
    thermal = bool(slowdown & _THERMAL)
    return Signs(
        error=error,
        double_bit_errors=ask(
            pynvml.nvmlDeviceGetTotalEccErrors,
            handle,
            pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            pynvml.NVML_VOLATILE_ECC,
        ),
        retirement_pending=bool(ask(pynvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)),
        remap_pending=bool(remapped and remapped[2]),
        remap_failed=bool(remapped and remapped[3]),
        thermal=thermal,
        power=bool(slowdown & _POWER_BRAKE) or (bool(slowdown & _HW_SLOWDOWN) and not thermal),
    )


def _slowdown(handle: Handle) -> int:
    for call in (pynvml.nvmlDeviceGetCurrentClocksEventReasons, pynvml.nvmlDeviceGetCurrentClocksThrottleReasons):
        reasons = ask(call, handle)
        if reasons is not None:
            return int(reasons)
    return 0


def _processes(handle: Handle, uuid: str, migs: list[_Mig]) -> tuple[Process, ...]:
    for call in (pynvml.nvmlDeviceGetComputeRunningProcesses_v3, pynvml.nvmlDeviceGetComputeRunningProcesses_v2):
        found = ask(call, handle)
        if found is not None:
            return tuple(Process(each.pid, _instance_of(each, migs) or uuid) for each in found)
    return ()


def _instance_of(process: Any, migs: list[_Mig]) -> str | None:
    wanted = (process.gpuInstanceId, process.computeInstanceId)
    return next((mig.instance.uuid for mig in migs if (mig.gpu_instance, mig.compute_instance) == wanted), None)


def nvlink_peers(handles: Mapping[str, Handle]) -> dict[str, tuple[str, ...]]:
    """By UUID: the GPUs that it reaches over NVLink, directly or through switches. Fixed while the driver is loaded."""
    peers: dict[str, list[str]] = {uuid: [] for uuid in handles}
    for one, other in combinations(handles, 2):
        status = ask_or_none(
            pynvml.nvmlDeviceGetP2PStatus, handles[one], handles[other], pynvml.NVML_P2P_CAPS_INDEX_NVLINK
        )
        if status == pynvml.NVML_P2P_STATUS_OK:
            peers[one].append(other)
            peers[other].append(one)
    return {uuid: tuple(found) for uuid, found in peers.items()}
