"""What a server has in total, free or not, usable or not: whether a request could ever be met.

Callers: the plan, and the submit command, which refuses what no server on record is large enough for. Only whole GPUs
count: a request for one is never met by a MIG slice or a share, whose resource names say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from app.domain.server import ServerId
from app.placement.words import needs


class Sized(Protocol):
    """Anything with an identity and its GPUs per resource name, unhealthy ones counted."""

    @property
    def id(self) -> ServerId: ...

    @property
    def gpus_total(self) -> Mapping[str, int]: ...


SizedT = TypeVar("SizedT", bound=Sized)


def is_whole_gpu(resource: str) -> bool:
    return "/mig-" not in resource and not resource.endswith(".shared")


def gpus_on_one_server(server: Sized) -> int:
    """The most GPUs of one resource name, as one pod asks for one name only."""
    return max(_whole_gpus(server), default=0)


def _whole_gpus(server: Sized) -> list[int]:
    return [count for resource, count in server.gpus_total.items() if is_whole_gpu(resource)]


def largest_server(servers: Iterable[SizedT]) -> SizedT | None:
    """The server with the most GPUs, the first by name among equals; None where no server has any."""
    found = min(servers, key=lambda server: (-gpus_on_one_server(server), server.id), default=None)
    return found if found and gpus_on_one_server(found) else None


def fits_by_size(gpu_count: int, servers: Iterable[Sized]) -> bool:
    """True where some server has that many GPUs in total, cordoned ones and unhealthy GPUs counted."""
    return any(gpus_on_one_server(server) >= gpu_count for server in servers)


def too_many_gpus(gpu_count: int, largest: Sized | None, name: Callable[[ServerId], str]) -> str:
    """The sentence for a GPU count that `fits_by_size` denies; `name` says how people call a server."""
    if largest is None:
        return f"{needs(gpu_count)}; the pool has no server with GPUs"
    count = gpus_on_one_server(largest)
    of_one_kind = " of one kind" if sum(_whole_gpus(largest)) > count else ""
    return f"{needs(gpu_count)}; the largest server, {name(largest.id)}, has {count}{of_one_kind}"
