"""The list of workloads against the oracle, with filters, words, orders and pages that nobody wrote down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from app.domain.filters import FIELDS, Condition, Kind, ListField, Operator, Order, SortField, parse_conditions
from app.domain.people import Organization, Project
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store import people
from app.store.database import opened
from app.store.listing import Selection, count_workloads, list_workloads, list_workloads_before
from app.store.models import WorkloadRow
from app.store.writes import insert_workload
from tests.clock import START
from tests.depth import examples
from tests.store.builders import a_new_workload, an_organization
from tests.store.oracle import has_word, in_order, meets, value_of

PIECES = (
    *["é", "É", "ß", "SS", "ſ", "ı", "İ", "K", "Σ", "ς", "日", "😀"],  # noqa: RUF001 — letters whose other case is none, or several, or elsewhere
    *["train", "TRAIN", "é", "%", "_", "\\", "'", "*", "[", "^", "-", "."],
)
ROWS = 60
ORDERS = [by for by in SortField if by is not SortField.NAME]  # how letters sort is the database's collation


Asked = list[tuple[str, Condition]]


@dataclass(frozen=True)
class Row:
    workload: Workload
    project: Project | None

    @property
    def pair(self) -> tuple[Workload, str | None]:
        return self.workload, self.project.slug if self.project else None

    @property
    def names(self) -> tuple[str, str] | None:
        """The project's slug and name."""
        return (self.project.slug, self.project.name) if self.project else None

    def value(self, field: ListField) -> Any:
        return value_of(field, *self.pair)


@dataclass
class Fleet:
    """Rows in an organization of their own, on a database that tests without an event loop may ask."""

    runner: asyncio.Runner
    organization: Organization
    rows: list[Row]

    def ids(self, selection: Selection, order: Order, limit: int = 500, offset: int = 0) -> list[UUID]:
        found = self.runner.run(list_workloads(selection, order, limit, offset=offset))
        return [workload.id for workload, _ in found]

    def around(self, selection: Selection, order: Order, index: int) -> tuple[list[UUID], list[UUID]]:
        """The pages of three that end before a row and begin behind it; none where there is no such row."""
        run = self.runner.run
        rows = run(list_workloads(selection, order, 1, offset=index))
        if not rows:
            return [], []
        [(_, place)] = rows
        before = run(list_workloads_before(selection, order, 3, place))
        behind = run(list_workloads(selection, order, 3, place))
        return [workload.id for workload, _ in before], [workload.id for workload, _ in behind]


