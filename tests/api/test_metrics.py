"""Curves of workloads and GPUs, numbers of the moment, usage over time, idle GPUs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain.gpus import GpuRequirements
from app.domain.workload import Attempt, Workload
from app.store.gpu_models import GpuRow
from app.store.writes import Change, apply_changes
from tests.api.test_reports import send
from tests.api.world import Api
from tests.clock import START
from tests.reports import a_holder, a_mig_device, a_pod_sample, a_report, a_sample, an_inventory
from tests.store.builders import a_placed_workload, a_stored_workload, with_a_pod

METRICS = """
metrics(types: [GPU_UTILIZATION, GPU_MEMORY_USED, ALLOCATED_GPUS], start: "%s", end: "%s", numberOfSamples: %d) {
  type gpu attributable note values { at value }
}
"""
TELEMETRY = """
query($type: TelemetryType!, $groupBy: [TelemetryGroup!], $cluster: String) {
  organization(slug: "acme") { telemetry(type: $type, groupBy: $groupBy, cluster: $cluster) {
    type timestamp values { value groups { key value } }
  } }
}
"""
USAGE = """
query($start: DateTime!, $end: DateTime!, $period: Period, $groupBy: [UsageGroup!]) {
  organization(slug: "acme") { usage(start: $start, end: $end, period: $period, groupBy: $groupBy) {
    start end gpuSeconds workloads groups { key value }
  } }
}
"""
MINUTE = timedelta(minutes=1)


async def with_gpus(api: Api, *numbers: int, **changes: Any) -> tuple[Workload, Attempt]:
    """A workload that has those GPUs from now on; the report is the agent's first."""
    spec = {"resources": changes.pop("resources")} if "resources" in changes else None
    workload, attempt = await a_placed_workload(api.organizations["acme"], spec=spec)
    holders = tuple(a_holder(f"{attempt.job_name}-x7k2p", n, **changes) for n in numbers)
    await send(api, a_report(1, inventory=an_inventory(), holders=holders))
    return workload, attempt


async def samples(api: Api, minutes: int, *utilization: float | None) -> None:
    """One each 15 s, of GPU 0, 1, …, while the clock goes on."""
    for n in range(minutes * 4):
        at = api.clock.now()
        taken = tuple(a_sample(gpu, at, value, memory_used_mib=100) for gpu, value in enumerate(utilization))
        await send(api, a_report(2 + n, at=at, samples=taken))
        api.clock.advance(15)


async def metrics(api: Api, workload: Workload, end: timedelta, count: int) -> dict[tuple[str, str | None], list[Any]]:
    document = METRICS % (START.isoformat(), (START + end).isoformat(), count)
    found = (await api.workload(str(workload.id), document))["metrics"]
    return {(it["type"], it["gpu"]): [value["value"] for value in it["values"]] for it in found}


async def test_the_curves_of_a_workload(api: Api):
    workload, _ = await with_gpus(api, 0, 1)
    await samples(api, 2, 50.0, 100.0)
    await samples(api, 1, 50.0)
    found = await metrics(api, workload, 4 * MINUTE, 4)
    assert found["GPU_UTILIZATION", "GPU-0000"] == [50.0, 50.0, 50.0, None]
    assert found["GPU_UTILIZATION", "GPU-0001"] == [100.0, 100.0, None, None]
    assert found["GPU_UTILIZATION", None] == [75.0, 75.0, None, None]
    assert found["GPU_MEMORY_USED", None] == [200.0, 200.0, None, None]
    assert found["ALLOCATED_GPUS", None] == [1.0, 1.0, 1.0, None], "what it asked for is what it has"


OF_PODS = """
metrics(types: [CPU, MEMORY, ALLOCATED_GPUS, GPU_POWER], start: "%s", end: "%s", numberOfSamples: 3) {
  type gpu attributable requested values { value }
}
"""


