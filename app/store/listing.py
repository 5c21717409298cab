"""The list of workloads: filtered, searched, ordered and paged in SQL.

A page is keyed by the sorted value and the id of the row before it, so inserts and deletes while paging neither repeat
nor skip a row. What has no value comes last in both directions, on both databases: rows with a value and rows without
are two queries, each of which can walk an index, and both see one moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tortoise.expressions import Q
from tortoise.queryset import QuerySet

from app.domain.filters import Condition, ListField, Operator, Order, Value, can_be_ascii, search_pattern
from app.domain.people import Project
from app.domain.states import TERMINAL_STATUSES, Status
from app.domain.workload import Workload
from app.store import mapping, people
from app.store.connection import snapshot
from app.store.models import WorkloadRow
from app.store.unfinished import to_its_end

_COLUMNS = {
    "imageReference": "image",
    "gpuCount": "gpu_count",
    "cpuMillis": "cpu_millis",
    "memoryBytes": "memory_bytes",
    "timeoutSeconds": "timeout_seconds",
    "startTimeoutSeconds": "start_timeout_seconds",
    "queueTimeoutSeconds": "queue_timeout_seconds",
    "maxRetries": "max_retries",
    "retriesUsed": "retries_used",
    "exitCode": "exit_code",
    "projectId": "project_id",
    "project": "project__slug",
    "submittedBy": "submitted_by",
    "createdAt": "created_at",
    "startedAt": "started_at",
    "completedAt": "completed_at",
    "cancelRequestedAt": "cancel_requested_at",
    "deletedAt": "deleted_at",
    "retryOf": "retry_of",
}
_SEARCHED = ("name", "image", "submitted_by", "server")
_SEARCHED_BEYOND_ASCII = ("name", "submitted_by")  # names of images and servers are ASCII
_BLANK_IS_NONE = frozenset({"server", "cluster"})  # text columns whose "" stands for no value
_NULLABLE = frozenset(
    {
        "queue_timeout_seconds",
        "exit_code",
        "project_id",
        "started_at",
        "completed_at",
        "cancel_requested_at",
        "deleted_at",
        "retry_of",
    }
)
_UNSUCCESSFUL = [status.value for status in TERMINAL_STATUSES - {Status.COMPLETED}]
_LIVE = [status.value for status in set(Status) - TERMINAL_STATUSES]


@dataclass(frozen=True)
class Position:
    """A place in an ordered list: the sorted value and the id of the workload that was last seen."""

    value: Value | None
    id: UUID


@dataclass(frozen=True)
class Selection:
    """Which of an organization's workloads: all conditions and all words hold. `statuses` None: of any status.

    Deleted ones, or those that aren't: never both.
    """

    organization_id: UUID
    conditions: Sequence[Condition] = ()
    words: Sequence[str] = ()
    statuses: Iterable[Status] | None = None
    is_deleted: bool = False


async def list_workloads(
    selection: Selection, order: Order, limit: int, after: Position | None = None, offset: int = 0
) -> list[tuple[Workload, Position]]:
    """A page of at most `limit`, each with its place in the order."""
    projects = await _projects(selection, order)
    query = _selected(selection, projects)
    if not _may_lack(order.field):
        return _placed(await _with_value(query, order, limit, after, offset), order, projects)

    async def read() -> list[WorkloadRow]:
        async with snapshot():
            rows = await _with_value(query, order, limit, after, offset)
            lacking = limit - len(rows)
            return rows + (await _without_value(query, order, lacking, after, offset) if lacking else [])

    return _placed(await to_its_end(read()), order, projects)


async def list_workloads_before(
    selection: Selection, order: Order, limit: int, before: Position
) -> list[tuple[Workload, Position]]:
    """The page of at most `limit` that ends right before a place, in the order of the list; it is read backwards."""
    projects = await _projects(selection, order)
    query, backwards = _selected(selection, projects), Order(order.by, not order.is_descending)
    if before.value is not None:
        return _placed((await _with_value(query, backwards, limit, before, 0))[::-1], order, projects)

    async def read() -> list[WorkloadRow]:
        async with snapshot():
            rows = await _without_value(query, backwards, limit, before, 0)
            lacking = limit - len(rows)
            return rows + (await _with_value(query, backwards, lacking, None, 0) if lacking else [])

    return _placed((await to_its_end(read()))[::-1], order, projects)


def _placed(rows: Iterable[WorkloadRow], order: Order, projects: Iterable[Project]) -> list[tuple[Workload, Position]]:
    slugs = {project.id: project.slug for project in projects}
    return [(mapping.workload(row), Position(_value(order.field, row, slugs), row.id)) for row in rows]


async def count_workloads(selection: Selection) -> int:
    return await _selected(selection, await _projects(selection)).count()


async def _projects(selection: Selection, order: Order | None = None) -> list[Project]:
    """The organization's, where the request is about projects: they are few, and judged here instead of joined."""
    fields = {condition.field.name for condition in selection.conditions} | ({order.field.name} if order else set())
    return await people.projects_of(selection.organization_id) if selection.words or "project" in fields else []


