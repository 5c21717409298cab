"""The list of workloads against an oracle in Python: every filter, every order, paged in every way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tortoise.fields import CharField

from app.domain.filters import (
    FIELDS,
    NEWEST,
    Condition,
    Kind,
    ListField,
    Operator,
    Order,
    SortField,
    Value,
    parse_conditions,
)
from app.domain.people import Organization
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store import listing, people
from app.store.database import Database
from app.store.listing import Position, Selection, count_workloads, list_workloads, list_workloads_before
from app.store.models import ProjectRow, WorkloadRow
from app.store.writes import insert_workload
from tests.clock import START
from tests.depth import examples
from tests.store.builders import a_new_workload, a_stored_workload, an_organization
from tests.store.oracle import in_order, meets, value_of

NAMES = ("train", "Train", "tra%n", "tra_n", "straße", "a\\b", "évaluation", "train-2")


async def a_fleet_of_workloads(organization: Organization) -> list[tuple[Workload, str | None]]:
    """Workloads that differ in every listed field, many of them equal in some; each with its project's slug."""
    projects = [await people.add_project(organization.id, slug, f"The {slug}", START) for slug in ("alpha", "beta")]
    made = []
    for i in range(36):
        project = [None, *projects][i % 3]
        has_ended, has_started = i % 4 == 0, i % 2 == 0
        status = (Status.PENDING, Status.RUNNING, Status.COMPLETED, Status.FAILED)[
            i % 4 if not has_ended else 2 + i % 8 // 4
        ]
        workload = a_new_workload(
            organization,
            spec={
                "name": NAMES[i % len(NAMES)],
                "image": f"nvidia/cuda:12.{i % 5}",
                "timeout_seconds": 60 * (1 + i % 3),
                "queue_timeout_seconds": None if i % 5 else 30 + i % 2,
                "project_id": project.id if project else None,
                "max_retries": i % 2,
                "priority": list(Priority)[i % 5],
                "preemptible": i % 4 == 1,
            },
            status=status,
            phase=Phase.QUEUED,
            reason=list(Reason)[i % 7],
            message=f"why {i % 6}",
            created_at=START + timedelta(seconds=i // 3, microseconds=i % 2),
            started_at=START + timedelta(seconds=i % 7) if has_started else None,
            completed_at=START + timedelta(minutes=1 + i % 3) if has_ended else None,
            exit_code=(0, 1, 137)[i % 3] if has_ended else None,
            server="" if i % 3 else f"gpu-{i % 2}",
            cluster="" if i % 3 else ("east", "west")[i % 2],
            submitted_by=("ada@example.org", "Bob@example.org")[i % 2],
            attempt=i % 3,
        )
        await insert_workload(workload)
        made.append((workload, project.slug if project else None))
    return made


def values_to_ask_for(field: ListField) -> list[Value | None]:
    moments = [START, START + timedelta(seconds=3), START + timedelta(minutes=2)]
    texts = [*NAMES, "tr", "%", "_", "\\", "gpu", "gpu-0", "alpha", "cuda:12.1", "why 3", "@example", "n"]
    of_kind: dict[Kind, Sequence[Value]] = {
        Kind.TEXT: texts,
        Kind.NUMBER: [-1, 0, 1, 2, 30, 60, 120, 137],
        Kind.BOOLEAN: [True, False],
        Kind.MOMENT: moments,
        Kind.ID: [UUID(int=1)],
        Kind.CHOICE: sorted(field.choices)[:4],
        Kind.PRIORITY: [10, 50, 90],
    }
    return list(of_kind[field.kind])


async def ids(selection: Selection, order: Order = NEWEST) -> list[UUID]:
    return [workload.id for workload, _ in await list_workloads(selection, order, 500)]


async def test_every_field_with_every_operator_finds_what_an_oracle_finds(database: Database):
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)
    for field in FIELDS.values():
        for operator in field.kind.operators:
            values = values_to_ask_for(field)
            if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
                values = [*values, None, value_of(field, *stored[5])]
            for value in values:
                condition = Condition(field, operator, value)
                wanted = {w.id for w, project in stored if meets(condition, value_of(field, w, project))}
                selection = Selection(organization.id, [condition])
                found = await ids(selection)
                assert set(found) == wanted, (field.name, operator, value)
                assert await count_workloads(selection) == len(wanted) == len(found)
                assert all(condition.holds(value_of(field, w, p)) == (w.id in wanted) for w, p in stored), condition


async def read_backwards(selection: Selection, order: Order, size: int, last: Position | None) -> list[UUID]:
    """From the last place to the first, page by page."""
    assert last is not None
    found, position = [last.id], last
    while page := await list_workloads_before(selection, order, size, position):
        found = [workload.id for workload, _ in page] + found
        position = page[0][1]
    return found