async def test_what_the_pod_of_a_workload_uses_beside_what_was_asked_for(api: Api):
    workload, attempt = await a_placed_workload(api.organizations["acme"])
    await with_a_pod(workload, attempt)
    for n, (cores, mib) in enumerate([(1.0, 1000), (2.0, 3000), (None, 5000)]):
        sample = a_pod_sample(at=api.clock.now(), cores=cores, memory_mib=mib)
        await send(api, a_report(1 + n, at=api.clock.now(), pod_samples=(sample,)))
        api.clock.advance(30)
    document = OF_PODS % (START.isoformat(), (START + 3 * MINUTE).isoformat())
    found = (await api.workload(str(workload.id), document))["metrics"]
    resources = workload.spec.resources
    asked = {"CPU": resources.cpu_millis / 1000, "MEMORY": resources.memory_bytes / 2**20, "ALLOCATED_GPUS": 1}
    assert {it["type"]: it["requested"] for it in found} == {**asked, "GPU_POWER": None}
    values = {it["type"]: [value["value"] for value in it["values"]] for it in found if it["gpu"] is None}
    assert values["CPU"] == [1.5, None, None]
    assert values["MEMORY"] == [2000.0, 5000.0, None]
    gpu = f'query($id: UUID!) {{ organization(slug: "acme") {{ gpu(id: $id) {{ {document} }} }} }}'
    await send(api, a_report(9, inventory=an_inventory(), at=api.clock.now()))
    answer = await api.data(gpu, {"id": str((await GpuRow.get(uuid="GPU-0000")).id)})
    assert [it["type"] for it in answer["organization"]["gpu"]["metrics"]] == ["GPU_POWER"], "no GPU has a pod's use"


async def test_samples_of_a_shared_gpu_are_nobodys(api: Api):
    workload, _ = await with_gpus(api, 0, is_shared=True)
    await samples(api, 1, 50.0)
    document = METRICS % (START.isoformat(), (START + MINUTE).isoformat(), 1)
    found = (await api.workload(str(workload.id), document))["metrics"]
    whole, one, *_ = found
    assert (whole["attributable"], one["attributable"], one["values"][0]["value"]) == (False, False, None)
    assert "others may have used the GPU" in one["note"]
    gpu = f'query($id: UUID!) {{ organization(slug: "acme") {{ gpu(id: $id) {{ {document} }} }} }}'
    answer = await api.data(gpu, {"id": str((await GpuRow.get(uuid="GPU-0000")).id)})
    assert answer["organization"]["gpu"]["metrics"][0]["values"][0]["value"] == 50.0


async def told_by_the_cluster(api: Api, *gpus: str, spec: dict[str, Any] | None = None) -> Workload:
    workload, attempt = await a_placed_workload(api.organizations["acme"], spec=spec)
    started = Attempt(**{**vars(attempt), "started_at": START, "gpus": gpus})
    await apply_changes(workload.organization_id, [Change(workload, workload, attempt, started)], START)
    return workload


async def test_where_only_the_cluster_told_the_gpus(api: Api):
    workload = await told_by_the_cluster(api, "GPU-0001")
    await send(api, a_report(1, inventory=an_inventory()))
    await samples(api, 1, 5.0, 70.0)
    found = await metrics(api, workload, MINUTE, 1)
    assert (found["GPU_UTILIZATION", None], found["GPU_UTILIZATION", "GPU-0001"]) == ([70.0], [70.0])


async def test_where_only_the_cluster_told_a_slice(api: Api):
    workload = await told_by_the_cluster(api, "MIG-0-1")
    await send(api, a_report(1, inventory=an_inventory(devices=(a_mig_device(0),))))
    sample = a_sample(device="MIG-0-1", utilization=None, memory_used_mib=700)
    await send(api, a_report(2, samples=(sample,)))
    api.clock.advance(60)
    found = await metrics(api, workload, MINUTE, 1)
    assert found["GPU_MEMORY_USED", "GPU-0000"] == found["GPU_MEMORY_USED", None] == [700.0]


async def test_shares_that_only_the_cluster_told_are_nobodys_too(api: Api):
    workload = await told_by_the_cluster(api, "GPU-0001", spec={"gpu_requirements": GpuRequirements(is_shared=True)})
    await send(api, a_report(1, inventory=an_inventory()))
    await samples(api, 1, 5.0, 70.0)
    assert (await metrics(api, workload, MINUTE, 1))["GPU_UTILIZATION", "GPU-0001"] == [None]


