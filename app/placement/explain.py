"""Why a shape that fits nowhere waits: one reason, and one sentence with the numbers in it.

The first that holds: no server has such GPUs; too large for every server; no large enough server is usable; their
drivers are too old; what is free is kept for somebody who goes before; their GPUs are taken; their CPU or memory is
short. Unhealthy and cordoned GPUs count as there, so that an outage never reads as an impossible request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.domain.gpus import ANY_GPU, satisfies
from app.domain.states import Reason
from app.domain.wording import gpus, gpus_wanted, plural
from app.placement import words
from app.placement.pool import Block, Pool, is_large_enough
from app.placement.shape import Shape
from app.placement.size import has_several_names, most_on_one_server
from app.placement.snapshot import ServerCapacity
from app.placement.timeline import Moment
from app.placement.unmet import what_there_is

_AVOIDED = "avoided after a failed attempt"
_MOST_CAUSES = 4  # more of them would make a sentence that nobody reads


class Explanation(NamedTuple):
    reason: Reason
    message: str


def explain(shape: Shape, pool: Pool) -> Explanation:
    """Word why `shape` fits on none of the pool's servers, as they are by now."""
    return _why_never(shape, pool) or _why_not_now(shape, pool)


def _why_never(shape: Shape, pool: Pool) -> Explanation | None:
    if not pool.devices():
        return Explanation(Reason.NEVER_FITS, f"{_wanted(shape)}; the pool has no server with GPUs")
    if not any(satisfies(device, shape.wanted) for device in pool.devices()):
        return Explanation(Reason.NO_MATCHING_GPU, f"{_wanted(shape)}; {what_there_is(shape, pool)}")
    if pool.most(shape) < shape.gpu_count:
        return Explanation(Reason.NEVER_FITS, _too_many(shape, pool))
    if not pool.has_large_enough(shape):
        return Explanation(Reason.NEVER_FITS, _too_much_cpu_or_memory(shape, pool))
    return None


def _why_not_now(shape: Shape, pool: Pool) -> Explanation:
    if not pool.has_usable(shape._replace(cuda=None)):
        return Explanation(Reason.NO_USABLE_SERVER, _no_usable_server(shape, pool))
    if not pool.has_usable(shape):
        return Explanation(
            Reason.DRIVER_TOO_OLD, _driver_too_old(shape, pool) + _unheard(shape, pool) + _closed(shape, pool)
        )
    return _of_what_is_free(shape, pool)


def _of_what_is_free(shape: Shape, pool: Pool) -> Explanation:
    if kept := pool.kept(shape):
        return Explanation(Reason.BEHIND_RESERVATION, _kept(shape, *kept, pool))
    block, aside = pool.roomiest_block(shape), _aside(shape, pool) + _unheard(shape, pool)
    if block is None:
        return Explanation(Reason.WAITING_FOR_GPUS, _waiting_for_gpus(shape, pool) + aside)
    return Explanation(Reason.WAITING_FOR_CPU_OR_MEMORY, _shortage(shape, block, pool.name(block.server)) + aside)


def _aside(shape: Shape, pool: Pool) -> str:
    """Names the servers that would do but are stepped over, lest they look free for the taking."""
    known = [pool.servers[name] for name in sorted(pool.avoided(shape)) if name in pool.servers]
    names = [pool.name(server.id) for server in known if not server.unusable and is_large_enough(server, shape)]
    return (f"; {words.listed(names)} {_are(len(names))} {_AVOIDED}" if names else "") + _closed(shape, pool)


def _closed(shape: Shape, pool: Pool) -> str:
    """Names a server that has what is missing, and who says that it may not be used."""
    server = pool.closed(shape)
    return f"; it would fit on {pool.name(server.id)}, which is {server.unusable}" if server else ""


def _unheard(shape: Shape, pool: Pool) -> str:
    """Counts the servers that might do, were their cluster to answer."""
    large = pool.large_enough(shape) if pool.has_out_of_contact else ()
    causes = Counter(server.unusable for server in large if server.is_out_of_contact)
    told = (f"; {plural(causes[it], 'more server')} large enough {_are(causes[it])} {it}" for it in sorted(causes))
    return "".join(told)


def _wanted(shape: Shape) -> str:
    """Where it is said elsewhere in the sentence that one server must have it."""
    return f"needs {gpus_wanted(shape.gpu_count, shape.wanted)}"


# too large


def _too_many(shape: Shape, pool: Pool) -> str:
    most = pool.most(shape)
    largest = min(it.id for it in pool.servers.values() if most_on_one_server(it, shape.wanted) == most)
    of_one_kind = " of one kind" if has_several_names(pool.servers[largest], shape.wanted) else ""
    which = "server" if shape.wanted == ANY_GPU else "server with such"
    needs = words.needs(shape.gpu_count, shape.wanted)
    return f"{needs}; the largest {which}, {pool.name(largest)}, has {most}{of_one_kind}"


def _too_much_cpu_or_memory(shape: Shape, pool: Pool) -> str:
    enough_gpus = list(pool.large_enough(shape._replace(cpu_millis=0, memory_bytes=0)))
    wanted = _wanted(shape)
    most_cpu = _most(enough_gpus, lambda server: server.cpu_total)
    if most_cpu.cpu_total < shape.cpu_millis:
        needed, has = f"{words.cpu(shape.cpu_millis)} cpu", words.cpu(most_cpu.cpu_total)
        where = pool.name(most_cpu.id)
        return f"{wanted} and {needed} on one server; the most cpu beside so many GPUs is {has}, on {where}"
    needed = f"{words.memory(shape.memory_bytes, round_up=True)} memory"
    most_memory = _most(enough_gpus, lambda server: server.memory_total)
    if most_memory.memory_total < shape.memory_bytes:
        has = words.memory(most_memory.memory_total)
        where = pool.name(most_memory.id)
        return f"{wanted} and {needed} on one server; the most memory beside so many GPUs is {has}, on {where}"
    return f"{wanted}, {words.cpu(shape.cpu_millis)} cpu and {needed} on one server; no server has all of it"


