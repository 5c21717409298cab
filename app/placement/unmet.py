"""What there is instead, where no server has the GPUs that a request asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.domain.gpus import Device, format_capability, has_product
from app.domain.server import ServerId
from app.domain.wording import kinds
from app.placement import words
from app.placement.pool import Pool
from app.placement.shape import Shape

_MOST_NAMED = 6  # more of them would make a sentence that nobody reads


def what_there_is(shape: Shape, pool: Pool) -> str:
    """The first demand that nothing meets decides what is told: kind, product, memory, compute capability."""
    wanted, devices = shape.wanted, pool.devices()
    of_kind = {device for device in devices if device.kind == wanted.kind}
    if not of_kind:
        return _have(pool, pool.with_devices(), _listed(map(kinds, sorted({device.kind for device in devices}))))
    of_product = {device for device in of_kind if has_product(device, wanted.products)}
    if not of_product:
        there = _listed(sorted({device.product or "GPUs without a product label" for device in of_kind}))
        return _have(pool, pool.with_devices(wanted.kind), there)
    of_memory = {device for device in of_product if device.memory_bytes >= wanted.memory_bytes}
    if not of_memory:
        best = max(of_product, key=lambda it: (it.memory_bytes, it.product))
        return _the_most("memory", words.memory(best.memory_bytes) if best.memory_bytes else "", best)
    best = max(of_memory, key=lambda it: (it.compute_capability, it.product))
    return _the_most("compute capability", format_capability(best.compute_capability), best)


def _the_most(what: str, value: str, device: Device) -> str:
    """`value` is empty where no label tells it."""
    product = device.product or "GPUs without a product label"
    return f"the most is {value}, of {product}" if value else f"no label tells the {what} of {product}"


def _have(pool: Pool, servers: Collection[ServerId], what: str) -> str:
    if len(servers) == 1:
        return f"the only server with GPUs, {pool.name(*servers)}, has {what}"
    return f"the {len(servers)} servers have {what}"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _MOST_NAMED
    return words.listed([*every[:_MOST_NAMED], f"{more} more"] if more > 0 else every)
