"""What a person may ask, besides a cancel: a new workload, or to suspend, resume, delete, restore, retry one. Pure.

Each returns the workload as it is then, the same one where it is so already, or raises ConflictError with what its
present state is and what could be done instead.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from app.domain import wording
from app.domain.errors import ConflictError
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status, check_transition
from app.domain.workload import Submission, Workload

_LIMITS = frozenset({Reason.RUN_TIMEOUT, Reason.START_TIMEOUT, Reason.IMAGE_INVALID})


def suspend(workload: Workload, by: str, now: datetime) -> Workload:
    """Keep it from being placed until it is resumed. What is under way is STOPPING, and stopped for that."""
    if workload.phase is Phase.SUSPENDED:
        return workload
    if workload.status.is_terminal:
        raise has_ended(workload)
    if workload.waits:
        left = replace(workload, nominated_server="")  # what becomes free there meanwhile is for those who wait
        return _held(left, Phase.SUSPENDED, Reason.HELD, wording.held(by), by, now)
    if ends_soon(workload):
        raise ConflictError(
            f"workload {workload.id} is about to end, so there is nothing to suspend: {workload.message}"
        )
    if workload.held_at is not None:
        return workload
    return _held(workload, Phase.STOPPING, Reason.SUSPEND_REQUESTED, wording.suspend_requested(by), by, now)


def _held(workload: Workload, phase: Phase, reason: Reason, message: str, by: str, now: datetime) -> Workload:
    check_transition(workload.phase, phase)
    return replace(workload, phase=phase, reason=reason, message=message, held_at=now, held_by=by)


def stopped_for_suspend(workload: Workload) -> Workload:
    """What `suspend` asked for, once nothing of it runs. For what it is resumed to it has not waited yet."""
    check_transition(workload.phase, Phase.SUSPENDED)
    return replace(
        workload.unplaced,
        status=Status.PENDING,
        phase=Phase.SUSPENDED,
        reason=Reason.HELD,
        message=wording.held(workload.held_by),
        queued_at=workload.held_at,
        attempts_yielded=workload.attempts_yielded + 1,
    )


def ends_soon(workload: Workload) -> bool:
    """Whether it is being stopped for good: by a cancel, or at a limit."""
    is_at_limit = workload.phase is Phase.STOPPING and workload.reason in _LIMITS
    return is_at_limit or workload.cancel_requested_at is not None


def hold(workload: Workload, by: str, now: datetime) -> Workload:
    """As `suspend`, but what is under way is left alone."""
    if not (workload.waits or workload.phase is Phase.SUSPENDED or workload.status.is_terminal):
        raise ConflictError(
            f"workload {workload.id} is under way ({workload.phase}: {workload.message}); only what waits for a server "
            "can be held. Suspend it, which stops it, or let it end"
        )
    return suspend(workload, by, now)


def resume(workload: Workload, by: str, now: datetime) -> Workload:
    """Back into the queue: what had waited at the place it had, what had been placed as if it came now.

    The time it was suspended counts neither as waiting nor against a limit.
    """
    if workload.waits:
        return workload
    if workload.status.is_terminal:
        raise has_ended(workload)
    if workload.phase is not Phase.SUSPENDED or workload.held_at is None:
        hint = "; resume it once it has stopped" if workload.held_at else ""
        raise ConflictError(f"workload {workload.id} isn't suspended; it is {workload.phase}: {workload.message}{hint}")
    check_transition(workload.phase, Phase.RESUMING)
    queued_at = (workload.queued_at or workload.created_at) + max(now - workload.held_at, timedelta(0))
    return replace(
        workload,
        phase=Phase.RESUMING,
        reason=Reason.SUBMITTED,
        message=wording.released(by),
        queued_at=queued_at,
        held_at=None,
        held_by="",
    )


def prioritize(workload: Workload, priority: Priority) -> Workload:
    """Of another class: at once for its turn, and while it runs for who is stopped to make room."""
    if workload.status.is_terminal:
        raise has_ended(workload)
    return replace(workload, spec=replace(workload.spec, priority=priority))


def delete(workload: Workload, now: datetime) -> Workload:
    """Out of the lists. Everything about it is kept, and it can be restored."""
    if workload.deleted_at is not None:
        return workload
    if not workload.status.is_terminal:
        raise ConflictError(
            f"workload {workload.id} has not ended; it is {workload.phase}: {workload.message}. Cancel it first"
        )
    return replace(workload, deleted_at=now)


def restore(workload: Workload) -> Workload:
    """Back into the lists."""
    return replace(workload, deleted_at=None)


def retry(workload: Workload, new_id: UUID, by: str, spec: Submission, now: datetime) -> Workload:
    """A new workload of the request as it is asked for now; this one must have ended and stays as it is."""
    if not workload.status.is_terminal:
        raise ConflictError(
            f"workload {workload.id} has not ended; it is {workload.phase}: {workload.message}. "
            "Retry it once it has, or submit another one"
        )
    return replace(accept(new_id, workload.organization_id, spec, by, now), retry_of=workload.id)


def accept(new_id: UUID, organization_id: UUID, spec: Submission, by: str, now: datetime) -> Workload:
    """The new workload of a request that was checked."""
    return Workload(
        id=new_id,
        organization_id=organization_id,
        spec=spec,
        submitted_by=by,
        created_at=now,
        queued_at=now,
        message=wording.submitted(spec.resources.gpu_count, spec.gpu_requirements.kind),
    )


def has_ended(workload: Workload) -> ConflictError:
    return ConflictError(f"workload {workload.id} has ended already: {workload.status}, {workload.message}")
