"""What a person may ask, besides a cancel: a new workload, or to hold, release, delete, restore, retry one. Pure.

Each returns the workload as it is then, the same one where it is so already, or raises ConflictError with what its
present state is and what could be done instead.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from app.domain import wording
from app.domain.errors import ConflictError
from app.domain.states import Phase, Reason, check_transition
from app.domain.workload import Submission, Workload


def hold(workload: Workload, by: str, now: datetime) -> Workload:
    """Keep a waiting workload from being placed until it is released."""
    if workload.phase is Phase.SUSPENDED:
        return workload
    if workload.status.is_terminal:
        raise has_ended(workload)
    if not workload.waits:
        raise ConflictError(
            f"workload {workload.id} is under way ({workload.phase}: {workload.message}); only what waits for a server "
            "can be held. Cancel it, or let it end"
        )
    check_transition(workload.phase, Phase.SUSPENDED)
    return replace(workload, phase=Phase.SUSPENDED, reason=Reason.HELD, message=wording.held(by), held_at=now)


def release(workload: Workload, by: str, now: datetime) -> Workload:
    """Back into the queue, at the place it had: the time it was held counts neither as waiting nor against a limit."""
    if workload.waits:
        return workload
    if workload.status.is_terminal:
        raise has_ended(workload)
    if workload.phase is not Phase.SUSPENDED or workload.held_at is None:
        raise ConflictError(f"workload {workload.id} isn't held; it is {workload.phase}: {workload.message}")
    check_transition(workload.phase, Phase.RESUMING)
    queued_at = (workload.queued_at or workload.created_at) + max(now - workload.held_at, timedelta(0))
    return replace(
        workload,
        phase=Phase.RESUMING,
        reason=Reason.SUBMITTED,
        message=wording.released(by),
        queued_at=queued_at,
        held_at=None,
    )


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
