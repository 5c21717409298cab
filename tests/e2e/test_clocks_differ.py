"""The whole app on a cluster whose clock is 10 minutes off: limits are kept, ends are told apart, readiness says it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bus import Bus
from app.clock import SystemClock
from app.commands.cancel_workload import cancel_workload
from app.commands.context import CommandContext
from app.config import Settings
from app.domain.agents import InventorySource
from app.domain.people import Organization, Principal, Role
from app.domain.states import Reason, Status
from app.domain.submission import Defaults
from app.domain.workload import Workload
from app.main import Application, running
from app.simcluster.server import running as simulated
from app.store import people, reads
from tests.store.builders import a_stored_workload

OFF = [pytest.param(600.0, id="10 min ahead"), pytest.param(-600.0, id="10 min behind")]
ENDLESS = {"env_vars": (("SIM_SECONDS", "600"),)}


@dataclass
class Installation:
    application: Application
    organization: Organization

    async def submit(self, **spec: Any) -> Workload:
        now = SystemClock().now()
        return await a_stored_workload(self.organization, created_at=now, queued_at=now, spec=spec)

    async def until(self, workload: Workload, *statuses: Status, seconds: float = 60) -> Workload:
        async with asyncio.timeout(seconds):
            while True:
                found = await reads.load_workload(workload.id)
                assert found is not None
                if found.status in statuses:
                    return found
                await asyncio.sleep(0.05)

    async def readiness(self) -> dict[str, Any]:
        transport = httpx2.ASGITransport(self.application.web)
        async with httpx2.AsyncClient(transport=transport, base_url="http://gpuyard") as client:
            body: dict[str, Any] = (await client.get("/readyz")).json()
        return body


@asynccontextmanager
async def installation(folder: Path, url: str, ahead: float) -> AsyncIterator[Installation]:
    async with simulated(folder / "cluster", clock=lambda: time.time() + ahead) as cluster:
        settings = Settings(
            database_url=url, kubeconfig=cluster.kubeconfig, resync=1, inventory=InventorySource.CLUSTER
        )
        async with running(settings, SystemClock()) as (application, _):
            now = SystemClock().now()
            made = await people.add_organization("acme", "Acme", enabled=True, is_default=True, at=now)
            await create_namespace(cluster.url, cluster.token)
            yield Installation(application, made)


async def create_namespace(url: str, token: str) -> None:
    async with httpx2.AsyncClient(
        verify=False, trust_env=False, headers={"authorization": f"Bearer {token}"}
    ) as client:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpuyard"}}
        await client.post(f"{url}/api/v1/namespaces", json=body)


@pytest.mark.parametrize("ahead", OFF)
async def test_limits_and_ends_are_right_and_the_difference_is_told(tmp_path: Path, sqlite_url: str, ahead: float):
    async with installation(tmp_path, sqlite_url, ahead) as it:
        limited = await it.submit(timeout_seconds=3, **ENDLESS)
        whole = await it.submit(timeout_seconds=600, env_vars=(("SIM_SECONDS", "4"), ("SIM_EXIT_CODE", "7")))
        cancelled = await it.submit(**ENDLESS)
        await it.until(cancelled, Status.RUNNING)
        principal = Principal("ada", {it.organization.id: Role.OWNER})
        await cancel_workload(CommandContext(SystemClock(), Bus(), Defaults()), principal, cancelled.id)
        assert (await it.until(cancelled, Status.CANCELLED, Status.COMPLETED)).status is Status.CANCELLED
        stopped = await it.until(limited, Status.TIMEOUT, Status.COMPLETED)
        assert stopped.reason is Reason.RUN_TIMEOUT
        assert stopped.started_at is not None
        assert stopped.completed_at is not None
        assert 3 <= (stopped.completed_at - stopped.started_at).total_seconds() < 60  # and not 600 off
        ended = await it.until(whole, Status.COMPLETED, Status.TIMEOUT)
        assert (ended.status, ended.exit_code) == (Status.COMPLETED, 7)
        clock = (await it.readiness())["clusters"]["default"]["clock"]
        assert abs(clock["ahead_seconds"] - ahead) <= 30
        assert "set the clock that is wrong" in clock["note"]
