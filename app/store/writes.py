"""Guarded writes of workloads, attempts and events.

Every write of one organization's facts is one transaction whose first statement takes numbers from the organization's
counter: that row's lock makes events commit in the order of their numbers. A workload is written only `WHERE id AND
version`; where that finds no row, someone was first, and nothing of the change is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.exceptions import IntegrityError
from tortoise.expressions import F
from tortoise.models import Model

from app.domain.events import event_between, event_of
from app.domain.states import WAITING_PHASES, Reason
from app.domain.workload import Attempt, EventType, NewEvent, Workload
from app.store import mapping
from app.store.connection import transaction
from app.store.groupcommit import GroupCommit
from app.store.models import AttemptRow, EventRow, OrganizationRow, WorkloadRow

_CHUNK = 500


@dataclass(frozen=True)
class Change:
    """From what was loaded to what was decided. `attempt_before` None with an `attempt` is a new attempt."""

    before: Workload
    after: Workload
    attempt_before: Attempt | None = None
    attempt: Attempt | None = None

    @property
    def stored(self) -> Workload:
        """The workload as it is once this change has won."""
        return replace(self.after, version=self.before.version + 1)


class IdempotencyKeyTakenError(Exception):
    """The organization has a workload with this idempotency key already."""


@dataclass(frozen=True)
class _Write:
    """One caller's part of a transaction: a new workload, or changes."""

    at: datetime
    new: Workload | None = None
    changes: Sequence[Change] = ()


_group: ContextVar[GroupCommit[UUID, _Write, list[bool]]] = ContextVar("group_commit")


@contextmanager
def grouping() -> Iterator[None]:
    """Writes that come at the same time inside share transactions; `Database.active` is inside it."""
    token = _group.set(GroupCommit(_commit))
    try:
        yield
    finally:
        _group.reset(token)


async def insert_workload(workload: Workload) -> None:
    """Store an accepted workload with its first event. Raises IdempotencyKeyTakenError and stores nothing then."""
    try:
        await _group.get().write(workload.organization_id, _Write(workload.created_at, new=workload))
    except IntegrityError:
        if workload.spec.idempotency_key is not None:
            raise IdempotencyKeyTakenError from None
        raise


async def apply_changes(organization_id: UUID, changes: Sequence[Change], at: datetime) -> list[bool]:
    """Write all changes of one organization in one transaction; for each, whether it won."""
    return await _group.get().write(organization_id, _Write(at, changes=changes)) if changes else []


async def _commit(organization_id: UUID, writes: Sequence[_Write]) -> list[list[bool]]:
    async with transaction() as connection:
        count = sum((write.new is not None) + len(write.changes) for write in writes)
        first = await _take_numbers(connection, organization_id, count)
        new = [write.new for write in writes if write.new is not None]
        await _insert(connection, [WorkloadRow(**mapping.workload_values(workload)) for workload in new])
        events = [event_of(workload, EventType.SUBMITTED, workload.created_at) for workload in new]
        results = []
        for write in writes:
            won = [await _write_workload(connection, change) for change in write.changes]
            winners = [change for change, did_win in zip(write.changes, won, strict=True) if did_win]
            await _write_attempts(connection, winners)
            events += [e for c in winners if (e := event_between(c.before, c.after, write.at))]
            results.append(won)
        await _append(connection, organization_id, first, events)
    return results


async def _insert(connection: BaseDBAsyncClient, rows: Sequence[Model]) -> None:
    if len(rows) == 1:
        await rows[0].save(using_db=connection, force_create=True)
    elif rows:
        await type(rows[0]).bulk_create(rows, batch_size=_CHUNK, using_db=connection)


async def _take_numbers(connection: BaseDBAsyncClient, organization_id: UUID, count: int) -> int:
    """The first of `count` event numbers of the organization; unused ones are simply skipped."""
    row = OrganizationRow.filter(id=organization_id).using_db(connection)
    await row.update(event_sequence=F("event_sequence") + count)
    last = await row.values_list("event_sequence", flat=True)
    return int(str(last[0])) - count + 1


async def _append(connection: BaseDBAsyncClient, organization_id: UUID, first: int, events: Sequence[NewEvent]) -> None:
    rows = [
        EventRow(organization_id=organization_id, sequence=first + i, **mapping.event_values(event))
        for i, event in enumerate(events)
    ]
    await _insert(connection, rows)


async def _write_workload(connection: BaseDBAsyncClient, change: Change) -> bool:
    old, new = mapping.workload_state(change.before), mapping.workload_state(change.stored)
    changed = {name: value for name, value in new.items() if value != old[name]}
    guard = WorkloadRow.filter(id=change.before.id, version=change.before.version).using_db(connection)
    return await guard.update(**changed) == 1


async def _write_attempts(connection: BaseDBAsyncClient, changes: Sequence[Change]) -> None:
    fresh = [c.attempt for c in changes if c.attempt and c.attempt_before is None]
    await _insert(connection, [AttemptRow(**mapping.attempt_values(attempt)) for attempt in fresh])
    for change in changes:
        if change.attempt and change.attempt_before and change.attempt != change.attempt_before:
            await _update_attempt(connection, change.attempt_before, change.attempt)


async def _update_attempt(connection: BaseDBAsyncClient, before: Attempt, after: Attempt) -> None:
    old, new = mapping.attempt_values(before), mapping.attempt_values(after)
    changed = {name: value for name, value in new.items() if value != old[name]}
    await AttemptRow.filter(workload_id=after.workload_id, number=after.number).using_db(connection).update(**changed)


async def save_cleanup(before: Attempt, after: Attempt) -> None:
    """Store what became of an ended attempt's leftovers; the workload itself is not touched."""
    if before != after:
        async with transaction() as connection:
            await _update_attempt(connection, before, after)


async def explain_waiting(
    organization_id: UUID, workload_ids: Sequence[UUID], reason: Reason, message: str, at: datetime
) -> None:
    """Store why a group of workloads waits. An event is written only where the reason itself is new.

    Who was placed or cancelled meanwhile is left alone: an ended workload gets no further event.
    """
    async with transaction() as connection:
        first = await _take_numbers(connection, organization_id, len(workload_ids))
        told: list[Workload] = []
        for start in range(0, len(workload_ids), _CHUNK):
            phases = [phase.value for phase in WAITING_PHASES]
            waiting = WorkloadRow.filter(id__in=workload_ids[start : start + _CHUNK], phase__in=phases)
            rows = await waiting.exclude(reason=reason.value).using_db(connection)
            told += [replace(mapping.workload(row), reason=reason, message=message) for row in rows]
            await waiting.using_db(connection).update(reason=reason.value, message=message)
        await _append(connection, organization_id, first, [event_of(w, EventType.WAITING, at) for w in told])
