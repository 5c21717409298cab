"""Who is next: the waiting requests of one organization in their order.

The order is priority, then size grown by the share that the project has used, less the time waited: a request counts as
half as large after each six hours. So its place among those that wait with it never changes, and it needs no sorting
anew as time passes. Those who share all that decides whether and where they can start stand in one row: where its first
is turned away, the others need not ask.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import NamedTuple
from uuid import UUID

from app.placement.request import Request
from app.placement.shape import Shape

HALVED_EVERY = 6 * 3600.0  # seconds of waiting
_DOUBLINGS = 16.0  # the range of sizes that count: from a GPU-minute to 45 GPU-days
_LEAST_AREA = 60.0  # GPU-seconds
_FAVOUR = 4.0  # doublings that a project's use can move its requests by, up or down
HARD_BOUND = HALVED_EVERY * (_DOUBLINGS + 2 * _FAVOUR)  # seconds after which nobody who came later goes first

Key = Callable[[Request], float]
Loads = Mapping[UUID | None, float]  # by project, how many times its share it has used, as a power of two
_Place = tuple[float, float, int, UUID]  # key, when queued, id as a number and as it is


class Row(NamedTuple):
    priority: int
    project: UUID | None
    shape: Shape
    hold_seconds: int
    preemptible: bool = False


def aged_area(request: Request) -> float:
    """Doublings of GPU-seconds, less the time of coming in units of that in which a doubling is forgiven."""
    area = request.gpu_count * request.run_seconds / _LEAST_AREA
    return min(max(log2(max(area, 1.0)), 0.0), _DOUBLINGS) + request.queued_at.timestamp() / HALVED_EVERY


def loads(used: Mapping[UUID | None, float]) -> dict[UUID | None, float]:
    """What each project has used, GPU-seconds whose weight decays, as doublings of an equal share of the whole."""
    total = sum(used.values())
    if not total:
        return {}
    shares = {project: amount * len(used) / total for project, amount in used.items()}
    return {project: min(max(log2(max(share, 2**-_FAVOUR)), -_FAVOUR), _FAVOUR) for project, share in shares.items()}


class Line:
    def __init__(self, key: Key = aged_area) -> None:
        self._key = key
        self._rows: dict[Row, list[_Place]] = {}
        self._requests: dict[UUID, Request] = {}
        self._nominated: dict[UUID, Request] = {}

    def __contains__(self, workload_id: UUID) -> bool:
        return workload_id in self._requests

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Request) -> None:
        self._requests[request.workload_id] = request
        if request.nominated is not None:
            self._nominated[request.workload_id] = request
        insort(self._rows.setdefault(row_of(request), []), self._place(request))

    def remove(self, workload_id: UUID) -> None:
        request = self._requests.pop(workload_id)
        self._nominated.pop(workload_id, None)
        row = row_of(request)
        places = self._rows[row]
        del places[bisect_left(places, self._place(request))]
        if not places:
            del self._rows[row]

    def renew(self, queue: Mapping[UUID, Request]) -> None:
        """Make it hold these and no others."""
        for gone in set(self._requests) - set(queue):
            self.remove(gone)
        for workload_id, request in queue.items():
            known = self._requests.get(workload_id)
            if known is not request and known != request:
                if known is not None:
                    self.remove(workload_id)
                self.add(request)

    def nominated(self) -> list[Request]:
        """Those for whom room is made somewhere, by priority, then in the order of coming."""
        found = self._nominated.values()
        return sorted(found, key=lambda it: (-it.priority, it.queued_at, it.workload_id))

    def rows(self) -> Iterator[tuple[Row, list[UUID]]]:
        """Everybody, by row; the rows and those in them in a fixed order."""
        for row in sorted(self._rows, key=lambda row: self._rows[row][0]):
            yield row, [place[3] for place in self._rows[row]]

    def turns(self, loads: Loads) -> Turns:
        return Turns(self._rows, self._requests, loads)

    def _place(self, request: Request) -> _Place:
        return self._key(request), request.queued_at.timestamp(), request.workload_id.int, request.workload_id


class Turns:
    """The requests, one by one; they may be taken out of the line only when no more are asked for."""

    def __init__(self, rows: Mapping[Row, list[_Place]], requests: Mapping[UUID, Request], loads: Loads) -> None:
        self._requests = requests
        self._rows = list(rows.items())
        self._loads = [loads.get(row.project, -_FAVOUR if loads else 0.0) for row, _ in self._rows]
        self._is_dropped = False
        self._heads = [self._head(number, 0) for number in range(len(self._rows))]
        heapq.heapify(self._heads)

    def __iter__(self) -> Iterator[tuple[Row, Request]]:
        while self._heads:
            *_, number, at = self._heads[0]
            row, places = self._rows[number]
            self._is_dropped = False
            yield row, self._requests[places[at][3]]
            if self._is_dropped or at + 1 == len(places):
                heapq.heappop(self._heads)
            else:
                heapq.heapreplace(self._heads, self._head(number, at + 1))

    def drop(self) -> None:
        """Nobody else of the row that is at turn is to be asked."""
        self._is_dropped = True

    def _head(self, number: int, at: int) -> tuple[int, float, float, int, int, int]:
        row, places = self._rows[number]
        key, queued_at, id_, _ = places[at]
        return -row.priority, key + self._loads[number], queued_at, id_, number, at


def row_of(request: Request) -> Row:
    return Row(request.priority, request.project, request.shape, request.hold_seconds, request.preemptible)