def _selected(selection: Selection, projects: Sequence[Project]) -> QuerySet[WorkloadRow]:
    query = WorkloadRow.filter(organization_id=selection.organization_id, deleted_at__isnull=not selection.is_deleted)
    if selection.statuses is not None:
        query = query.filter(status__in=[status.value for status in selection.statuses])
    return query.filter(
        *(_condition(condition, projects) for condition in selection.conditions),
        *(_word(word, projects) for word in selection.words),
    )


async def _with_value(
    query: QuerySet[WorkloadRow], order: Order, limit: int, after: Position | None, offset: int
) -> list[WorkloadRow]:
    """The part of the page whose rows have a value in the sorted field."""
    if after is not None and after.value is None:
        return []
    if _may_lack(order.field):
        query = query.filter(~_lacks(order.field))
    return await _rows(_behind_in_order(query, order, after), limit, offset)


def _behind_in_order(query: QuerySet[WorkloadRow], order: Order, after: Position | None) -> QuerySet[WorkloadRow]:
    column = _column(order.field)
    if after is not None:
        query = query.filter(_behind(column, after, order))
    sign = "-" if order.is_descending else ""
    return query.order_by(*([f"{sign}{column}"] if column == "id" else [f"{sign}{column}", f"{sign}id"]))


async def _without_value(
    query: QuerySet[WorkloadRow], order: Order, limit: int, after: Position | None, offset: int
) -> list[WorkloadRow]:
    """The rows without one, which follow all others; an offset counts over both parts."""
    rest = query.filter(_lacks(order.field))
    step = "lt" if order.is_descending else "gt"
    if after is not None and after.value is None:
        rest = rest.filter(**{f"id__{step}": after.id})
    elif offset:
        first = query.filter(~_lacks(order.field))
        before = first.filter(_behind(_column(order.field), after, order)) if after else first
        offset = max(0, offset - await before.count())
    return await _rows(rest.order_by("-id" if order.is_descending else "id"), limit, offset)


async def _rows(ordered: QuerySet[WorkloadRow], limit: int, offset: int) -> list[WorkloadRow]:
    """Behind an offset the ids come first: to sort and pass over whole rows takes SQLite six times as long."""
    if not offset:
        return await ordered.limit(limit)
    ids = [row[0] for row in await ordered.offset(offset).limit(limit).values_list("id")]
    found = {row.id: row for row in await WorkloadRow.filter(id__in=ids)} if ids else {}
    return [found[row_id] for row_id in ids if row_id in found]


def _behind(column: str, after: Position, order: Order) -> Q:
    """The bound alone would do for the column's index; of two that are joined by OR neither database makes one."""
    step = "lt" if order.is_descending else "gt"
    if column == "id":
        return _q({f"id__{step}": after.id})
    bound = _q({f"{column}__{step}e": after.value})
    return bound & (_q({f"{column}__{step}": after.value}) | _q({f"id__{step}": after.id}))


def _q(lookup: dict[str, Any]) -> Q:
    return Q(**lookup)