def often(short: int) -> settings:
    return settings(max_examples=examples(short), database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def fleet(database_url: str) -> Iterator[Fleet]:
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        runner.run(stack.enter_async_context(opened(database_url)))
        organization = runner.run(an_organization())
        yield Fleet(runner, organization, runner.run(some_rows(organization)))
        runner.run(stack.aclose())


async def some_rows(organization: Organization) -> list[Row]:
    names = (("alpha", "Straße"), ("beta", "ÉTUDES"))
    projects = [None, *[await people.add_project(organization.id, slug, name, START) for slug, name in names]]
    random = Random(7)  # noqa: S311 — rows that differ, the same in each run
    rows = [a_row(organization, random.choice(projects), random) for _ in range(ROWS)]
    for row in rows:
        await insert_workload(row.workload)
        await WorkloadRow.filter(id=row.workload.id).update(deleted_at=row.workload.deleted_at)
    return rows


def a_row(organization: Organization, project: Project | None, random: Random) -> Row:
    """With few values in each field, so that many are equal, and none in some."""

    def perhaps(value: Any) -> Any:
        return random.choice((value, None))

    def moment() -> datetime:
        return START + timedelta(seconds=random.randrange(3), microseconds=random.randrange(2))

    workload = a_new_workload(
        organization,
        spec={
            "name": "".join(random.choices(PIECES, k=random.randrange(1, 5))),
            "image": random.choice(("nvidia/cuda:12.2.0", "NVIDIA/x", "busybox:1.36")),
            "timeout_seconds": random.choice((60, 3600)),
            "queue_timeout_seconds": perhaps(30),
            "priority": random.choice(list(Priority)),
            "preemptible": random.choice((True, False)),
            "project_id": project.id if project else None,
        },
        status=(status := random.choice(list(Status))),
        phase=random.choice(list(Phase)),
        reason=random.choice(list(Reason)),
        message=random.choice(("100 % free", "a_b", "waits\\")),
        created_at=moment(),
        started_at=perhaps(moment()),
        completed_at=perhaps(moment()),
        cancel_requested_at=perhaps(moment()),
        deleted_at=random.choice((None, None, moment())),
        exit_code=random.choice((0, 1, 137)) if status is Status.COMPLETED else perhaps(1),
        server=random.choice(("", "gpu-1", "gpu-10")),
        cluster=random.choice(("", "east")),
        submitted_by=random.choice(("ada@example.org", "Bob@example.org")),
        attempt=random.randrange(3),
    )
    return Row(workload, project)


def expressions(rows: list[Row]) -> SearchStrategy[tuple[str, Condition]]:
    """An expression as a client writes it, and the condition that it must be read as."""
    return st.sampled_from(list(FIELDS.values())).flatmap(lambda field: expressions_about(field, rows))


def expressions_about(field: ListField, rows: list[Row]) -> SearchStrategy[tuple[str, Condition]]:
    values = st.sampled_from(rows).map(lambda row: row.value(field)) | OTHERS[field.kind]
    if field.kind is Kind.TEXT:
        values = st.tuples(values, st.integers(0, 5), st.integers(1, 9)).map(part_of)
    if field.kind is Kind.CHOICE:
        values = st.sampled_from(rows).map(lambda row: row.value(field))
    return st.tuples(st.sampled_from(field.kind.operators), values, SPELLINGS[field.kind]).map(
        lambda drawn: expression(field, *drawn)
    )


def part_of(drawn: tuple[str | None, int, int]) -> str:
    text, begin, size = drawn
    return (text or "")[begin : begin + size].strip()


def expression(field: ListField, operator: Operator, value: Any, spell: Callable[[Any], str]) -> tuple[str, Condition]:
    value = None if value == "" else value
    if value is None and operator not in (Operator.EQUAL, Operator.NOT_EQUAL):
        operator = Operator.NOT_EQUAL
    text = "" if value is None else spell(value)
    return f"{field.name} {operator} {text}", Condition(field, operator, value)


def in_zone(minutes: int) -> Callable[[datetime], str]:
    return lambda moment: moment.astimezone(timezone(timedelta(minutes=minutes))).isoformat()


OTHERS: dict[Kind, SearchStrategy[Any]] = {
    Kind.TEXT: st.sampled_from([*PIECES, "e\u0301", "100 % free", "gpu-1"]),
    Kind.NUMBER: st.integers(-1, 200) | st.sampled_from([-(2**31) + 1, 2**31 - 1]),
    Kind.BOOLEAN: st.booleans(),
    Kind.MOMENT: st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC)),  # noqa: DTZ001
    Kind.ID: st.uuids(),
    Kind.CHOICE: st.nothing(),
    Kind.PRIORITY: st.sampled_from([priority.value for priority in Priority]),
}
_PLAINLY: SearchStrategy[Callable[[Any], str]] = st.just(str)
SPELLINGS: dict[Kind, SearchStrategy[Callable[[Any], str]]] = {
    Kind.TEXT: _PLAINLY,
    Kind.NUMBER: _PLAINLY,
    Kind.BOOLEAN: st.sampled_from([lambda v: str(v).lower(), lambda v: str(v).upper()]),
    Kind.MOMENT: st.integers(-23 * 60, 23 * 60).map(in_zone),
    Kind.ID: st.sampled_from([str, lambda v: v.hex, lambda v: str(v).upper()]),
    Kind.CHOICE: st.sampled_from([str.lower, str.upper]),
    Kind.PRIORITY: st.sampled_from([lambda v: Priority(v).name, lambda v: Priority(v).words]),
}


