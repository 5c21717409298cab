"""The migrations make what the models say, on both databases."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from uuid import uuid4

import asyncpg
from tortoise.context import TortoiseContext
from tortoise.migrations.autodetector import MigrationAutodetector

from app.store import people
from app.store.database import Database, normalize_url, opened, tortoise_config
from tests.store.builders import an_organization

BOOKKEEPING = "tortoise_migrations"
POSTGRES_COLUMNS = (
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default"
    " FROM information_schema.columns WHERE table_schema = 'public'"
)
POSTGRES_INDEXES = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'"
POSTGRES_RULES = (
    "SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace"
)


async def generate(url: str) -> None:
    """The schema straight from the models."""
    async with TortoiseContext() as context:
        await context.init(config=tortoise_config(normalize_url(url)))
        await context.generate_schemas()


def sqlite_schema(url: str) -> dict[tuple[str, str], object]:
    """Tables as columns, rules and foreign keys, whatever the order they are written in; indexes by their columns."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        found: dict[tuple[str, str], object] = {}
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        for kind, name, table, sql in rows:
            if table in (BOOKKEEPING, "sqlite_sequence"):
                continue
            found[kind, name if sql else f"automatic of {table}"] = None
            if kind == "table":
                found["columns", table] = sorted(c[1:] for c in connection.execute(f"PRAGMA table_info({table})"))
                found["keys", table] = sorted(k[2:] for k in connection.execute(f"PRAGMA foreign_key_list({table})"))
                found["indexes", table] = sorted(sqlite_indexes(connection, table))
    connection.close()
    return found


def sqlite_indexes(connection: sqlite3.Connection, table: str) -> list[tuple[bool, list[str]]]:
    indexes = connection.execute(f"PRAGMA index_list({table})").fetchall()
    return [
        (bool(unique), [column for _, _, column in connection.execute(f"PRAGMA index_info('{name}')")])
        for _, name, unique, _, _ in indexes
    ]


async def postgres_schema(url: str) -> list[set[tuple[object, ...]]]:
    connection = await asyncpg.connect(url.replace("asyncpg://", "postgres://"))
    try:
        queries = (POSTGRES_COLUMNS, POSTGRES_INDEXES, POSTGRES_RULES)
        found = [{tuple(row) for row in await connection.fetch(query)} for query in queries]
    finally:
        await connection.close()
    return [{row for row in rows if BOOKKEEPING not in str(row)} for rows in found]


async def test_sqlite_migrations_make_what_the_models_say(migrated_sqlite: Path, tmp_path: Path):
    generated = f"sqlite:///{tmp_path}/generated.db"
    await generate(generated)
    assert sqlite_schema(f"sqlite:///{migrated_sqlite}") == sqlite_schema(generated)


async def test_postgres_migrations_make_what_the_models_say(postgres_copy: str, postgres_url: str):
    await generate(postgres_url)
    assert await postgres_schema(postgres_copy) == await postgres_schema(postgres_url)


async def test_the_models_have_no_change_without_a_migration(sqlite_url: str):
    config = tortoise_config(normalize_url(sqlite_url))
    async with TortoiseContext() as context:
        await context.init(config=config)
        assert context.apps is not None
        changes = await MigrationAutodetector(context.apps, config["apps"]).changes()
    assert [str(writer.name) for writer in changes] == [], "run `tortoise makemigrations`"


async def test_migrating_again_changes_nothing(database_url: str):
    async with opened(database_url):
        made = await an_organization()
    await Database(database_url).migrate()
    await Database(database_url).migrate()
    async with opened(database_url):
        assert await people.organizations() == [made]


async def test_two_processes_may_start_on_a_new_sqlite_file(tmp_path: Path):
    """A command of the operator and the server, or two servers: the second waits for the first one's migrations."""
    url = f"sqlite:///{tmp_path}/new.db"
    await asyncio.gather(*(asyncio.create_task(start(url)) for _ in range(4)))
    async with opened(url):
        assert await people.organizations() == []


async def test_two_processes_may_start_on_a_new_postgres_database(postgres_server: str):
    name = f"test_{uuid4().hex[:12]}"
    url = postgres_server.replace("test_{}", name)
    admin = await asyncpg.connect(url.replace("asyncpg://", "postgres://").replace(name, "postgres"))
    await admin.execute(f'CREATE DATABASE "{name}"')
    try:
        await asyncio.gather(*(asyncio.create_task(start(url)) for _ in range(4)))
        async with opened(url):
            assert await people.organizations() == []
    finally:
        await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await admin.close()


async def start(url: str) -> None:
    async with opened(url):
        await people.organizations()
