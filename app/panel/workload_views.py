"""Workloads as pages show them: total functions from nouns to frozen views. Nothing here knows the present moment:
two views are equal exactly when the page would look the same, which is how the live streams find what changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.domain.actions import DEPRECATED, Action, actions_supported
from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.people import Project
from app.domain.priority import DEFAULT_PRIORITY, Priority
from app.domain.quantity import format_cpu, format_memory
from app.domain.server import ServerId
from app.domain.states import Phase, Status
from app.domain.volumes import Mount
from app.domain.waits import totals, waits
from app.domain.wording import gpus_wanted, waited_for
from app.domain.workload import Attempt, Event, Workload
from app.panel import urls
from app.placement.relax import Relaxation
from app.reconcile.forecast import Standing

_PHASE_WORDS = {Phase.TIMED_OUT: "timed out"}
_PHASE_SAYS_MORE = frozenset(
    {Phase.QUEUED, Phase.CREATING, Phase.INITIALIZING, Phase.SUSPENDED, Phase.RESUMING, Phase.STOPPING, Phase.UNKNOWN}
)


@dataclass(frozen=True)
class Badge:
    """`kind` is a class of the style sheet: colour and shape. `note` is the phase, where that says more."""

    kind: str
    label: str
    note: str = ""


@dataclass(frozen=True)
class ActionView:
    """A button. `has_effects`: what it does can't be undone by another one. `takes_key`: sent twice, it counts once.

    `choices` are offered beside it, `chosen` is what is so now.
    """

    name: str
    label: str
    url: str
    has_effects: bool
    takes_key: bool
    choices: tuple[str, ...] = ()
    chosen: str = ""


@dataclass(frozen=True)
class StandingView:
    """Where a waiting one stands; `position` None: outside the line for a while. A promised start is in its message."""

    position: int | None
    total: int


@dataclass(frozen=True)
class RowView:
    """A workload in the list."""

    id: UUID
    name: str
    image: str
    gpu_count: int
    badge: Badge
    message: str
    priority: str
    project: str
    server: str
    gpus: tuple[str, ...]
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    deleted_at: datetime | None
    actions: tuple[ActionView, ...]
    is_cancelling: bool
    url: str
    retry_of_url: str
    standing: StandingView | None


@dataclass(frozen=True)
class ClockView:
    """One of the three clocks. `since` None: it has not begun; `until` None: it runs. `limit` is in seconds."""

    name: str
    meaning: str
    since: datetime | None
    until: datetime | None
    limit: int | None

    @property
    def ends_at(self) -> datetime | None:
        """When it will end the workload: only while it runs."""
        is_running = self.since is not None and self.until is None
        return self.since + timedelta(seconds=self.limit) if is_running and self.since and self.limit else None


@dataclass(frozen=True)
class GpuLink:
    """A GPU or a MIG instance that a workload has or had. `url` is empty where its page isn't the organization's."""

    uuid: str
    url: str = ""


@dataclass(frozen=True)
class AttemptView:
    number: int
    job_name: str
    server: str
    placed_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    outcome: str
    gpus: tuple[GpuLink, ...]


@dataclass(frozen=True)
class EventView:
    sequence: int
    at: datetime
    type: str
    phase: str
    message: str
    attempt: int
    server: str


@dataclass(frozen=True)
class WaitedView:
    """What it waited for: so long until `since`, from when on it still does; None: it no longer does."""

    words: str
    lasted: timedelta
    since: datetime | None = None


@dataclass(frozen=True)
class WorkloadView:
    """Everything the page of one workload says."""

    row: RowView
    gpus: tuple[GpuLink, ...]
    job_name: str
    submitted_by: str
    retry_of: UUID | None
    exit_code: int | None
    is_over: bool
    failed_by_itself: bool
    why_it_waits: str
    clocks: tuple[ClockView, ...]
    waited: tuple[WaitedView, ...]
    could_start: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    env_vars: tuple[tuple[str, str], ...]
    attempts: tuple[AttemptView, ...]
    events: tuple[EventView, ...]


def badge(workload: Workload) -> Badge:
    """A completed workload whose code is not zero is a kind of its own, so that nobody takes it for a success."""
    if workload.status is Status.COMPLETED and workload.exit_code:
        return Badge("nonzero", f"completed · exit {workload.exit_code}")
    note = phase_words(workload.phase) if workload.phase in _PHASE_SAYS_MORE else ""
    if workload.phase in (Phase.STOPPING, Phase.UNKNOWN):
        return Badge(workload.phase.value, workload.status.value, note)
    return Badge(workload.status.value, workload.status.value, note)


def phase_words(phase: Phase) -> str:
    return _PHASE_WORDS.get(phase, phase.value)


def row_view(
    slug: str,
    workload: Workload,
    projects: Mapping[UUID, Project],
    standing: Standing | None = None,
    *,
    names_clusters: bool,
) -> RowView:
    """`names_clusters`: there are several, so that a server's name alone doesn't say which it is."""
    project = projects.get(workload.spec.project_id) if workload.spec.project_id else None
    is_cancelling = workload.cancel_requested_at is not None and not workload.status.is_terminal
    return RowView(
        id=workload.id,
        name=workload.spec.name,
        image=workload.spec.image,
        gpu_count=workload.spec.resources.gpu_count,
        badge=badge(workload),
        message=workload.message,
        priority=_priority_words(workload),
        project=project.name if project else "",
        server=_server_words(workload, names_clusters=names_clusters),
        gpus=workload.gpus,
        created_at=workload.created_at,
        started_at=workload.started_at,
        completed_at=workload.completed_at,
        deleted_at=workload.deleted_at,
        actions=_actions(slug, workload),
        is_cancelling=is_cancelling,
        url=urls.workload(slug, workload.id),
        retry_of_url=urls.workload(slug, workload.retry_of) if workload.retry_of else "",
        standing=StandingView(standing.position, standing.total) if standing else None,
    )


def _priority_words(workload: Workload) -> str:
    """Empty for the usual one."""
    priority = workload.spec.priority
    return "" if priority is DEFAULT_PRIORITY else f"{priority.words} priority"


def _actions(slug: str, workload: Workload) -> tuple[ActionView, ...]:
    return tuple(_action_view(slug, workload, it) for it in actions_supported(workload) if it not in DEPRECATED)


def _action_view(slug: str, workload: Workload, action: Action) -> ActionView:
    has_choice, is_live = action is Action.PRIORITIZE, not (workload.waits or workload.phase is Phase.SUSPENDED)
    return ActionView(
        name=action.value,
        label=action.value.capitalize(),
        url=urls.action(slug, workload.id, action),
        has_effects=action is Action.CANCEL or (action is Action.SUSPEND and is_live),
        takes_key=action is Action.RETRY,
        choices=tuple(priority.words for priority in Priority) if has_choice else (),
        chosen=workload.spec.priority.words if has_choice else "",
    )


def workload_view(
    row: RowView,
    workload: Workload,
    attempts: Sequence[Attempt],
    events: Sequence[Event],
    links: Mapping[int, tuple[GpuLink, ...]],
    relaxations: Sequence[Relaxation] = (),
    *,
    names_clusters: bool,
) -> WorkloadView:
    """`links` are the GPUs of each attempt."""
    is_over = workload.status.is_terminal
    return WorkloadView(
        row=row,
        gpus=() if workload.waits else links.get(workload.attempt, ()),
        job_name=workload.job_name,
        submitted_by=workload.submitted_by,
        retry_of=workload.retry_of,
        exit_code=workload.exit_code,
        is_over=is_over,
        failed_by_itself=workload.status is Status.COMPLETED and bool(workload.exit_code),
        why_it_waits=workload.message if workload.status is Status.PENDING else "",
        clocks=clocks(workload, attempts[-1] if attempts else None),
        waited=_waited(events),
        could_start=tuple(it.message for it in relaxations),
        settings=_settings(workload),
        env_vars=workload.spec.env_vars,
        attempts=tuple(_attempt_view(it, links.get(it.number, ()), names_clusters=names_clusters) for it in attempts),
        events=tuple(_event_view(event) for event in events),
    )


def clocks(workload: Workload, last: Attempt | None) -> tuple[ClockView, ...]:
    """Queue, start, run: each counted from its own stamp, of the last attempt where there were several."""
    spec, over = workload.spec, workload.completed_at
    is_held = workload.phase is Phase.SUSPENDED
    attempt = None if workload.waits or is_held else last
    queued = workload.queued_at or workload.created_at
    executing = attempt.started_at if attempt else None
    waited_until = workload.held_at if is_held else attempt.placed_at if attempt else over
    queue = ClockView("queue", "until a server is found", queued, waited_until, spec.queue_timeout_seconds)
    start = ClockView(
        "start",
        "from the placing until the container executes",
        attempt.placed_at if attempt else None,
        executing or (attempt.ended_at if attempt else None) or over,
        spec.start_timeout_seconds,
    )
    run_end = (attempt.finished_at or attempt.ended_at) if attempt else None
    run = ClockView("run", "while the container executes", executing, run_end or over, spec.timeout_seconds)
    return queue, start, run


def _waited(events: Sequence[Event]) -> tuple[WaitedView, ...]:
    """By reason, the longest first, without what took no second; what it still waits for is last."""
    found = waits(events)
    if not found:
        return ()
    last = found[-1]
    is_over = last.until is not None
    over = {it.reason: it.lasted for it in totals(found if is_over else found[:-1], last.since)}
    present = [] if is_over else [WaitedView(waited_for(last.reason), over.pop(last.reason, timedelta(0)), last.since)]
    ended = (WaitedView(waited_for(why), lasted) for why, lasted in over.items() if lasted >= timedelta(seconds=1))
    return (*ended, *present)


def _settings(workload: Workload) -> tuple[tuple[str, str], ...]:
    spec = workload.spec
    given = {
        "CPU": format_cpu(spec.resources.cpu_millis),
        "Memory": format_memory(spec.resources.memory_bytes),
        "Asked for": _asked(spec.resources.gpu_count, spec.gpu_requirements),
        "CUDA": spec.cuda or "",
        "Command": shlex.join(spec.command),
        "Arguments": shlex.join(spec.args),
        "Priority": spec.priority.words,
        "Preemptible": "yes" if spec.preemptible else "",
        "Retries allowed": str(spec.max_retries or ""),
        "Shared memory": "" if spec.shared_memory_bytes is None else format_memory(spec.shared_memory_bytes),
        "Mounts": ", ".join(_mount_words(mount) for mount in spec.mounts),
        "Labels": " ".join(f"{key}={value}" for key, value in spec.labels),
    }
    return tuple((name, value) for name, value in given.items() if value)


def _asked(gpu_count: int, wanted: GpuRequirements) -> str:
    return gpus_wanted(gpu_count, wanted) if wanted != ANY_GPU else ""


def _mount_words(mount: Mount) -> str:
    return f"{mount.name} at {mount.path}{' (read-only)' if mount.read_only else ''}"


def _server_words(noun: Workload | Attempt, *, names_clusters: bool) -> str:
    return str(ServerId(noun.server, noun.cluster if names_clusters else ""))


def _attempt_view(attempt: Attempt, links: tuple[GpuLink, ...], *, names_clusters: bool) -> AttemptView:
    return AttemptView(
        number=attempt.number,
        job_name=attempt.job_name,
        server=_server_words(attempt, names_clusters=names_clusters),
        placed_at=attempt.placed_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        exit_code=attempt.exit_code,
        outcome=attempt.message or attempt.waiting,
        gpus=links,
    )


def _event_view(event: Event) -> EventView:
    words = event.type.value.replace("_", " ")
    return EventView(
        event.sequence, event.at, words, phase_words(event.phase), event.message, event.attempt, event.server
    )