def test_filters_and_orders_find_what_the_oracle_finds(fleet: Fleet):
    @often(120)
    @given(
        st.lists(expressions(fleet.rows), max_size=3),
        st.none() | st.lists(st.sampled_from(list(Status)), max_size=3),
        st.builds(Order, st.sampled_from(ORDERS), st.booleans()),
        st.booleans(),
        st.integers(0, 9),
    )
    def ask(
        asked: list[tuple[str, Condition]], statuses: list[Status] | None, order: Order, deleted: bool, skip: int
    ) -> None:
        conditions = parse_conditions([text for text, _ in asked])
        assert list(conditions) == [meant for _, meant in asked]
        left = [row for row in fleet.rows if (row.workload.deleted_at is not None) == deleted]
        left = [row for row in left if statuses is None or row.workload.status in statuses]
        left = [row for row in left if all(meets(meant, row.value(meant.field)) for _, meant in asked)]
        wanted = in_order([row.pair for row in left], order)
        selection = Selection(fleet.organization.id, conditions, statuses=statuses, is_deleted=deleted)
        assert fleet.ids(selection, order) == wanted
        assert fleet.ids(selection, order, limit=7, offset=skip) == wanted[skip : skip + 7]
        assert fleet.runner.run(count_workloads(selection)) == len(wanted)
        skip = min(skip, max(0, len(wanted) - 1))
        assert fleet.around(selection, order, skip) == (wanted[max(0, skip - 3) : skip], wanted[skip + 1 : skip + 4])

    ask()


def words(rows: list[Row]) -> SearchStrategy[str]:
    texts = [row.workload.spec.name for row in rows] + ["ada@example.org", "nvidia/cuda", "Straße", "études", "gpu-1"]
    part = st.tuples(st.sampled_from([*texts, *PIECES]), st.integers(0, 5), st.integers(1, 9)).map(part_of)
    cases = st.sampled_from([str, str.upper, str.lower, str.swapcase, str.title])
    known = st.builds(lambda word, case: case(word), part, cases)
    return known | st.sampled_from(rows).map(lambda row: str(row.workload.id)) | st.text(max_size=3)


def test_a_search_finds_what_the_oracle_finds(fleet: Fleet):
    @often(120)
    @given(st.lists(words(fleet.rows), min_size=1, max_size=3))
    @example(["ς", "ı"])  # noqa: RUF001 — dotless, whose upper case is the I of ASCII
    @example(["ı"])  # noqa: RUF001
    @example(["ſ"])  # noqa: RUF001 — long, whose upper case is S
    def ask(texts: list[str]) -> None:
        searched = [word for text in texts for word in text.split() if "\0" not in word]
        wanted = {
            row.workload.id
            for row in fleet.rows
            if row.workload.deleted_at is None and all(has_word(row.workload, row.names, w) for w in searched)
        }
        found = fleet.ids(Selection(fleet.organization.id, words=searched), Order(SortField.ID, False))
        assert set(found) == wanted, searched

    ask()


def test_nothing_is_skipped_or_repeated_while_others_come_and_go(fleet: Fleet):
    """What is there from the first page to the last is told once, whatever else is inserted and deleted meanwhile."""
    slugs = iter(range(10**9))

    @often(15)
    @given(
        st.builds(Order, st.sampled_from(list(SortField)), st.booleans()),
        st.integers(1, 6),
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
        st.integers(0, 2**32),
    )
    def page_through(order: Order, size: int, meanwhile: list[tuple[int, int]], seed: int) -> None:
        found = fleet.runner.run(paged(f"o{next(slugs)}", order, size, meanwhile, Random(seed)))  # noqa: S311
        told, staying, whole = found
        assert len(told) == len(set(told))
        assert set(staying) <= set(told)
        assert [i for i in told if i in staying] == [i for i in whole if i in staying]

    page_through()


async def paged(
    slug: str, order: Order, size: int, meanwhile: list[tuple[int, int]], random: Random
) -> tuple[list[UUID], set[UUID], list[UUID]]:
    """What the pages told, what was there all the time, and the order of all that was there at the end."""
    organization = await an_organization(slug, is_default=False)
    there = [await stored(organization, random) for _ in range(15)]
    staying, told, position = set(there), list[UUID](), None
    steps = iter(meanwhile)
    while page := await list_workloads(Selection(organization.id), order, size, position):
        told += [workload.id for workload, _ in page]
        position = page[-1][1]
        come, go = next(steps, (0, 0))
        for gone in random.sample(there, min(go, len(there))):
            there.remove(gone)
            staying.discard(gone)
            await WorkloadRow.filter(id=gone).update(deleted_at=START)
        there += [await stored(organization, random) for _ in range(come)]
    at_the_end = await list_workloads(Selection(organization.id), order, 500)
    return told, staying, [workload.id for workload, _ in at_the_end]


async def stored(organization: Organization, random: Random) -> UUID:
    workload = replace(a_row(organization, None, random).workload, deleted_at=None)
    await insert_workload(workload)
    return workload.id
