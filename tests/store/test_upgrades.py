"""A database of every earlier schema, with rows in it, upgraded to the present one: nothing is lost or changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.context import TortoiseContext
from tortoise.migrations.api import migrate
from tortoise.models import Model

from app.domain.agents import AgentBinding
from app.domain.quota import NO_QUOTA, Quota
from app.domain.server import NO_FLAGS, Cordon
from app.domain.workload import Attempt, Workload
from app.store import agent_tokens, logs, managing, mapping, people, reads, servers
from app.store.database import APP, normalize_url, opened, tortoise_config
from app.store.logs import StoredLog
from app.store.models import AttemptRow, ClusterServerRow, OrganizationRow, ProjectRow, TokenRow, WorkloadRow
from tests.clock import START
from tests.store.full import a_full_attempt, a_full_workload

FOLDER = Path(mapping.__file__).parent / "migrations"
SECRET = "5" * 64
EARLIER = sorted(path.stem for path in FOLDER.glob("0*.py"))[:-1]


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/old.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


async def insert(connection: BaseDBAsyncClient, model: type[Model], values: dict[str, Any]) -> None:
    """A row of the columns that the table has by now."""
    table = model._meta.db_table
    is_sqlite = connection.capabilities.dialect == "sqlite"
    query = (
        f"PRAGMA table_info({table})"
        if is_sqlite
        else (
            f"SELECT column_name AS name FROM information_schema.columns WHERE table_name = '{table}'"  # noqa: S608
        )
    )
    columns = {row["name"] for row in (await connection.execute_query(query))[1]}
    row = {name: value for name, value in values.items() if name in columns}
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" if is_sqlite else f"${i}" for i in range(1, len(row) + 1))
    found = [model._meta.fields_map[name].to_db_value(value, model) for name, value in row.items()]
    statement = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 — names of our own columns
    await connection.execute_query(statement, found)


async def fill(url: str, schema: str) -> tuple[Workload, Attempt]:
    """A database as it was then, with an organization, a workload and its ended attempt."""
    workload = a_full_workload(uuid4(), uuid4(), None)
    attempt = a_full_attempt(Attempt(workload.id, 1, "gpu-1", "nvidia.com/gpu", placed_at=START))
    config = tortoise_config(normalize_url(url))
    async with TortoiseContext() as context:
        await migrate(config=config, target=f"{APP}.{schema}")
        connection = context.connections.get(config["apps"][APP]["default_connection"])
        organization = {
            "id": workload.organization_id,
            "slug": "acme",
            "name": "Acme",
            "gpu_workloads_enabled": True,
            "is_default": True,
            "event_sequence": 7,
            "created_at": START,
        }
        await insert(connection, OrganizationRow, organization)
        await insert(connection, WorkloadRow, mapping.workload_values(workload))
        await insert(connection, AttemptRow, {"id": uuid4(), **mapping.attempt_values(attempt)})
        token = {"id": uuid4(), "secret_hash": SECRET, "name": "ci", "organization_id": workload.organization_id}
        await insert(connection, TokenRow, {**token, "role": "owner", "scopes": [], "created_at": START})
    return workload, attempt


@pytest.fixture(params=EARLIER)
async def upgraded(request: pytest.FixtureRequest, empty_url: str) -> AsyncIterator[tuple[Workload, Attempt]]:
    rows = await fill(empty_url, request.param)
    async with opened(empty_url):
        yield rows


async def test_what_was_there_is_there(upgraded: tuple[Workload, Attempt]):
    workload, attempt = upgraded
    found = await reads.load_workload(workload.id)
    assert found is not None
    for name in ("organization_id", "status", "phase", "reason", "message", "version", "exit_code", "gpus", "server"):
        assert getattr(found, name) == getattr(workload, name), name
    for name in ("image", "resources", "env_vars", "command", "args", "timeout_seconds", "idempotency_key"):
        assert getattr(found.spec, name) == getattr(workload.spec, name), name
    [kept] = await reads.attempts_of([workload.id])
    for name in ("server", "exit_code", "termination", "finished_at", "ended_at", "cleaned_at", "pod_uid", "gpus"):
        assert getattr(kept, name) == getattr(attempt, name), name


async def test_what_came_later_can_be_used(upgraded: tuple[Workload, Attempt]):
    """An attempt from before logs were kept has none, and can still be given one."""
    workload, attempt = upgraded
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert principal.agent is None
    await agent_tokens.add_agent_token("6" * 64, "a", AgentBinding("default", "gpu-1"), START)
    assert await logs.find_log(workload.id, 1) is None
    await logs.secure_log(attempt, StoredLog(b"x"), START)
    [kept] = await reads.attempts_of([workload.id])
    assert kept.log_taken_at in (None, attempt.log_taken_at)


async def test_a_server_from_before_flags_has_none_and_can_be_given_some(empty_url: str):
    config = tortoise_config(normalize_url(empty_url))
    values = {"id": uuid4(), "cluster": "default", "name": "gpu-1", "organization_slug": "acme", "facts": {}}
    stamps = {"first_seen_at": START, "last_seen_at": START, "product": "", "driver": ""}
    async with TortoiseContext() as context:
        await migrate(config=config, target=f"{APP}.0009_attempt_namespace")
        connection = context.connections.get(config["apps"][APP]["default_connection"])
        row = {**values, **stamps, "gpu_total": 8, "gpu_largest": 8}
        await insert(connection, ClusterServerRow, row)
    async with opened(empty_url):
        [record] = await servers.servers_of("acme")
        assert (record.id, record.flags) == (row["id"], NO_FLAGS)
        assert await servers.largest_server("acme") == ("gpu-1", 8)
        assert await servers.write_flags(record.id, record.flags, record.flags.cordoned(Cordon("acme", "ada", START)))
        assert [it.flags.version for it in await servers.servers_of("acme")] == [2]


async def test_a_project_from_before_quotas_has_none_and_can_be_given_one(empty_url: str):
    config = tortoise_config(normalize_url(empty_url))
    owner = uuid4()
    organization = {"id": owner, "slug": "acme", "name": "Acme", "gpu_workloads_enabled": True, "event_sequence": 0}
    project = {"id": uuid4(), "organization_id": owner, "slug": "vision", "name": "Vision"}
    async with TortoiseContext() as context:
        await migrate(config=config, target=f"{APP}.0015_pod_samples")
        connection = context.connections.get(config["apps"][APP]["default_connection"])
        await insert(connection, OrganizationRow, {**organization, "is_default": True, "created_at": START})
        await insert(connection, ProjectRow, {**project, "version": 3, "created_at": START})
    async with opened(empty_url):
        [found] = await people.projects_of(owner)
        assert (found.id, found.version, found.quota) == (project["id"], 3, NO_QUOTA)
        changed = await managing.set_quota(found.id, Quota(0, 8), 3)
        assert changed is not None
        assert (changed.version, changed.quota) == (4, Quota(0, 8))
        assert await managing.set_quota(found.id, NO_QUOTA, 3) is None
