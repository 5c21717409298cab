"""With which one change a waiting request would start now: less CPU, fewer GPUs, a shorter limit, other GPUs.

Asked of a pool as a plan has left it, and only when somebody wants to know, as every usable server is looked at.
Whoever goes before has been served by then, so what fits is free for the taking.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from app.domain.gpus import Device, format_capability, has_product
from app.domain.server import ServerId
from app.domain.wording import gpus
from app.placement import words
from app.placement.pool import Offer, Pool
from app.placement.request import Request
from app.placement.shape import Shape

_LEAST = 4  # less than a quarter of the CPU or the memory would hardly be the same job
_SHORTEST = 60  # seconds of a run limit
_MEBI, _GIBI = 2**20, 2**30
_LARGE = 16  # of which a whole unit is little


class Change(StrEnum):
    """What would have to be asked for otherwise. In the order in which they are told."""

    TIMEOUT = "timeout"
    CPU = "cpu"
    MEMORY = "memory"
    PRODUCT = "product"
    GPU_MEMORY = "gpu_memory"
    COMPUTE_CAPABILITY = "compute_capability"
    GPU_COUNT = "gpu_count"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Change.TIMEOUT: "a shorter run limit, so that it is over before what is kept there begins: seconds",
    Change.CPU: "less CPU",
    Change.MEMORY: "less memory",
    Change.PRODUCT: "another product than those asked for",
    Change.GPU_MEMORY: "GPUs with less memory",
    Change.COMPUTE_CAPABILITY: "GPUs of a lower compute capability",
    Change.GPU_COUNT: "fewer GPUs",
}
_ORDER = list(Change)


class Relaxation(NamedTuple):
    """It would start now on that server, were the value asked for, in the API's spelling, or less."""

    change: Change
    value: str
    server: ServerId
    message: str


class _Found(NamedTuple):
    """`amount` compares: the more, the better."""

    change: Change
    amount: int
    server: ServerId
    device: Device


def relaxations(request: Request, pool: Pool) -> list[Relaxation]:
    """At most one of each kind: that which changes least."""
    best: dict[Change, _Found] = {}
    for found in _every(request, pool):
        known = best.get(found.change)
        if known is None or (found.amount, known.server) > (known.amount, found.server):
            best[found.change] = found
    return [_told(best[change], request, pool) for change in _ORDER if change in best]


def _every(request: Request, pool: Pool) -> Iterator[_Found]:
    shape = request.shape
    for offer in pool.offers(request.hold_seconds):
        if offer.slot.id not in shape.avoid:  # whether it could go there all the same depends on what it asks for
            yield from filter(None, (_only_lack(shape, offer), _limit(request, offer, pool)))


def _only_lack(shape: Shape, offer: Offer) -> _Found | None:
    """What alone keeps the shape from it, where that can be asked for otherwise."""
    slot, device = offer.slot, offer.slot.device
    wanted = shape.wanted._replace(products=(), memory_bytes=0, compute_capability=())
    if not slot.serves(shape._replace(wanted=wanted)):
        return None
    lacks = [
        (Change.CPU, offer.cpu_millis, offer.cpu_millis < shape.cpu_millis, shape.cpu_millis // _LEAST),
        (Change.MEMORY, offer.memory_bytes, offer.memory_bytes < shape.memory_bytes, shape.memory_bytes // _LEAST),
        (Change.PRODUCT, bool(device.product), not has_product(device, shape.wanted.products), 1),
        (Change.GPU_MEMORY, device.memory_bytes, device.memory_bytes < shape.wanted.memory_bytes, 1),
        (Change.COMPUTE_CAPABILITY, *_capability(device, shape), 1),
        (Change.GPU_COUNT, offer.gpus, offer.gpus < shape.gpu_count, 1),
    ]
    missing = [(change, amount, least) for change, amount, is_missing, least in lacks if is_missing]
    if len(missing) != 1:
        return None
    [(change, amount, least)] = missing
    return _Found(change, amount, slot.id, device) if amount >= max(least, 1) else None


def _capability(device: Device, shape: Shape) -> tuple[int, bool]:
    """As a number that compares, and whether it is too low."""
    major, minor = (*device.compute_capability, 0, 0)[:2]
    return major * 100 + minor, device.compute_capability < shape.wanted.compute_capability


def _limit(request: Request, offer: Offer, pool: Pool) -> _Found | None:
    """The longest run limit with which it would be gone before what is kept there begins."""
    slot, shape = offer.slot, request.shape
    if not slot.serves(shape):
        return None
    lasts = pool.lasts(slot, shape)
    seconds = lasts - (request.hold_seconds - request.run_seconds)
    if not _SHORTEST <= seconds < request.run_seconds:
        return None
    return _Found(Change.TIMEOUT, int(seconds), slot.id, slot.device)


def _told(found: _Found, request: Request, pool: Pool) -> Relaxation:
    value = _value(found)
    is_count = found.change is Change.GPU_COUNT
    condition = gpus(found.amount, request.wanted.kind) if is_count else _CONDITIONS[found.change].format(value)
    return Relaxation(found.change, value, found.server, f"fits now on {pool.name(found.server)} with {condition}")


_CONDITIONS = {
    Change.TIMEOUT: "a run limit of {} s at most",
    Change.CPU: "cpu <= {}",
    Change.MEMORY: "memory <= {}",
    Change.PRODUCT: "GPUs of product {}",
    Change.GPU_MEMORY: "{} of memory for each GPU",
    Change.COMPUTE_CAPABILITY: "compute capability {}",
}


def _value(found: _Found) -> str:
    match found.change:
        case Change.CPU:
            return words.cpu(found.amount)
        case Change.MEMORY | Change.GPU_MEMORY:
            return _memory(found.amount)
        case Change.PRODUCT:
            return found.device.product
        case Change.COMPUTE_CAPABILITY:
            return format_capability(found.device.compute_capability)
        case _:
            return str(found.amount)


def _memory(size: int) -> str:
    """Rounded down, in a unit that leaves it nearly whole."""
    return f"{size // _GIBI}Gi" if size >= _LARGE * _GIBI else f"{size // _MEBI}Mi"
