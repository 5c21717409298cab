"""What a plan goes by beside the queue and the servers: what is usual, who used how much, and when what runs ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app.clock import Clock
from app.domain.gpus import WHOLE
from app.domain.lifecycle import Policy
from app.domain.preemption import PREEMPTIBLE_PHASES
from app.domain.server import ServerId
from app.placement.calendar import Hold
from app.placement.demand import History, counted
from app.placement.plan import Outlook
from app.placement.quotas import Budget
from app.placement.room import Ask
from app.placement.usage import Run, decayed, faded
from app.placement.victims import Running
from app.store import people, reads
from app.store.reads import LiveAttempt

_SUBMISSIONS = 2_000
_GOOD_FOR = timedelta(minutes=1)  # a few submissions and ends more change little
_HALF_LIVES = 5  # what is older weighs next to nothing
_STOPPING = 90.0  # seconds that a run may need to be gone, beside its grace time

Used = Mapping[UUID | None, float]


@dataclass
class _Known:
    """Of one organization, as of `at`."""

    at: datetime
    history: History = field(default_factory=dict)
    ended: dict[UUID | None, float] = field(default_factory=dict)  # by project: GPU-seconds, decayed


@dataclass
class Outlooks:
    """Keeps what is dear to read: the latest submissions, and what was used by runs that are over.

    `half_life` is in seconds; 0 makes no difference between projects. `keep_after` is too: how long somebody waits for
    GPUs of pods of others before a server is kept; 0: none ever is.
    """

    clock: Clock
    half_life: float = 7 * 24 * 3600.0
    grace: float = Policy.termination_grace_seconds
    keep_after: float = 6 * 3600.0
    _known: dict[UUID, _Known] = field(default_factory=dict)

    @property
    def stop_seconds(self) -> float:
        """After which a run that is stopped is certainly gone, as long as its server answers."""
        return self.grace + _STOPPING

    def longest(self, start_seconds: int, run_seconds: int) -> float:
        """How long a workload holds what it was given, at most: the time to start, its run limit, and to be stopped."""
        return start_seconds + run_seconds + self.stop_seconds

    async def look(self, slugs: Mapping[UUID, str]) -> Outlook:
        """For the organizations named, by id."""
        now, live = self.clock.now(), await reads.live_attempts()
        known = {it: await self._of(it, now) for it in slugs}
        running: dict[UUID, list[LiveAttempt]] = {}
        for attempt in live:
            running.setdefault(attempt.organization_id, []).append(attempt)
        used = {slugs[it]: self._used(found, running.get(it, ()), now) for it, found in known.items() if self.half_life}
        return Outlook(
            now=now.timestamp(),
            holds=_holds(live, self.stop_seconds),
            histories={slugs[it]: found.history for it, found in known.items()},
            used=used,
            budgets=await _budgets(slugs, live),
            running={slugs[it]: _running(running.get(it, ()), self.stop_seconds) for it in slugs},
            stop_seconds=self.stop_seconds,
            keep_after=self.keep_after or None,
        )

    async def _of(self, organization: UUID, now: datetime) -> _Known:
        known = self._known.get(organization)
        if known is None:
            known = _Known(now - _HALF_LIVES * timedelta(seconds=self.half_life))
        elif now - known.at < _GOOD_FOR:
            return known
        sizes = await reads.latest_sizes(organization, _SUBMISSIONS)
        history = counted(Ask(gpus, cpu, memory, wanted=wanted) for gpus, cpu, memory, wanted in sizes)
        passed = (now - known.at).total_seconds()
        ended = {project: faded(used, passed, self.half_life) for project, used in known.ended.items()}
        for project, gpus, start, end in await reads.runs_ended(organization, known.at, now) if self.half_life else ():
            ended[project] = ended.get(project, 0.0) + self._weight(gpus, start, end, now=now)
        self._known[organization] = _Known(now, _same(known.history, history), ended)
        return self._known[organization]

    def _used(self, known: _Known, live: Iterable[LiveAttempt], now: datetime) -> Used:
        used = dict(known.ended)
        for it in live:
            if it.started_at is not None:
                weight = self._weight(it.gpu_count, it.started_at, now, now=now)
                used[it.project_id] = used.get(it.project_id, 0.0) + weight
        return used

    def _weight(self, gpus: int, start: datetime, end: datetime, *, now: datetime) -> float:
        return decayed(Run(gpus, start.timestamp(), end.timestamp()), now.timestamp(), self.half_life)


async def _budgets(slugs: Mapping[UUID, str], live: Iterable[LiveAttempt]) -> dict[str, dict[UUID | None, Budget]]:
    """By organization, those of the projects that have a quota, with what they use now."""
    found: dict[str, dict[UUID | None, Budget]] = {}
    projects = {project.id: project for project in await people.projects_with_quotas(list(slugs))}
    used, firm = Counter[UUID | None](), Counter[UUID | None]()
    for it in live:
        if it.project_id in projects and it.kind == WHOLE:
            used[it.project_id] += it.gpu_count
            firm[it.project_id] += 0 if it.preemptible else it.gpu_count
    for project in projects.values():
        budget = Budget(project.name, project.quota, used[project.id], firm[project.id])
        found.setdefault(slugs[project.organization_id], {})[project.id] = budget
    return found


def _same(old: History, new: History) -> History:
    """The old one where it is equal: it is what has been worked out for."""
    return old if old == new else new


def _holds(live: Iterable[LiveAttempt], stop_seconds: float) -> dict[ServerId, Sequence[Hold]]:
    holds: dict[ServerId, list[Hold]] = {}
    for it in live:
        holds.setdefault(ServerId(it.server, it.cluster), []).append(_hold(it, stop_seconds))
    return dict(holds)


def _hold(it: LiveAttempt, stop_seconds: float) -> Hold:
    return Hold(_gone_by(it, stop_seconds), it.gpu_resource, it.gpu_count, it.cpu_millis, it.memory_bytes)


def _running(live: Iterable[LiveAttempt], stop_seconds: float) -> list[Running]:
    """What may be preempted, and can be stopped now."""
    return [
        Running(
            it.workload_id,
            it.number,
            ServerId(it.server, it.cluster),
            _hold(it, stop_seconds),
            it.placed_at.timestamp(),
            it.started_at.timestamp() if it.started_at else None,
            it.project_id,
            it.priority,
            it.kind == WHOLE,
        )
        for it in live
        if it.preemptible and it.stop_requested_at is None and it.phase in PREEMPTIBLE_PHASES
    ]


def _gone_by(it: LiveAttempt, stop_seconds: float) -> float:
    """When it has certainly given back what it holds, whatever becomes of it, as long as its server answers."""
    begins = it.started_at or it.placed_at + timedelta(seconds=it.start_timeout_seconds)
    limit = begins.astimezone(UTC).timestamp() + it.timeout_seconds
    stopped = it.stop_requested_at
    return min(limit, stopped.astimezone(UTC).timestamp() if stopped else limit) + stop_seconds
