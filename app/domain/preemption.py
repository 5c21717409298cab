"""Making room: the stop of an attempt for another workload's sake, the server that this one gets, and the return of the
first to the queue. Pure, as `app.domain.lifecycle` is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from app.domain import wording
from app.domain.server import ServerId
from app.domain.states import Phase, Reason, Status, check_transition
from app.domain.workload import Attempt, Workload

PREEMPTIBLE_PHASES = frozenset({Phase.CREATING, Phase.INITIALIZING, Phase.RUNNING})  # where its end can be confirmed
_MOST_DOUBLINGS = 6


def preempt(
    workload: Workload, attempt: Attempt, wanted: Workload, *, by_right: bool, now: datetime
) -> tuple[Workload, Attempt] | None:
    """Both once the attempt is to be stopped for `wanted`; None where it may not be, or no longer is to be had.

    `by_right`: `wanted` is within its project's guarantee; else it is of a higher priority.
    """
    is_free = attempt.stop_reason is None and attempt.ended_at is None and workload.cancel_requested_at is None
    if not is_free or not workload.spec.preemptible or workload.phase not in PREEMPTIBLE_PHASES:
        return None
    if attempt.number != workload.attempt or workload.held_at is not None:
        return None
    words = wording.preempted(wanted.spec.name, str(wanted.id), by_right=by_right)
    stopping = replace(attempt, stop_reason=Reason.PREEMPTED, stop_requested_at=now, message=words)
    check_transition(workload.phase, Phase.STOPPING)
    told = wording.preempting(words)
    return replace(workload, phase=Phase.STOPPING, reason=Reason.PREEMPTED, message=told), stopping


def nominate(workload: Workload, server: ServerId) -> Workload:
    """It gets what becomes free there."""
    return replace(workload, nominated_server=str(server))


def step_aside(workload: Workload, words: str, now: datetime, base_seconds: int) -> Workload:
    """Back to the queue, once nothing of its preempted attempt runs. It was no try, and no fault of the server.

    It is not looked at for a pause of `base_seconds`, doubled each time.
    """
    yielded = workload.attempts_yielded + 1
    not_before = now + timedelta(seconds=base_seconds * 2 ** min(yielded - 1, _MOST_DOUBLINGS))
    check_transition(workload.phase, Phase.QUEUED)
    return replace(
        workload.unplaced,
        status=Status.PENDING,
        phase=Phase.QUEUED,
        reason=Reason.PREEMPTED,
        message=wording.stepped_aside(words, not_before),
        queued_at=now,
        not_before=not_before,
        attempts_yielded=yielded,
    )