@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("by", [by for by in SortField if by is not SortField.NAME])
async def test_every_order_pages_through_everything_once(database: Database, by: SortField, is_descending: bool):
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)
    order, selection = Order(by, is_descending), Selection(organization.id)
    whole = in_order(stored, order)
    for size in (5, 100):
        found: list[UUID] = []
        position: Position | None = None
        while page := await list_workloads(selection, order, size, position):
            found += [workload.id for workload, _ in page]
            position = page[-1][1]
        assert found == whole
        assert await read_backwards(selection, order, size, position) == whole
    for offset in (3, 35, 40):
        assert [w.id for w, _ in await list_workloads(selection, order, 7, offset=offset)] == whole[offset : offset + 7]
    third = (await list_workloads(selection, order, 3))[-1][1]
    assert [w.id for w, _ in await list_workloads(selection, order, 4, third, offset=25)] == whole[28:32]


@pytest.mark.parametrize("is_descending", [False, True])
async def test_names_are_ordered_by_the_database_and_paged_all_the_same(database: Database, is_descending: bool):
    """How letters beyond ASCII sort is the database's collation; equal and stable it must be."""
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)
    order = Order(SortField.NAME, is_descending)
    whole = await ids(Selection(organization.id), order)
    assert set(whole) == {w.id for w, _ in stored}
    found: list[UUID] = []
    position: Position | None = None
    while page := await list_workloads(Selection(organization.id), order, 5, position):
        found += [workload.id for workload, _ in page]
        position = page[-1][1]
    assert found == whole


async def test_inserts_and_ends_while_paging_repeat_and_skip_nothing(database: Database):
    organization = await an_organization()
    old = [await a_stored_workload(organization, created_at=START + timedelta(seconds=i)) for i in range(6)]
    first = await list_workloads(Selection(organization.id), NEWEST, 3)
    await a_stored_workload(organization, created_at=START + timedelta(seconds=9))
    rest = await list_workloads(Selection(organization.id), NEWEST, 9, first[-1][1])
    assert [w.id for w, _ in first + rest] == [w.id for w in reversed(old)]


async def test_all_words_of_a_search_must_be_found_in_whatever_case(database: Database):
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)

    async def found(*words: str) -> set[UUID]:
        return set(await ids(Selection(organization.id, words=words)))

    assert await found("TRAIN") == {w.id for w, _ in stored if "train" in w.spec.name.lower()}
    assert await found("train", "gpu-0") == {
        w.id for w, _ in stored if "train" in w.spec.name.lower() and w.server == "gpu-0"
    }
    assert await found("ALPHA") == {w.id for w, project in stored if project == "alpha"}
    assert await found("%") == {w.id for w, _ in stored if "%" in w.spec.name}
    assert await found(str(stored[0][0].id)) == {stored[0][0].id}
    assert await found("nothing-like-it") == set()


async def test_another_organizations_are_never_found(database: Database):
    ours, theirs = await an_organization("acme"), await an_organization("other", is_default=False)
    await a_fleet_of_workloads(theirs)
    mine = await a_stored_workload(ours)
    assert await ids(Selection(ours.id)) == [mine.id]
    assert await ids(Selection(ours.id, parse_conditions(["project=="]))) == [mine.id]
    assert await ids(Selection(ours.id, parse_conditions(["project!=gamma"]))) == [mine.id]
    assert await ids(Selection(ours.id, words=["alpha"])) == []


async def test_statuses_and_conditions_narrow_together(database: Database):
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)
    selection = Selection(organization.id, parse_conditions(["gpuCount>=1", "name=^tra"]), statuses=[Status.FAILED])
    wanted = {w.id for w, _ in stored if w.status is Status.FAILED and w.spec.name.startswith("tra")}
    assert set(await ids(selection)) == wanted
    assert await count_workloads(replace(selection, statuses=[])) == 0


_ANY_CONDITION = st.sampled_from(list(FIELDS.values())).flatmap(
    lambda field: st.builds(
        Condition, st.just(field), st.sampled_from(field.kind.operators), st.sampled_from(values_to_ask_for(field))
    )
)


async def test_conditions_together_find_what_each_of_them_leaves(database: Database):
    organization = await an_organization()
    stored = await a_fleet_of_workloads(organization)
    asked: list[list[Condition]] = []

    @settings(max_examples=examples(40), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(_ANY_CONDITION, min_size=2, max_size=4))
    def collect(conditions: list[Condition]) -> None:
        asked.append(conditions)

    collect()
    for conditions in asked:
        wanted = {w.id for w, p in stored if all(meets(c, value_of(c.field, w, p)) for c in conditions)}
        assert set(await ids(Selection(organization.id, conditions))) == wanted, conditions


def test_a_value_may_be_as_long_as_its_column_and_no_longer():
    """The database would refuse the question."""
    columns = WorkloadRow._meta.fields_map
    own = {name: columns.get(listing._COLUMNS.get(name, name)) for name in FIELDS}
    longest = {name: column.max_length for name, column in own.items() if isinstance(column, CharField)}
    longest["project"] = ProjectRow._meta.fields_map["slug"].max_length  # type: ignore[attr-defined]
    texts = {name for name in longest if FIELDS[name].kind is Kind.TEXT}
    assert {name: FIELDS[name].longest for name in texts} == {name: longest[name] for name in texts}
    assert len(texts) == 6