def _most(servers: Sequence[ServerCapacity], amount: Callable[[ServerCapacity], int]) -> ServerCapacity:
    return min(servers, key=lambda server: (-amount(server), server.id))


# no usable server


def _no_usable_server(shape: Shape, pool: Pool) -> str:
    wanted = _wanted(shape)
    large = list(pool.large_enough(shape))
    causes = Counter([server.unusable or _AVOIDED for server in large])
    if len(large) == 1:
        cause, _ = causes.popitem()
        return f"{wanted}; the only server large enough, {pool.name(large[0].id)}, {_verb(cause, 1)} {cause}"
    if len(causes) == 1:
        cause, count = causes.popitem()
        return f"{wanted}; all {count} servers large enough {_verb(cause, count)} {cause}"
    return f"{wanted}; of {len(large)} servers large enough {words.listed(_counted(causes))}"


def _counted(causes: Counter[str]) -> list[str]:
    ranked = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {_verb(cause, count)} {cause}" for cause, count in ranked[:_MOST_CAUSES]]
    rest = sum(count for _, count in ranked[_MOST_CAUSES:])
    return [*shown, f"{rest} {_are(rest)} not usable for other causes"] if rest else shown


def _verb(cause: str, count: int) -> str:
    """A taint and a condition (DiskPressure) are things a server has; the other causes are what it is."""
    is_thing = cause.startswith("taint ") or cause[:1].isupper()
    if is_thing:
        return "has" if count == 1 else "have"
    return _are(count)


# driver


def _driver_too_old(shape: Shape, pool: Pool) -> str:
    minimum = words.version(shape.cuda.minimum_driver or ()) if shape.cuda else ""
    newest, server = pool.newest_driver(shape)
    on = f", on {pool.name(server)}" if server else ""
    # Said only where a reader would otherwise point at the newer driver of a server that is closed.
    which = "usable server" if pool.newest_driver_on_record(shape)[0] > newest else "server"
    return (
        f"needs driver {minimum} or newer for CUDA {shape.cuda}; "
        f"the newest on a {which} large enough is {words.version(newest)}{on}"
    )


# reservation


def _kept(shape: Shape, block: Block, start: Moment, pool: Pool) -> str:
    free, on = gpus(block.gpus_free, shape.wanted.kind), pool.name(block.server)
    if pool.is_kept_from_others(block.server):
        ends = f"; with limits that end by {words.moment(start)} it would start now" if start > pool.now else ""
        return (
            f"{free} {_are(block.gpus_free)} free on {on}, but kept for a workload that goes before it, has waited "
            f"long and needs what pods of others hold there{ends}"
        )
    return (
        f"{free} {_are(block.gpus_free)} free on {on}, but kept for a workload that goes before it and starts there by "
        f"{words.moment(start)} at the latest; with limits that end before then it would start now"
    )


# GPUs


def _waiting_for_gpus(shape: Shape, pool: Pool) -> str:
    block = pool.largest_block(shape)
    # Said only where a reader would otherwise point at a server that is too small, closed or has an old driver.
    which = (
        " on a server that qualifies" if pool.most_free(shape.wanted.kind) > (block.gpus_free if block else 0) else ""
    )
    free = (
        f"the largest free block{which} is {block.gpus_free}, on {pool.name(block.server)}"
        if block
        else f"none is free{which}"
    )
    return f"{words.needs(shape.gpu_count, shape.wanted)}; {free}{_repair(shape, pool, block)}"


def _repair(shape: Shape, pool: Pool, largest: Block | None) -> str:
    """Names unhealthy GPUs where it would fit with them."""
    helped = [it for it in pool.unhealthy_blocks(shape) if it.gpus_free + it.unhealthy >= shape.gpu_count]
    if not helped:
        return ""
    if largest in helped:
        return f", where {largest.unhealthy} more {_are(largest.unhealthy)} unhealthy"
    block = min(helped, key=lambda it: (it.unhealthy, it.server))
    free = f"{block.gpus_free} {_are(block.gpus_free)} free and " if block.gpus_free > 0 else ""
    return f"; on {pool.name(block.server)} {free}{block.unhealthy} {_are(block.unhealthy)} unhealthy"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# CPU and memory


def _shortage(shape: Shape, block: Block, server: str) -> str:
    cpu, cpu_needed = words.cpu(block.cpu_free), words.cpu(shape.cpu_millis)
    memory, memory_needed = words.memory(block.memory_free), words.memory(shape.memory_bytes, round_up=True)
    free = f"{gpus(block.gpus_free, shape.wanted.kind)} {_are(block.gpus_free)} free on {server}, but it has"
    if block.memory_free >= shape.memory_bytes:
        return f"{free} {cpu} cpu free and {cpu_needed} are needed"
    if block.cpu_free >= shape.cpu_millis:
        return f"{free} {memory} memory free and {memory_needed} are needed"
    return f"{free} {cpu} cpu and {memory} memory free, and {cpu_needed} cpu and {memory_needed} are needed"
