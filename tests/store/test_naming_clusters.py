"""Rows from before clusters had names: an upgrade keeps every one, and they get the name that the settings give."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest
from tortoise.connection import get_connection
from tortoise.context import TortoiseContext
from tortoise.exceptions import IntegrityError
from tortoise.migrations.api import migrate

from app.store import clusters, reads, servers
from app.store.database import APP, Database, normalize_url, opened, tortoise_config
from app.store.models import ClusterServerRow
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import a_placed_workload, a_stored_workload, an_organization

PROCESS = '{"env_vars": [], "command": [], "args": []}'
BEFORE = "0006_installation"
ORGANIZATION, SERVER, PLACED, WAITING = (UUID(int=number) for number in range(1, 5))
AT = "2026-01-01 10:00:00+00:00"


@pytest.fixture
async def new_postgres(postgres_server: str) -> AsyncIterator[str]:
    name = f"test_{uuid4().hex[:12]}"
    admin = await asyncpg.connect(postgres_server.replace("test_{}", "postgres").replace("asyncpg://", "postgres://"))
    await admin.execute(f'CREATE DATABASE "{name}"')
    yield postgres_server.replace("test_{}", name)
    await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await admin.close()


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database without any table."""
    url: str = (
        request.getfixturevalue("new_postgres") if request.param == "postgres" else f"sqlite:///{tmp_path}/old.db"
    )
    return url


@pytest.fixture
async def older(empty_url: str) -> str:
    """The database as the version before left it, with a server, a workload placed there, and one that waits."""
    config = tortoise_config(normalize_url(empty_url).replace("foreign_keys=ON", "foreign_keys=OFF"))
    async with TortoiseContext():
        await migrate(config=config, target=f"{APP}.{BEFORE}")
        connection = get_connection(config["apps"][APP]["default_connection"])
        for statement in rows():
            await connection.execute_script(statement)
    return empty_url


def rows() -> list[str]:
    tenant = {"id": ORGANIZATION, "slug": "acme", "name": "Acme", "created_at": AT, "event_sequence": 0}
    seen = {"first_seen_at": AT, "last_seen_at": AT}
    kind = {"gpu_total": 8, "gpu_largest": 8, "product": "H100", "driver": "580", "facts": "{}"}
    unknown = dict.fromkeys(
        ("job_uid", "pod_name", "pod_uid", "waiting_reason", "waiting_message", "termination", "message"), ""
    )
    attempt = {"id": UUID(int=9), "workload_id": PLACED, "number": 1, "placed_at": AT, "gpus": "[]"}
    return [
        insert("organizations", tenant | {"gpu_workloads_enabled": True, "is_default": True}),
        insert("servers", {"id": SERVER, "name": "gpu-1", "organization_slug": "acme", **kind, **seen}),
        workload(PLACED, phase="running", status="running", attempt=1, server="gpu-1"),
        workload(WAITING, phase="queued", status="pending", attempt=0, server=""),
        insert("attempts", {**attempt, **unknown, "server": "gpu-1", "gpu_resource": "nvidia.com/gpu"}),
    ]


def workload(id_: UUID, **state: str | int) -> str:
    asked = {
        "name": "train",
        "image": "busybox",
        "gpu_count": 1,
        "cpu_millis": 1,
        "memory_bytes": 1,
        "process": PROCESS,
    }
    limits = {"timeout_seconds": 60, "start_timeout_seconds": 60, "max_retries": 0, "retries_used": 0}
    words = {"submitted_by": "ada", "fingerprint": "f", "cancelled_by": "", "reason": "placed", "message": "m"}
    rest = {"version": 1, "created_at": AT, "queued_at": AT, "avoid_servers": "[]", "gpus": "[]"}
    return insert(
        "workloads", {"id": id_, "organization_id": ORGANIZATION, **asked, **limits, **words, **rest, **state}
    )