def _column(field: ListField) -> str:
    return _COLUMNS.get(field.name, field.name)


def _own_column(field: ListField) -> str:
    """The workload's column that says whether there is a value."""
    return "project_id" if field.name == "project" else _column(field)


def _may_lack(field: ListField) -> bool:
    return _own_column(field) in _NULLABLE | _BLANK_IS_NONE


def _lacks(field: ListField) -> Q:
    """True where the field has no value."""
    column = _own_column(field)
    return _q({column: ""}) if column in _BLANK_IS_NONE else _q({f"{column}__isnull": True})


def _value(field: ListField, row: WorkloadRow, slugs: dict[UUID, str]) -> Value | None:
    if field.name == "project":
        return slugs.get(row.project_id)  # type: ignore[attr-defined]
    value: Value | None = getattr(row, _column(field))
    return value if value != "" or not _may_lack(field) else None


def _condition(condition: Condition, projects: Sequence[Project]) -> Q:
    if condition.field.name == "project":
        return _among([p for p in projects if condition.holds(p.slug)], or_none=condition.holds(None))
    if condition.field.name == "succeeded":
        return _any_of([_SUCCEEDED[value] for value in (True, False, None) if condition.holds(value)])
    if condition.value is None:
        return _emptiness(condition)
    holds = _comparison(_column(condition.field), condition.operator, condition.value)
    return holds | _lacks(condition.field) if condition.holds(None) and _may_lack(condition.field) else holds


def _emptiness(condition: Condition) -> Q:
    """`field==` and `field!=`: whether there is a value at all."""
    wants_none = condition.operator is Operator.EQUAL
    if not _may_lack(condition.field):
        return _NOTHING if wants_none else Q()
    return _lacks(condition.field) if wants_none else ~_lacks(condition.field)


def _comparison(column: str, operator: Operator, value: Value) -> Q:
    match operator:
        case Operator.EQUAL:
            return _q({column: value})
        case Operator.NOT_EQUAL:
            return ~_q({column: value})
        case Operator.LACKS:
            return ~_q({f"{column}__contains": value})
        case _:
            return _q({f"{column}__{_LOOKUPS[operator]}": value})


_LOOKUPS = {
    Operator.AT_MOST: "lte",
    Operator.AT_LEAST: "gte",
    Operator.CONTAINS: "contains",
    Operator.STARTS: "startswith",
    Operator.ENDS: "endswith",
}
_NOTHING = Q(id__isnull=True)
_SUCCEEDED: dict[bool | None, Q] = {
    True: Q(status=Status.COMPLETED.value, exit_code=0),
    False: Q(Q(status__in=_UNSUCCESSFUL), Q(status=Status.COMPLETED.value, exit_code__not=0), join_type=Q.OR),
    None: Q(status__in=_LIVE),
}


def _any_of(choices: Sequence[Q]) -> Q:
    return Q(*choices, join_type=Q.OR) if choices else _NOTHING


def _among(projects: Iterable[Project], *, or_none: bool) -> Q:
    choices = [Q(project_id__in=ids)] if (ids := [project.id for project in projects]) else []
    return _any_of([*choices, *([Q(project_id__isnull=True)] if or_none else [])])


def _word(word: str, projects: Iterable[Project]) -> Q:
    """Found in one of the searched columns, in the project's slug or name, or as the id.

    Beyond ASCII a database folds case as its locale says or not at all, so there all cases are spelled out.
    """
    pattern = search_pattern(word)
    if word.isascii():
        choices = [_q({f"{column}__icontains": word}) for column in _SEARCHED]
    else:
        columns = _SEARCHED if can_be_ascii(word) else _SEARCHED_BEYOND_ASCII
        choices = [_q({f"{column}__posix_regex": pattern}) for column in columns]
    named = [p for p in projects if re.search(pattern, p.slug) or re.search(pattern, p.name)]
    choices += [_among(named, or_none=False)] if named else []
    if (workload_id := _as_id(word)) is not None:
        choices.append(Q(id=workload_id))
    return _any_of(choices)


def _as_id(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None
