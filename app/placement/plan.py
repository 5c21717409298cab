"""One answer for every waiting workload: a server, or why it waits, or that it can never run on these servers.

Caller: the scheduling loop, which writes the placements. A plan is a function of the queue and a snapshot; the order
in which they list things changes nothing. Left out so far: reservations for what doesn't fit (backfill), fair share
between projects, MIG slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from app.domain.cuda import CudaVersion
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.demand import NO_HISTORY, History
from app.placement.explain import explain
from app.placement.pool import Pool
from app.placement.shape import Shape
from app.placement.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Request:
    """A waiting workload. `avoid` names servers where an attempt of it was lost."""

    workload_id: UUID
    organization: str
    gpu_count: int
    cpu_millis: int
    memory_bytes: int
    queued_at: datetime
    cuda: CudaVersion | None = None
    avoid: frozenset[ServerId] = frozenset()
    priority: int = 0

    @property
    def shape(self) -> Shape:
        return Shape(self.organization, self.gpu_count, self.cpu_millis, self.memory_bytes, self.cuda, self.avoid)


@dataclass(frozen=True, slots=True)
class Place:
    """`cluster` is empty where the snapshot names none."""

    server: str
    gpu_resource: str
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Never:
    """No server on record is large enough. It may still wait: a server may be added."""

    reason: Literal[Reason.NEVER_FITS]
    message: str


_NO_SERVERS = Pool(())
_NO_HISTORIES: Mapping[str, History] = MappingProxyType({})

Answer = Place | Waits | Never


@dataclass(frozen=True, slots=True)
class Plan:
    """The answers by workload, in the order in which they were decided."""

    answers: Mapping[UUID, Answer]

    @property
    def placements(self) -> dict[UUID, Place]:
        return {workload: answer for workload, answer in self.answers.items() if isinstance(answer, Place)}


def in_order(queue: Iterable[Request]) -> list[Request]:
    """Whose turn it is: priority, then age, then id."""
    return sorted(queue, key=lambda request: (-request.priority, request.queued_at, request.workload_id.int))


def plan(queue: Iterable[Request], snapshot: Snapshot, histories: Mapping[str, History] = _NO_HISTORIES) -> Plan:
    """Decide for the whole queue. Workload ids are taken to be unique in it. `histories` are by organization."""
    pools = {
        organization: Pool(servers, histories.get(organization, NO_HISTORY))
        for organization, servers in snapshot.pools().items()
    }
    decided = list(_decide(in_order(queue), pools))
    # Words come last, so that everyone who waits is told of the same servers: those that this plan leaves behind.
    words = _words({outcome for _, outcome in decided if isinstance(outcome, Shape)}, pools)
    return Plan({workload: words[found] if isinstance(found, Shape) else found for workload, found in decided})


def _decide(queue: Iterable[Request], pools: Mapping[str, Pool]) -> Iterator[tuple[UUID, Place | Shape]]:
    """A server for each request, or its shape where none fits."""
    failed: set[Shape] = set()
    for request in queue:
        shape = request.shape
        found = None if shape in failed else pools.get(shape.organization, _NO_SERVERS).place(shape)
        if found:
            yield request.workload_id, _placed(*found)
        else:
            failed.add(shape)  # capacity only shrinks within a plan, so this shape needs no second try
            yield request.workload_id, shape


def _placed(server: ServerId, gpu_resource: str) -> Place:
    return Place(server.name, gpu_resource, server.cluster)


def _words(shapes: Iterable[Shape], pools: Mapping[str, Pool]) -> dict[Shape, Waits | Never]:
    words: dict[Shape, Waits | Never] = {}
    for shape in shapes:
        reason, message = explain(shape, pools.get(shape.organization, _NO_SERVERS))
        words[shape] = Never(reason, message) if reason is Reason.NEVER_FITS else Waits(reason, message)
    return words
