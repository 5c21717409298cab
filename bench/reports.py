"""Whether the reports of 1,000 servers of 8 GPUs are kept as fast as they come, and what a GPU-day of samples takes.

Run `python -m bench.reports` (`--quick` for a glance). A `gpuyard serve` of its own, on PostgreSQL with its commits on
disk and then on SQLite, is sent reports over GraphQL as node agents send them, 32 at a time, as fast as it takes them:
first each server's inventory, then rounds of one sample a GPU and one a workload's pod, of which each server has two
(`--pods`), 15 s apart in time. The headline is the rate of the rounds, divided by the 1,000 reports in 15 s that are
needed (on SQLite by the demo's six servers). The second part stores days of samples, thins them out as the service
does, and divides what the database takes by GPUs and days.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop
from tortoise.connection import get_connection

from app.auth.secrets import hash_token, new_token
from app.commands.agent_tokens import create_agent_token
from app.domain.agents import AgentBinding
from app.domain.lifecycle import place
from app.domain.observed import ObservedNode
from app.domain.samples import AS_THEY_CAME, BY_MINUTE, BY_QUARTER, Reading
from app.store import mapping, people, samples, servers
from app.store.connection import transaction
from app.store.database import opened
from app.store.gpu_models import GpuRow, GpuSampleRow
from app.store.models import AttemptRow, WorkloadRow
from app.store.samples import Device
from bench._product import SERVE, in_parallel, process, simulated
from tests.postgres import find_programs, throw_away_server
from tests.store.builders import a_new_workload

GPUS, INTERVAL = 8, 15
CLUSTER = "bench"
DOCUMENT = (Path(__file__).parent.parent / "graphql/operations/agent/report_server.graphql").read_text()
DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True)
class Scale:
    servers: int
    rounds: int
    days: int
    pods: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pods", type=int, default=2, help="workloads on each server")
    options = parser.parse_args()
    programs = find_programs()
    if programs is None:
        raise SystemExit("no PostgreSQL here: run `make postgres`")
    with throw_away_server(programs) as port, tempfile.TemporaryDirectory() as folder:
        sizes = ((200, 2, 2), (6, 20, 2)) if options.quick else ((1000, 8, 5), (6, 200, 5))
        large, small = (Scale(*size, options.pods) for size in sizes)
        uvloop.run(run(f"postgres://postgres@127.0.0.1:{port}/postgres", large, 1000, Path(folder, "p"), "PostgreSQL"))
        uvloop.run(run(f"sqlite:///{folder}/s.db", small, 6, Path(folder, "s"), "SQLite"))


async def run(url: str, scale: Scale, needed_servers: int, folder: Path, name: str) -> None:
    folder.mkdir()
    token = new_token()
    async with opened(url):
        await prepare(scale, token, is_sqlite=url.startswith("sqlite"))
    async with serving(folder, url) as (address, pid):
        rate, core = await send_all(address, token, scale, pid)
    needed = needed_servers / INTERVAL
    print(f"{name}: {rate:.0f} reports/s handled ÷ {needed:.1f}/s needed = {rate / needed:.1f} (aim: at least 1)")
    print(f"{name}: a report takes the service {core * 1000:.1f} ms of a core, so a free one does for {1 / core:.0f}/s")
    async with opened(url):
        await storage(scale.days, name, is_sqlite=url.startswith("sqlite"))


async def prepare(scale: Scale, token: str, *, is_sqlite: bool) -> None:
    now = datetime.now(UTC)
    await servers.record_nodes(CLUSTER, [(a_node(number), "bench") for number in range(scale.servers)], now)
    await create_agent_token(AgentBinding(CLUSTER), hash_token(token), now)
    await place_workloads(scale, now)
    if not is_sqlite:
        connection = get_connection("asyncpg")
        for setting in DURABLE:
            await connection.execute_script(f"ALTER SYSTEM SET {setting} = on")
        await connection.execute_script("SELECT pg_reload_conf()")


async def place_workloads(scale: Scale, now: datetime) -> None:
    organization = await people.add_organization("bench", "Bench", enabled=True, is_default=True, at=now)
    made = [a_new_workload(organization) for _ in range(scale.servers * scale.pods)]
    placed = [
        place(workload, f"gpu-{n // scale.pods}", "nvidia.com/gpu", now, CLUSTER) for n, workload in enumerate(made)
    ]
    await WorkloadRow.bulk_create([WorkloadRow(**mapping.workload_values(it.workload)) for it in placed], 500)
    attempts = [
        replace(it.attempt, pod_uid=pod_uid(*divmod(n, scale.pods))) for n, it in enumerate(placed) if it.attempt
    ]
    await AttemptRow.bulk_create([AttemptRow(**mapping.attempt_values(it)) for it in attempts], 500)


def pod_uid(server: int, number: int) -> str:
    return f"{server:08}-{number:04}-4000-8000-000000000000"


def a_node(number: int) -> ObservedNode:
    gpus = (("nvidia.com/gpu", GPUS),)
    return ObservedNode(f"gpu-{number}", "", True, False, (), (), "", 64_000, 2**39, gpus, gpus)


@asynccontextmanager
async def serving(folder: Path, url: str) -> AsyncIterator[tuple[str, int]]:
    """Address and process id of a service whose own cluster is small: it places nothing here."""
    async with simulated(folder, [], {}) as kubeconfig:
        # No limit: here the six servers of the demo send as many reports as hundreds would.
        settings = {"GPUYARD_KUBECONFIG": str(kubeconfig), "GPUYARD_PORT": "0", "GPUYARD_RATE_LIMIT": "0"}
        environment = {"GPUYARD_DATABASE_URL": url, **settings}
        log = folder / "serve.log"
        with process([sys.executable, *SERVE], environment, log) as pid:
            async with asyncio.timeout(60):
                while "GPUYard serves " not in log.read_text():
                    await asyncio.sleep(0.05)
            yield log.read_text().partition("GPUYard serves ")[2].split()[0], pid


async def send_all(address: str, token: str, scale: Scale, pid: int) -> tuple[float, float]:
    """Reports a second, of those with samples alone, and seconds of a core that each took the service."""
    began = datetime.now(UTC) - timedelta(seconds=scale.rounds * INTERVAL)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    async with aiohttp.ClientSession(address, headers=headers, trust_env=False) as session:

        async def send(number: int, sequence: int) -> None:
            body = a_report(number, sequence, began, scale.pods)
            async with session.post("/graphql", data=orjson.dumps(body)) as answer:
                receipt = (await answer.json()).get("data", {}).get("reportServer")
            if not receipt or receipt["isLate"] or receipt["wantsEverything"] or len(receipt["podUids"]) != scale.pods:
                raise SystemExit(f"the report was not taken: {receipt}")

        await in_parallel(scale.servers, lambda number: send(number, 0))
        since, used = time.monotonic(), core_seconds(pid)
        for sequence in range(1, scale.rounds + 1):
            await in_parallel(scale.servers, _round(send, sequence))
        count = scale.servers * scale.rounds
        return count / (time.monotonic() - since), (core_seconds(pid) - used) / count


def core_seconds(pid: int) -> float:
    """Of all its threads so far, in user and kernel mode (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _round(send: Callable[[int, int], Awaitable[None]], sequence: int) -> Callable[[int], Awaitable[None]]:
    return lambda number: send(number, sequence)


def a_report(number: int, sequence: int, began: datetime, pods: int) -> dict[str, Any]:
    """The first has the inventory, all others one sample of each GPU and pod."""
    at = (began + timedelta(seconds=sequence * INTERVAL)).isoformat()
    uuids = [f"GPU-{number:04}-{index}-0000-0000-000000000000" for index in range(GPUS)]
    devices = [{"uuid": uuid, "index": index, "product": "NVIDIA H100"} for index, uuid in enumerate(uuids)]
    numbers = {"utilization": 87.0, "memoryUsedMib": 71234, "powerWatts": 612.5, "temperature": 61, "smClockMhz": 1755}
    report = {
        "node": f"gpu-{number}",
        "bootId": "boot",
        "agentVersion": "bench",
        "agentId": f"agent-{number}",
        "startedAt": began.isoformat(),
        "sequence": sequence,
        "sentAt": datetime.now(UTC).isoformat(),
    }
    told = {"samples": [{"device": uuid, "at": at, **numbers} for uuid in uuids]}
    if pods:
        used = {"cpuCores": 3.141, "memoryMib": 23456}
        told["podSamples"] = [{"podUid": pod_uid(number, n), "at": at, **used} for n in range(pods)]
    whole = {"inventory": {"state": "OK", "devices": devices}, "holders": []}
    return {"query": DOCUMENT, "variables": {"input": {**report, **(told if sequence else whole)}}}


async def storage(days: int, name: str, *, is_sqlite: bool) -> None:
    """Bytes that a GPU-day takes, with its indexes, as it came and thinned out."""
    await GpuSampleRow.all().delete()
    gpus = [row.id for row in await GpuRow.all().limit(20)]
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    for gpu in gpus:
        for day in range(days):
            await a_day(Device(gpu), start + timedelta(days=day))
    taken = [await size(is_sqlite=is_sqlite) / len(gpus) / days]
    later = start + timedelta(days=days)
    for step in ((AS_THEY_CAME, BY_MINUTE), (BY_MINUTE, BY_QUARTER)):
        while await samples.GPUS.thin_out(later, *step, 20):
            pass
        taken.append(await size(is_sqlite=is_sqlite) / len(gpus) / days)
    whole, minutes, quarters = (f"{it / 1024:.1f} KiB" for it in taken)
    print(f"{name}: a GPU-day takes {whole} at {INTERVAL} s, {minutes} by minute, {quarters} by quarter of an hour")


async def a_day(device: Device, day: datetime) -> None:
    readings = [
        Reading(day + timedelta(seconds=s), s % 101, 70_000 + s % 900, 600.0 + s % 37, 60, 1755)
        for s in range(0, 86_400, INTERVAL)
    ]
    async with transaction() as connection:
        await samples.GPUS.append(connection, {device: readings})


async def size(*, is_sqlite: bool) -> float:
    """Of the table and its indexes, without what deleted rows have left."""
    connection = get_connection("sqlite" if is_sqlite else "asyncpg")
    if is_sqlite:
        query = "SELECT sum(pgsize) AS n FROM dbstat WHERE name LIKE '%gpu_samples%'"
        await connection.execute_script("VACUUM")
    else:
        query = "SELECT pg_total_relation_size('gpu_samples') AS n"
        await connection.execute_script("VACUUM FULL gpu_samples")
    [row] = await connection.execute_query_dict(query)
    return float(row["n"])


if __name__ == "__main__":
    main()