def insert(table: str, values: Mapping[str, object]) -> str:
    """With literals, which both databases read as the column's type."""
    shown = (str(value) if isinstance(value, int) else f"'{value}'" for value in values.values())
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(shown)});"  # noqa: S608 — all from above


async def test_an_upgrade_keeps_what_is_on_record(older: str):
    async with opened(older):
        [row] = await ClusterServerRow.all()
        kept = (row.id, row.cluster, row.name, row.organization_slug, row.product, row.gpu_largest, row.gone_at)
        assert kept == (SERVER, "", "gpu-1", "acme", "H100", 8, None)
        assert [(a.cluster, a.server) for a in await reads.attempts_of([PLACED])] == [("", "gpu-1")]


async def test_the_rows_get_the_name_once(older: str):
    async with opened(older):
        await clusters.name_rows("berlin")
        await clusters.name_rows("munich")
        [record] = await servers.servers_of("acme")
        [attempt] = await reads.attempts_of([PLACED])
        found = await reads.workloads_by_id([PLACED, WAITING])
    assert (record.id, record.cluster, attempt.cluster) == (SERVER, "berlin", "berlin")
    assert (found[PLACED].cluster, found[WAITING].cluster) == ("berlin", "")


async def test_a_node_that_is_seen_again_is_the_server_on_record(older: str):
    async with opened(older):
        await clusters.name_rows("berlin")
        await servers.record_nodes("berlin", [(node("gpu-1"), "acme")], START)
        assert [record.id for record in await servers.servers_of("acme")] == [SERVER]


async def test_clusters_may_have_servers_of_the_same_name(database: Database):
    await servers.record_nodes("berlin", [(node("gpu-1", 4), "acme"), (node("gpu-2"), "acme")], START)
    await servers.record_nodes("munich", [(node("gpu-1", 8), "acme")], START)
    await servers.record_nodes("berlin", [(node("gpu-1", 4), "acme")], START)
    found = [(r.cluster, r.name, r.gpu_total, r.gone_at) for r in await servers.servers_of("acme")]
    assert found == [("berlin", "gpu-1", 4, None), ("munich", "gpu-1", 8, None), ("berlin", "gpu-2", 8, START)]
    row = await ClusterServerRow.get(cluster="munich")
    with pytest.raises(IntegrityError):
        await ClusterServerRow.filter(id=row.id).update(cluster="berlin")


async def test_what_was_there_in_some_clusters(database: Database):
    await servers.record_nodes("berlin", [(node("gpu-1"), "acme"), (node("gpu-2"), "acme")], START)
    await servers.record_nodes("berlin", [(node("gpu-1"), "acme")], START)
    await servers.record_nodes("munich", [(node("gpu-3"), "acme")], START)
    [record] = await servers.servers_in(["berlin", "nowhere"])
    assert (record.name, record.cpu_millis, record.memory_bytes) == ("gpu-1", 64_000, 512 * 2**30)


async def test_servers_of_clusters_that_are_no_longer_named_are_gone(database: Database):
    await servers.record_nodes("berlin", [(node("gpu-1"), "acme")], START)
    await servers.record_nodes("munich", [(node("gpu-2"), "acme")], START)
    await clusters.retire_servers(["munich"], START)
    assert [(r.name, r.gone_at) for r in await servers.servers_of("acme")] == [("gpu-1", START), ("gpu-2", None)]


async def test_the_last_contact_is_remembered(database: Database):
    assert await clusters.last_contacts() == {}
    await clusters.record_contact("berlin", START)
    await clusters.record_contact("munich", START)
    await clusters.record_contact("berlin", START.replace(year=2027))
    assert await clusters.last_contacts() == {"berlin": START.replace(year=2027), "munich": START}


async def test_what_is_to_be_looked_at_is_told_with_its_cluster(database: Database):
    organization = await an_organization()
    await a_stored_workload(organization)
    placed, _ = await a_placed_workload(organization)
    assert await reads.attempts_to_reconcile() == [("default", placed.id)]
