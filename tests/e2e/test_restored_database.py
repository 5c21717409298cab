"""The database of a running installation is replaced by an older one: nothing is started twice, nothing is hidden."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2

from tests.e2e.product import Product


def back_up(product: Product, to: Path) -> None:
    with closing(sqlite3.connect(product.data / "gpuyard.db")) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def restore(product: Product, backup: Path) -> None:
    """The app is down. What SQLite keeps beside the file belongs to the newer one."""
    for name in ("gpuyard.db-wal", "gpuyard.db-shm"):
        (product.data / name).unlink(missing_ok=True)
    shutil.copy(backup, product.data / "gpuyard.db")


def make_it_wait(backup: Path, workload_id: str) -> None:
    """As if the backup were of before it was placed."""
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("DELETE FROM attempts WHERE workload_id = ?", [workload_id])
        connection.execute(
            "UPDATE workloads SET status = 'pending', phase = 'queued', reason = 'submitted', attempt = 0, server = '',"
            " started_at = NULL, gpus = '[]' WHERE id = ?",
            [workload_id],
        )


async def orphans(product: Product) -> dict[str, Any]:
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
        body: dict[str, Any] = (await client.get(f"{product.facts['url']}/readyz")).json()
    found: dict[str, Any] = body["clusters"]["default"]["orphans"]
    return found


async def test_what_ran_on_is_adopted_and_what_is_unknown_is_told(fresh_product: Product, tmp_path: Path):
    await fresh_product.start()
    known = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
    running = await fresh_product.until(known["id"], status="RUNNING")
    backup = tmp_path / "backup.db"
    back_up(fresh_product, backup)
    make_it_wait(backup, known["id"])
    unknown = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
    await fresh_product.until(unknown["id"], status="RUNNING")
    fresh_product.kill()
    restore(fresh_product, backup)
    await fresh_product.start()
    adopted = await fresh_product.until(known["id"], status="RUNNING")
    assert (adopted["server"], adopted["startedAt"]) == (running["server"], running["startedAt"])
    await fresh_product.exit(known["id"], code=6)
    ended = await fresh_product.until(known["id"], status="COMPLETED")
    assert (ended["exitCode"], ended["gpus"], len(ended["attempts"])) == (6, running["gpus"], 1)
    async with asyncio.timeout(60):
        while True:
            if (told := await orphans(fresh_product))["count"]:
                break
            await asyncio.sleep(0.2)
    [found] = told["oldest"]
    assert (found["job"], found["kind"]) == (unknown["jobName"], "unknown_workload")
    assert found["removed_at"] > found["since"]
