"""Reads of GPUs that pages of many servers are made of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from agent.report import Health
from app.store import gpus, reads, reports, servers
from app.store.database import Database
from app.store.gpu_models import GpuRow
from app.store.gpus import Held, Mark
from app.store.writes import Change, apply_changes
from tests.clock import START
from tests.placement.builders import node
from tests.reports import XID_79, a_device, a_holder, a_report, an_inventory
from tests.store.builders import a_placed_workload, an_organization


@pytest.fixture
async def server(database: Database) -> UUID:
    await servers.record_nodes("default", [(node("gpu-1", 2), "acme"), (node("gpu-2", 2), "other")], START)
    found = await reports.find_server("default", "gpu-1")
    assert found is not None
    return found


async def tell(server: UUID, sequence: int, **changes: Any) -> None:
    at = START + timedelta(seconds=15 * sequence)
    await reports.keep_report("default", server, a_report(sequence, at=at, **changes), at, 90)


async def gpu_id(number: int) -> UUID:
    return (await GpuRow.get(uuid=f"GPU-{number:04}")).id


async def test_the_least_of_each_gpu_that_is_there(server: UUID):
    await tell(server, 1, inventory=an_inventory(3))
    await tell(server, 2, inventory=an_inventory(devices=(a_device(0), a_device(1, health=XID_79))))
    wanted = {Mark(await gpu_id(0), server, Health.OK), Mark(await gpu_id(1), server, Health.FAILED)}
    assert set(await gpus.marks_of([server])) == wanted
    assert await gpus.marks_of([]) == []


async def test_who_has_the_gpus_of_many_servers(server: UUID):
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    holders = (a_holder(f"{attempt.job_name}-x7k2p"), a_holder("notebook", 1))
    await tell(server, 1, inventory=an_inventory(), holders=holders)
    foreign = Held(await gpu_id(1), None, None)
    assert set(await gpus.held_on([server])) == {Held(await gpu_id(0), workload.id, 1), foreign}
    assert await reads.names_of([workload.id]) == {workload.id: (organization.id, workload.spec.name)}
    over = Change(workload, workload, attempt, replace(attempt, ended_at=START))
    assert await apply_changes(organization.id, [over], START) == [True]
    assert await gpus.held_on([server]) == [foreign], "the attempt is over, though no report said so yet"


async def test_a_gpu_is_found_by_who_has_its_server(server: UUID):
    await tell(server, 1, inventory=an_inventory(1))
    found = await gpus.find_gpu("acme", await gpu_id(0))
    assert found is not None
    assert (found[0].uuid, found[1].name) == ("GPU-0000", "gpu-1")
    assert await gpus.find_gpu("other", await gpu_id(0)) is None
    assert await gpus.find_gpu("acme", UUID(int=1)) is None
    assert await gpus.owners_of([await gpu_id(0), UUID(int=1)]) == {await gpu_id(0): "acme"}
    flags = found[1].flags
    assert await servers.write_flags(server, flags, replace(flags, assigned_to="other"))
    assert await gpus.owners_of([await gpu_id(0)]) == {await gpu_id(0): "other"}
    assert await gpus.find_gpu("acme", await gpu_id(0)) is None


async def test_the_history_is_read_page_by_page(server: UUID):
    for number in range(1, 5):
        await tell(server, number, inventory=an_inventory(1), holders=(a_holder(f"pod-{number}"),))
    pages = [await gpus.history_of(await gpu_id(0), 3, skip) for skip in (0, 3, 6)]
    assert [[it.pod for it in page] for page in pages] == [["pod-4", "pod-3", "pod-2"], ["pod-1"], []]