@pytest.mark.parametrize(
    ("end", "count", "field"), [("2020-01-01T00:00:00Z", 20, "end"), ("2026-12-01T00:00:00Z", 1001, "numberOfSamples")]
)
async def test_metrics_that_make_no_sense(api: Api, end: str, count: int, field: str):
    workload = await a_stored_workload(api.organizations["acme"])
    document = METRICS % (START.isoformat(), end, count)
    error = await api.refusal(f'{{ organization(slug: "acme") {{ workload(id: "{workload.id}") {{ {document} }} }} }}')
    assert (error["code"], error["fields"][0]["field"]) == ("BAD_USER_INPUT", field)


async def telemetry(api: Api, wanted: str, *by: str) -> dict[tuple[str, ...], float]:
    found = (await api.data(TELEMETRY, {"type": wanted, "groupBy": by}))["organization"]["telemetry"]
    assert found["type"] == wanted
    return {tuple(group["value"] for group in it["groups"]): it["value"] for it in found["values"]}


async def test_numbers_about_workloads(api: Api):
    await a_placed_workload(api.organizations["acme"])
    await a_stored_workload(api.organizations["acme"])
    assert await telemetry(api, "WORKLOADS_COUNT") == {(): 2}
    assert await telemetry(api, "WORKLOADS_COUNT", "STATUS", "PHASE") == {
        ("pending", "creating"): 1,
        ("pending", "queued"): 1,
    }
    assert await telemetry(api, "GPU_ALLOCATION", "SERVER") == {("",): 0, ("gpu-1",): 1}
    assert await telemetry(api, "ALLOCATION_RATIO") == {(): 10}
    api.clock.advance(61)
    assert (await telemetry(api, "PENDING_TIME"))["1 to 5 min",] == 1


async def test_numbers_about_servers_are_of_the_organization_and_of_what_is_seen(api: Api):
    assert await telemetry(api, "TOTAL_GPUS", "SERVER") == {("gpu-1",): 8, ("gpu-2",): 2}
    assert await telemetry(api, "READY_GPUS") == {(): 0}, "the cluster shows nothing"
    error = await api.refusal(TELEMETRY, {"type": "TOTAL_GPUS", "groupBy": ["STATUS"]})
    assert (error["code"], error["fields"][0]["field"]) == ("BAD_USER_INPUT", "groupBy")


async def idle(api: Api, workload: Workload, window: int = 300) -> Any:
    return (await api.workload(str(workload.id), f"idleAllocatedGpus(windowSeconds: {window})"))["idleAllocatedGpus"]


async def test_gpus_that_somebody_has_and_that_do_nothing(api: Api):
    workload, _ = await with_gpus(api, 0, 1)
    await samples(api, 6, 0.0, 80.0)
    assert await idle(api, workload) == 1
    assert await idle(api, workload, 3600) == 0, "of an hour ago nothing is known"
    document = TELEMETRY.replace("cluster: $cluster", "cluster: $cluster, windowSeconds: 300")
    found = (await api.data(document, {"type": "IDLE_ALLOCATED_GPUS"}))["organization"]["telemetry"]
    assert found["values"] == [{"value": 1.0, "groups": []}]


async def test_a_gpu_without_samples_is_not_idle(api: Api):
    workload, _ = await with_gpus(api, 0, 1)
    await samples(api, 3, 0.0, 0.0)
    api.clock.advance(180)
    assert await idle(api, workload) == 0
    waiting = await a_stored_workload(api.organizations["acme"])
    assert await idle(api, waiting) is None


async def test_usage_by_project_and_day(api: Api):
    await a_placed_workload(api.organizations["acme"])
    api.clock.advance(13 * 3600)
    wanted = {"start": START.isoformat(), "end": (START + timedelta(days=2)).isoformat(), "period": "DAY"}
    found = (await api.data(USAGE, {**wanted, "groupBy": ["PROJECT", "SERVER"]}))["organization"]["usage"]
    assert [(it["gpuSeconds"], it["workloads"]) for it in found] == [(12 * 3600, 1), (3600, 1)]
    assert found[0]["groups"] == [{"key": "project", "value": ""}, {"key": "server", "value": "gpu-1"}]
