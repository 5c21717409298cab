"""What is kept of agents' reports: state, devices, holders, samples; and what late ones change."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from agent.report import DriverState, Report
from app.domain.samples import BY_MINUTE, BY_QUARTER, PodReading
from app.store import reports, samples, servers
from app.store.database import Database
from app.store.gpu_models import GpuHolderRow, GpuRow, GpuSampleRow, PodSampleRow, ServerAgentRow
from app.store.reports import Kept
from app.store.samples import Device, Run
from tests.clock import START
from tests.placement.builders import node
from tests.reports import XID_79, a_device, a_holder, a_mig_device, a_pod_sample, a_report, a_sample, an_inventory
from tests.store.builders import a_placed_workload, an_organization, with_a_pod


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
async def server(database: Database) -> UUID:
    await servers.record_nodes("default", [(node("gpu-1", 2), "acme"), (node("gpu-2", 2), "acme")], START)
    found = await reports.find_server("default", "gpu-1")
    assert found is not None
    return found


async def keep(server: UUID, report: Report, at: datetime | None = None) -> Kept:
    return await reports.keep_report("default", server, report, at or report.sent_at, 90)


async def a_gpu(number: int = 0) -> GpuRow:
    return await GpuRow.get(uuid=f"GPU-{number:04}")


async def test_servers_are_found_by_cluster_and_name(server: UUID):
    assert await reports.find_server("other", "gpu-1") is None
    assert await reports.find_server("default", "gpu-7") is None


async def test_the_first_report_is_kept_whole(server: UUID):
    kept = await keep(server, a_report(inventory=an_inventory(), holders=(), sent_at=after(-30)), START)
    assert kept == Kept(changed_devices=True)
    agent = await ServerAgentRow.get(server_id=server)
    assert (agent.agent_id, agent.sequence, agent.skew_seconds) == ("agent-1", 1, -30)
    assert (agent.driver_state, agent.driver_version, agent.gpus_offered, agent.gpus_failed) == ("ok", "570.86", 2, 0)
    gpu = await a_gpu(1)
    assert (gpu.product, gpu.memory_mib, gpu.health, gpu.gone_at) == ("NVIDIA H100", 81559, "ok", None)
    assert gpu.facts["compute_capability"] == "9.0"


async def test_without_an_inventory_everything_is_wanted(server: UUID):
    assert (await keep(server, a_report())).wants_everything
    assert not (await keep(server, a_report(2, inventory=an_inventory()))).wants_everything
    assert not (await keep(server, a_report(3))).wants_everything
    other = a_report(1, agent_id="agent-2", started_at=after(5))
    assert (await keep(server, other)).wants_everything, "a process that nobody knows has told nothing yet"


async def test_samples_of_an_unknown_device_ask_for_the_inventory(server: UUID):
    await keep(server, a_report(1, inventory=an_inventory()))
    assert (await keep(server, a_report(2, samples=(a_sample(9),)))).wants_everything


async def test_a_late_report_changes_nothing_but_adds_its_samples(server: UUID):
    await keep(server, a_report(5, inventory=an_inventory()))
    late = a_report(4, inventory=an_inventory(1), holders=(a_holder("p"),), samples=(a_sample(at=after(-15)),))
    assert await keep(server, late) == Kept(is_late=True)
    assert (await ServerAgentRow.get(server_id=server)).sequence == 5
    assert (await a_gpu(1)).gone_at is None
    assert await GpuHolderRow.all().count() == 0
    assert await GpuSampleRow.all().count() == 1


async def test_reports_that_come_at_once_share_a_transaction_and_keep_their_order(server: UUID):
    other = await reports.find_server("default", "gpu-2")
    assert other is not None
    whole = [keep(server, a_report(n, inventory=an_inventory(n))) for n in (1, 2, 3)]
    kept = await asyncio.gather(*whole, keep(other, a_report(1, inventory=an_inventory(1))))
    assert not any(it.is_late for it in kept)
    assert await GpuRow.filter(server_id=server, gone_at=None).count() == 3
    assert await GpuRow.filter(server_id=other).count() == 1, "the same UUID on another server is another device"


async def test_a_device_goes_and_comes_back(server: UUID):
    await keep(server, a_report(1, inventory=an_inventory(2)))
    before = await a_gpu(1)
    assert (await keep(server, a_report(2, inventory=an_inventory(1), at=after(15)))).changed_devices
    assert (await a_gpu(1)).gone_at == after(15)
    await keep(server, a_report(3, inventory=an_inventory(2)))
    again = await a_gpu(1)
    assert (again.id, again.gone_at, again.first_seen_at) == (before.id, None, START)


@pytest.mark.parametrize(
    ("state", "gone"), [(DriverState.MISMATCH, False), (DriverState.NO_LIBRARY, False), (DriverState.NO_GPU, True)]
)
async def test_a_broken_driver_offers_nothing_and_takes_no_device_off_the_record(
    server: UUID, state: DriverState, gone: bool
):
    await keep(server, a_report(1, inventory=an_inventory(2)))
    kept = await keep(server, a_report(2, inventory=an_inventory(0, state=state, message="no luck")))
    agent = await ServerAgentRow.get(server_id=server)
    assert kept.changed_devices
    assert (agent.driver_state, agent.driver_message, agent.gpus_offered) == (state.value, "no luck", 0)
    assert ((await a_gpu(1)).gone_at is not None) == gone


async def test_a_failed_device_is_told_once_and_not_offered(server: UUID):
    failed = an_inventory(devices=(a_device(0), a_device(1, health=XID_79)))
    await keep(server, a_report(1, inventory=an_inventory()))
    kept = await keep(server, a_report(2, inventory=failed))
    assert [(it.uuid, it.reason, it.message) for it in kept.failed] == [("GPU-0001", "off_the_bus", "fell off the bus")]
    gpu, agent = await a_gpu(1), await ServerAgentRow.get(server_id=server)
    assert (gpu.health, gpu.health_since, gpu.xid) == ("failed", START, 79)
    assert (agent.gpus_offered, agent.gpus_failed) == (1, 1)
    assert (await keep(server, a_report(3, inventory=failed))).failed == ()


async def test_a_device_in_mig_mode_is_no_whole_gpu_but_its_slices_have_samples(server: UUID):
    mig = an_inventory(devices=(a_mig_device(0), a_device(1)))
    await keep(server, a_report(1, inventory=mig, samples=(a_sample(device="MIG-0-1"), a_sample(0))))
    gpu = await a_gpu()
    assert (await ServerAgentRow.get(server_id=server)).gpus_offered == 1
    devices = [Device(gpu.id), Device(gpu.id, "MIG-0-1")]
    assert set(await samples.GPUS.readings_of(devices, START, after(1))) == set(devices)


async def test_samples_are_appended_read_in_order_and_counted_once(server: UUID):
    first = tuple(a_sample(at=after(-s), utilization=float(s % 100)) for s in range(0, 1200, 15))
    await keep(server, a_report(1, inventory=an_inventory(), samples=first))
    await keep(server, a_report(2, samples=(*first[:5], a_sample(at=after(15), utilization=None)), at=after(15)))
    [found] = (await samples.GPUS.readings_of([Device((await a_gpu()).id)], after(-3600), after(60))).values()
    assert [it.at for it in found] == [after(15 - 15 * n) for n in range(80, -1, -1)]
    assert found[-1].utilization is None
    assert await GpuSampleRow.all().count() == 3


async def test_samples_are_put_to_our_clock_and_old_ones_left_out(server: UUID):
    """The node is an hour behind: what it calls an hour ago is now."""
    sent = after(-3600)
    taken = (a_sample(at=sent), a_sample(at=sent - timedelta(days=2)), a_sample(at=sent + timedelta(hours=2)))
    await keep(server, a_report(1, inventory=an_inventory(), samples=taken, sent_at=sent), START)
    [found] = (await samples.GPUS.readings_of([Device((await a_gpu()).id)], after(-90000), after(90000))).values()
    assert [it.at for it in found] == [START]


async def test_a_flood_of_samples_stays_small(server: UUID):
    await keep(server, a_report(1, inventory=an_inventory()))
    flood = tuple(a_sample(at=START) for _ in range(4000))
    for n in range(2, 6):
        await keep(server, a_report(n, samples=flood))
    assert len((await GpuSampleRow.get()).data) <= 4000 * 12


async def test_who_has_a_device_from_when_to_when(server: UUID):
    holders = (a_holder("train"), a_holder("other", 1, pod_uid="u"))
    await keep(server, a_report(1, inventory=an_inventory(), holders=holders))
    await keep(server, a_report(2, holders=holders[1:], at=after(15)))
    await keep(server, a_report(3, at=after(30)))
    rows = {row.pod: (row.since, row.until, row.workload_id) for row in await GpuHolderRow.all()}
    assert rows == {"train": (START, after(15), None), "other": (START, None, None)}


async def test_a_holder_is_the_attempt_that_is_placed_there_and_nobody_elses(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    ours = a_holder(f"{attempt.job_name}-x7k2p")
    pretended = replace(a_holder(f"gw-{'0' * 32}-1-abcde"), device="GPU-0001")
    await keep(server, a_report(1, inventory=an_inventory(), holders=(ours, pretended)))
    found = {row.pod: (row.workload_id, row.attempt) for row in await GpuHolderRow.all()}
    assert found == {ours.pod: (workload.id, 1), pretended.pod: (None, None)}
    other = await reports.find_server("default", "gpu-2")
    assert other is not None
    await keep(other, a_report(1, inventory=an_inventory(), holders=(ours,)))
    stolen = await GpuHolderRow.filter(gpu__server_id=other).get()
    assert stolen.workload_id is None, "another server can't say that it has it"


async def test_where_the_agent_knows_only_a_pods_uid_that_says_whose_it_is(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    await with_a_pod(workload, attempt)
    ours, foreign = (a_holder("", n, namespace="", pod_uid=uid) for n, uid in enumerate(("uid-1", "uid-2")))
    await keep(server, a_report(1, inventory=an_inventory(), holders=(ours, foreign)))
    found = {row.pod_uid: row.workload_id for row in await GpuHolderRow.all()}
    assert found == {"uid-1": workload.id, "uid-2": None}


async def used(run: Run) -> list[PodReading]:
    found = await samples.PODS.readings_of([run], after(-90000), after(90000))
    return found.get(run, [])


async def test_what_the_pods_of_a_server_use_is_asked_for_and_kept(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    assert (await keep(server, a_report(1))).pod_uids == (), "nobody has seen its pod yet"
    await with_a_pod(workload, attempt)
    assert (await keep(server, a_report(2))).pod_uids == ("uid-1",)
    taken = (a_pod_sample(), a_pod_sample(at=after(15), cores=None), a_pod_sample("uid-2"))
    await keep(server, a_report(3, pod_samples=taken, at=after(15)))
    assert await used(Run(workload.id, 1)) == [PodReading(START, 1.5, 2048), PodReading(after(15), None, 2048)]
    assert await PodSampleRow.all().count() == 1, "a pod that is no workload's is nobody's business"


async def test_another_server_says_nothing_of_a_pod(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    await with_a_pod(workload, attempt)
    other = await reports.find_server("default", "gpu-2")
    assert other is not None
    kept = await keep(other, a_report(1, node="gpu-2", pod_samples=(a_pod_sample(),)))
    assert (kept.pod_uids, await used(Run(workload.id, 1))) == ((), [])


async def test_late_repeated_and_backward_samples_of_pods_count_once(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    await with_a_pod(workload, attempt)
    await keep(server, a_report(5, pod_samples=(a_pod_sample(at=after(30), cores=3),), at=after(30)))
    late = a_report(4, pod_samples=(a_pod_sample(at=after(15), cores=2), a_pod_sample()), at=after(30))
    assert (await keep(server, late)).is_late
    await keep(server, replace(late, sequence=3))
    assert [it.cpu_cores for it in await used(Run(workload.id, 1))] == [1.5, 2, 3]


async def test_samples_of_a_pod_that_is_over_are_still_its_attempts(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    await with_a_pod(workload, attempt, ended_at=after(5), cleaned_at=after(9))
    kept = await keep(server, a_report(1, pod_samples=(a_pod_sample(),), at=after(20)))
    assert kept.pod_uids == ()
    assert len(await used(Run(workload.id, 1))) == 1


async def test_old_samples_of_pods_are_thinned_out_too(server: UUID):
    workload, attempt = await a_placed_workload(await an_organization())
    await with_a_pod(workload, attempt)
    taken = tuple(a_pod_sample(at=after(-s), cores=4.0) for s in range(0, 7200, 15))
    await keep(server, a_report(1, pod_samples=taken))
    tomorrow = START + timedelta(days=1)
    assert await samples.PODS.thin_out(tomorrow, 0, BY_MINUTE, 10) == 9
    assert await samples.PODS.thin_out(tomorrow, BY_MINUTE, BY_QUARTER, 10) == 1
    assert {(it.cpu_cores, it.memory_mib) for it in await used(Run(workload.id, 1))} == {(4.0, 2048)}
    assert await samples.PODS.purge(tomorrow, 10) == 1


async def test_old_samples_are_thinned_out_by_whole_days_and_removed(server: UUID):
    taken = tuple(a_sample(n, at=after(-s), utilization=40.0) for s in range(0, 7200, 15) for n in (0, 1))
    await keep(server, a_report(1, inventory=an_inventory(), samples=taken))
    assert await samples.GPUS.thin_out(after(3600), 0, BY_MINUTE, 10) == 0, "the day is not over"
    tomorrow = START + timedelta(days=1)
    assert await samples.GPUS.thin_out(tomorrow, 0, BY_MINUTE, 1) == 9, "one device at a time"
    assert await samples.GPUS.thin_out(tomorrow, 0, BY_MINUTE, 10) == 9
    assert await samples.GPUS.thin_out(tomorrow, BY_MINUTE, BY_QUARTER, 10) == 2
    assert await GpuSampleRow.all().count() == 2
    [found] = (await samples.GPUS.readings_of([Device((await a_gpu()).id)], after(-8000), after(60))).values()
    assert {it.utilization for it in found} == {40.0}
    assert len(found) == 9
    assert await samples.GPUS.purge(START, 10) == 0, "of that day there may be more"
    assert [await samples.GPUS.purge(tomorrow, 1) for _ in range(3)] == [1, 1, 0]


async def test_what_postgresql_can_not_store_is_replaced(server: UUID):
    odd = an_inventory(devices=(a_device(product="H\0 100", architecture="\0"),))
    await keep(server, a_report(1, inventory=odd, boot_id="\0"))
    assert (await a_gpu()).product == "H\ufffd 100"
