"""Living curves: what a simulated GPU shows at a moment, from its work and the time alone. Pure.

Most work keeps a GPU busy with a pause now and then, as training with its checkpoints does; some comes in waves, as
inference does; some holds the memory and does nothing, which is what people want to find.
"""

from __future__ import annotations

import math
import zlib
from datetime import datetime

from agent.report import PodSample, Sample
from agent.simulated.servers import SimulatedGpu, SimulatedPod, Work

_IDLE_MEMORY_MIB = 4
_RAMP_SECONDS = 30.0


def sample_of(gpu: SimulatedGpu, at: datetime) -> Sample:
    busy = utilization(gpu.work, at) if gpu.work else 0.0
    idle_watts = gpu.watts * 0.1
    watts = idle_watts + (gpu.watts - idle_watts) * busy / 100 * 0.92 + _wave(gpu.device.uuid, at, 37) * 2
    return Sample(
        device=gpu.device.uuid,
        at=at,
        utilization=float(round(busy)),
        memory_used_mib=_memory(gpu, at),
        power_watts=round(watts, 1),
        temperature=float(round(29 + 0.4 * busy + 2 * _wave(gpu.device.uuid, at, 600))),
        sm_clock_mhz=round(gpu.megahertz * (0.97 + 0.03 * _wave(gpu.device.uuid, at, 53))) if busy > 1 else 345,
    )


def pod_sample_of(pod: SimulatedPod, at: datetime) -> PodSample:
    """Loading data keeps a part of the cores busy; memory fills up at first, and then grows a little all the time."""
    hours = max(0.0, (at - pod.work.since).total_seconds()) / 3600
    ramp = min(1.0, hours * 3600 / _RAMP_SECONDS)
    busy = 0.25 + (_number(pod.work.key, "cores") % 50) / 100 + 0.1 * _wave(pod.work.key, at, 41)
    full = 0.3 + (_number(pod.work.key, "pages") % 40) / 100 + min(0.15, 0.02 * hours)
    return PodSample(pod.work.key, at, round(pod.cores * ramp * busy, 3), round(pod.memory_mib * ramp * full))


def utilization(work: Work, at: datetime) -> float:
    """Percent."""
    seconds = max(0.0, (at - work.since).total_seconds())
    ramp = min(1.0, seconds / _RAMP_SECONDS)
    kind = _number(work.key, "kind") % 10
    if kind == 0:
        return 0.0
    if kind <= 2:  # noqa: PLR2004 — two of ten
        return ramp * (52 + 40 * _wave(work.key, at, 180))
    pause = 240 + _number(work.key, "pause") % 240
    if seconds > pause and seconds % pause < 20:  # noqa: PLR2004 — a checkpoint is written
        return 8.0
    return ramp * (91 + 5 * _wave(work.key, at, 47) + 3 * _wave(work.key, at, 13))


def _memory(gpu: SimulatedGpu, at: datetime) -> int:
    if gpu.work is None:
        return _IDLE_MEMORY_MIB
    share = 0.35 + (_number(gpu.work.key, "memory") % 58) / 100
    ramp = min(1.0, max(0.0, (at - gpu.work.since).total_seconds()) / _RAMP_SECONDS)
    return max(_IDLE_MEMORY_MIB, round((gpu.device.memory_mib or 0) * share * ramp))


def _wave(key: str, at: datetime, seconds: float) -> float:
    """From -1 to 1, once around in so many seconds; each key has its own place in it."""
    phase = _number(key, str(seconds)) % 1000 / 1000
    return math.sin(2 * math.pi * (at.timestamp() / seconds + phase))


def _number(key: str, what: str) -> int:
    return zlib.crc32(f"{key}/{what}".encode())
