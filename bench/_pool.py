"""One pool of identical GPUs and the jobs that come to it: the product's own planner, called when one comes or ends."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from app.domain.server import ServerId
from app.placement.calendar import Hold
from app.placement.line import Key, aged_area
from app.placement.plan import Outlook, Planner
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from app.placement.usage import Run, decayed, faded
from bench._philly import DAY, Job

GPU, SERVER = "nvidia.com/gpu", ServerId("pool")
HALF_LIFE = 7 * DAY


def in_order_of_coming(request: Request) -> float:
    return request.queued_at.timestamp()


@dataclass(frozen=True)
class Policy:
    name: str
    key: Key
    reservations: int
    by_project: bool = False  # each job's group is a project, and who used more than its share of late comes later


OURS, EASY = Policy("ours", aged_area, 10), Policy("EASY", in_order_of_coming, 1)
POLICIES = (OURS, EASY, Policy("fits", in_order_of_coming, 0))
FAIR = Policy("ours by share", aged_area, 10, by_project=True)


@dataclass
class Used:
    """What each project has used of late, as the product counts it."""

    _ended: dict[UUID | None, float] = field(default_factory=dict)
    _at: float = 0.0

    def add(self, project: UUID, run: Run) -> None:
        """It ends now."""
        self._ended = {it: faded(amount, run.end - self._at, HALF_LIFE) for it, amount in self._ended.items()}
        self._at = run.end
        self._ended[project] = self._ended.get(project, 0.0) + decayed(run, run.end, HALF_LIFE)

    def now(self, now: float, running: Iterable[tuple[UUID, Run]]) -> dict[UUID | None, float]:
        used = {it: faded(amount, now - self._at, HALF_LIFE) for it, amount in self._ended.items()}
        for project, run in running:
            used[project] = used.get(project, 0.0) + decayed(run, now, HALF_LIFE)
        return used


class Simulation:
    """One pool, one sequence of jobs; `waits` are in seconds, by job."""

    def __init__(self, sequence: Sequence[Job], gpus: int, policy: Policy) -> None:
        self._jobs, self._gpus = sequence, gpus
        self._planner, self._policy = Planner(policy.key), policy
        self._projects = {it: UUID(int=number) for number, it in enumerate(sorted({job.group for job in sequence}))}
        self._used = Used()
        self._free = gpus
        self._running: list[tuple[float, int, Hold]] = []  # by their end
        self._holds: list[Hold] = []  # by their limit
        self._queue: dict[UUID, Request] = {}
        self.waits = [0.0] * len(sequence)

    def run(self) -> list[float]:
        coming = 0
        while coming < len(self._jobs) or self._running:
            arrival = self._jobs[coming].at if coming < len(self._jobs) else float("inf")
            now = min(arrival, self._running[0][0] if self._running else float("inf"))
            while self._running and self._running[0][0] <= now:
                self._end()
            while coming < len(self._jobs) and self._jobs[coming].at <= now:
                self._come(coming)
                coming += 1
            if self._queue and self._free:
                self._start(now)
        return self.waits

    def _come(self, number: int) -> None:
        job = self._jobs[number]
        came, id_ = datetime.fromtimestamp(job.at, UTC), UUID(int=number)
        request = Request(id_, "pool", job.gpus, 0, 0, came, run_seconds=job.limit, hold_seconds=job.limit)
        self._queue[id_] = replace(request, project=self._projects[job.group]) if self._policy.by_project else request

    def _end(self) -> None:
        end, number, hold = heapq.heappop(self._running)
        if self._policy.by_project:
            self._used.add(*self._run_of(number, end))
        self._free += hold.gpus
        del self._holds[bisect_left(self._holds, hold)]

    def _start(self, now: float) -> None:
        all_gpus = {GPU: self._gpus}
        server = ServerCapacity("pool", "pool", 0, 0, 0, 0, {GPU: self._free}, all_gpus, all_gpus)
        used = self._used.now(now, (self._run_of(number, now) for _, number, _ in self._running))
        outlook = Outlook(
            now=now,
            holds={SERVER: self._holds},
            used={"pool": used} if self._policy.by_project else {},
            reservations=self._policy.reservations,
        )
        for id_ in self._planner.plan(self._queue.values(), Snapshot((server,)), outlook).placements:
            del self._queue[id_]
            job = self._jobs[id_.int]
            hold = Hold(now + job.limit, GPU, job.gpus, 0, 0)
            self.waits[id_.int] = now - job.at
            self._free -= job.gpus
            insort(self._holds, hold)
            heapq.heappush(self._running, (now + job.run, id_.int, hold))

    def _run_of(self, number: int, until: float) -> tuple[UUID, Run]:
        job = self._jobs[number]
        return self._projects[job.group], Run(job.gpus, job.at + self.waits[number], until)
