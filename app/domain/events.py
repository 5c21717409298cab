"""Which event a change of a workload is. Pure: the store numbers and writes what this returns."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from app.domain.states import Phase, Status
from app.domain.workload import EventType, NewEvent, Workload


def event_between(before: Workload, after: Workload, at: datetime, told: str = "") -> NewEvent | None:
    """The one event of a change; None where only the sentence or a detail changed.

    `told` is the sentence of an event that changes no state; of others it is the workload's own.
    """
    if before.spec.priority != after.spec.priority:
        return replace(event_of(after, EventType.PRIORITIZED, at), message=told)
    if before.deleted_at != after.deleted_at:
        return event_of(after, EventType.RESTORED if after.deleted_at is None else EventType.DELETED, at)
    if _state(before) == _state(after) and before.cancel_requested_at == after.cancel_requested_at:
        return None
    return event_of(after, _type(before, after), at)


def event_of(workload: Workload, event_type: EventType, at: datetime) -> NewEvent:
    """An event that shows the workload as it is."""
    return NewEvent(
        workload_id=workload.id,
        type=event_type,
        status=workload.status,
        phase=workload.phase,
        reason=workload.reason,
        message=workload.message,
        at=at,
        attempt=workload.attempt,
        exit_code=workload.exit_code,
        server=workload.server,
    )


def _state(workload: Workload) -> tuple[object, ...]:
    return (workload.status, workload.phase, workload.reason, workload.attempt)


def _type(before: Workload, after: Workload) -> EventType:
    if after.status.is_terminal:
        return EventType.ENDED
    if wish := _wish(before, after):
        return wish
    if after.waits:
        return EventType.WAITING if before.waits else EventType.RETRYING
    if after.status is Status.RUNNING and before.status is Status.PENDING:
        return EventType.STARTED
    was_placed = before.attempt != after.attempt
    return EventType.PLACED if was_placed else _BY_PHASE.get(after.phase, EventType.PROGRESSED)


def _wish(before: Workload, after: Workload) -> EventType | None:
    """What a person asked for, or what came of it."""
    if before.cancel_requested_at != after.cancel_requested_at:
        return EventType.CANCEL_REQUESTED
    if after.phase is Phase.STOPPING and before.held_at != after.held_at:
        return EventType.SUSPEND_REQUESTED
    if after.phase is Phase.SUSPENDED:
        return EventType.HELD
    return EventType.RELEASED if before.phase is Phase.SUSPENDED else None


_BY_PHASE = {Phase.STOPPING: EventType.STOPPING}
