"""Each database finds a page in the index of its order, whatever it knows of the table: to sort is to read all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.queryset import CountQuery, QuerySet

from app.domain.filters import NEWEST, Order, SortField
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store import listing, mapping
from app.store.connection import transaction
from app.store.database import Database
from app.store.listing import Position, Selection
from app.store.models import WorkloadRow
from tests.clock import START
from tests.store.builders import a_new_workload, an_organization

ROWS = 3000
LAST = UUID(int=7)
BY_NAME = Order(SortField.NAME)
PAGES = [
    (NEWEST, None, None, "workloads_listed"),
    (NEWEST, Position(START + timedelta(minutes=ROWS // 2), LAST), None, "workloads_listed"),
    (BY_NAME, None, None, "workloads_by_name"),
    (BY_NAME, Position("n1500", LAST), None, "workloads_by_name"),
    (NEWEST, None, [Status.FAILED], "workloads_by_status"),
    (Order(SortField.COMPLETED_AT), None, None, "workloads_by_end"),
]


@pytest.mark.parametrize("has_statistics", [False, True])
async def test_a_page_is_read_in_the_order_of_its_index(database: Database, has_statistics: bool):
    async with transaction() as connection:
        organization = await a_history(connection, has_statistics=has_statistics)
        for order, after, statuses, index in PAGES:
            query = listing._selected(Selection(organization, statuses=statuses), ())
            if listing._may_lack(order.field):
                query = query.filter(~listing._lacks(order.field))
            plan = await plan_of(connection, listing._behind_in_order(query, order, after).limit(50))
            assert index in plan
            assert "sort" not in plan.lower()
            assert "b-tree" not in plan.lower()


async def test_a_count_reads_no_row(database: Database):
    async with transaction() as connection:
        organization = await a_history(connection, has_statistics=True)
        plan = await plan_of(connection, listing._selected(Selection(organization), ()).count())
    if connection.capabilities.dialect == "sqlite":  # PostgreSQL reads an index alone only after a vacuum
        assert "COVERING INDEX workloads_listed" in plan


async def a_history(connection: BaseDBAsyncClient, *, has_statistics: bool) -> UUID:
    """So many ended workloads of an organization, one in ten of them deleted."""
    organization = await an_organization()
    blank = a_new_workload(organization, status=Status.COMPLETED, phase=Phase.COMPLETED, reason=Reason.EXITED)
    await WorkloadRow.bulk_create(rows(blank), batch_size=500, using_db=connection)
    if has_statistics or connection.capabilities.dialect == "postgres":  # which makes them by itself, soon
        await connection.execute_script("ANALYZE")
    return organization.id


def rows(blank: Workload) -> Iterable[WorkloadRow]:
    for number in range(ROWS):
        at = START + timedelta(minutes=number)
        status = (Status.COMPLETED, Status.FAILED)[number % 4 == 0]
        made = replace(blank, id=uuid4(), status=status, created_at=at, completed_at=at + timedelta(hours=1))
        made = replace(made, spec=replace(blank.spec, name=f"n{number * 7919 % ROWS}"))
        made = replace(made, deleted_at=at if number % 10 == 3 else None)
        yield WorkloadRow(**mapping.workload_values(made))


async def plan_of(connection: BaseDBAsyncClient, query: QuerySet[WorkloadRow] | CountQuery) -> str:
    is_sqlite = connection.capabilities.dialect == "sqlite"
    explain, words = ("EXPLAIN QUERY PLAN", "detail") if is_sqlite else ("EXPLAIN", "QUERY PLAN")
    _, steps = await connection.execute_query(f"{explain} {query.sql(params_inline=True)}")
    return "\n".join(step[words] for step in steps)
