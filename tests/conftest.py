"""Fixtures for every kind of test. Each test that touches a database gets one of its own, made by our migrations."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from app.store.database import Database, opened
from tests.clock import ManualClock

pytest_plugins = ["tests.postgres"]


def pytest_configure() -> None:
    """No loop for tests that need none: asyncio would make one in passing, and nobody would close it."""
    asyncio.set_event_loop(None)


# A busy machine is no fault of an example: time limits are pytest's, for the whole test.
settings.register_profile("gpuyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", settings.get_profile("gpuyard"), max_examples=2000)
settings.load_profile("gpuyard")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty, migrated SQLite file to copy: migrating anew for each test would be most of the run."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    asyncio.run(Database(f"sqlite:///{path}").migrate())
    return path


@pytest.fixture
def sqlite_url(migrated_sqlite: Path, tmp_path: Path) -> str:
    path = tmp_path / "test.db"
    shutil.copy(migrated_sqlite, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a migrated, empty PostgreSQL database to copy."""
    name = f"template_{uuid4().hex[:12]}"
    admin = postgres_server.replace("test_{}", "postgres").replace("asyncpg://", "postgres://")

    async def make() -> None:
        connection = await asyncpg.connect(admin)
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()
        await Database(postgres_server.replace("test_{}", name)).migrate()

    asyncio.run(make())
    return name


@pytest.fixture
async def postgres_copy(postgres_server: str, postgres_template: str) -> AsyncIterator[str]:
    """The URL of a fresh copy of the migrated database, dropped afterwards."""
    name = f"test_{uuid4().hex[:12]}"
    admin = postgres_server.replace("test_{}", "postgres").replace("asyncpg://", "postgres://")
    connection = await asyncpg.connect(admin)
    await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{postgres_template}"')
    yield postgres_server.replace("test_{}", name)
    await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_copy")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open database, once on SQLite and once on PostgreSQL."""
    async with opened(database_url) as database:
        yield database
