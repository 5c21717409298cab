"""A page is of one moment: what changes while it is read is on it once, as it was or as it is."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Thread
from uuid import UUID

import asyncpg
import pytest

from app.domain.filters import Order, SortField
from app.store.database import Database
from app.store.listing import Position, Selection, list_workloads, list_workloads_before
from tests.store.builders import a_stored_workload, an_organization

GETS_A_VALUE = "UPDATE workloads SET exit_code = 1"


def write_apart(url: str, statement: str) -> None:
    """As another process would, on a connection of its own."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite://").partition("?")[0], timeout=5)) as connection:
            connection.execute(statement)
            connection.commit()
        return

    async def write() -> None:
        connection = await asyncpg.connect(url.partition("?")[0].replace("asyncpg://", "postgres://"))
        await connection.execute(statement)
        await connection.close()

    thread = Thread(target=lambda: asyncio.run(write()))
    thread.start()
    thread.join()


@contextmanager
def between_two_reads(act: Callable[[], None]) -> Iterator[list[str]]:
    """Done once, right before the second statement that reads workloads; these are the statements."""
    sent: list[str] = []

    class Interloper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if 'FROM "workloads"' in record.getMessage():
                sent.append(record.getMessage())
                if len(sent) == 2:
                    act()

    logger, handler = logging.getLogger("tortoise.db_client"), Interloper()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield sent
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("is_descending", [False, True])
async def test_what_gets_its_value_while_a_page_is_read_is_on_it(database: Database, is_descending: bool, offset: int):
    organization = await an_organization()
    made = {(await a_stored_workload(organization)).id for _ in range(3)}
    order = Order(SortField.EXIT_CODE, is_descending)
    with between_two_reads(lambda: write_apart(database.url, GETS_A_VALUE)) as sent:
        page = await list_workloads(Selection(organization.id), order, 50, offset=offset)
    assert len(sent) >= 2
    assert (len(page), {noun.id for noun, _ in page} - made) == (3 - offset, set())
    assert {noun.exit_code for noun, _ in await list_workloads(Selection(organization.id), order, 50)} == {1}


async def test_what_gets_its_value_while_a_page_is_read_backwards_is_on_it_once(database: Database):
    organization = await an_organization()
    made = {(await a_stored_workload(organization)).id for _ in range(3)}
    behind_all = Position(None, UUID(int=2**128 - 1))
    with between_two_reads(lambda: write_apart(database.url, GETS_A_VALUE)) as sent:
        page = await list_workloads_before(Selection(organization.id), Order(SortField.EXIT_CODE), 50, behind_all)
    assert len(sent) == 2
    assert sorted(noun.id for noun, _ in page) == sorted(made)
