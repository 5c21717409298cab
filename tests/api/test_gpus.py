"""GPUs, node agents, and who has and had which GPU, over the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.report import Report
from app.store import servers
from app.store.gpu_models import GpuRow
from app.store.models import ClusterServerRow
from tests.api.test_reports import send
from tests.api.world import Api
from tests.clock import START
from tests.placement.builders import node
from tests.reports import XID_79, a_device, a_holder, a_mig_device, a_report, an_inventory
from tests.store.builders import a_placed_workload

GPUS = '{ organization(slug: "acme") { gpus { uuid server index health healthReason xid migInstances { profile } } } }'
HOLDERS = '{ organization(slug: "acme") { gpus { uuid holders { pod isShared attempt workload { id } } } } }'
HISTORY = """
query($id: UUID!) { organization(slug: "acme") { gpu(id: $id) {
  uuid history { since until attempt pod workload { id } }
} } }
"""
AGENT = """
{ organization(slug: "acme") { servers {
  name usable gpuNote agent { freshness driverState gpusWorking gpusFailed clockSkewSeconds lastReportAt }
  gpus { uuid }
} } }
"""
DEVICES = "devices { gpu until attempt } attempts { number devices { gpu } }"


async def organization(api: Api, document: str, variables: Mapping[str, Any] | None = None, **who: str) -> Any:
    return (await api.data(document, variables, **who))["organization"]


async def gpu_id(number: int = 0) -> str:
    return str((await GpuRow.get(uuid=f"GPU-{number:04}")).id)


async def test_the_gpus_of_an_organization(api: Api):
    assert (await organization(api, GPUS))["gpus"] == []
    devices = (a_device(0, health=XID_79), a_mig_device(1))
    await send(api, a_report(inventory=an_inventory(devices=devices)))
    await send(api, a_report(node="gpu-9", inventory=an_inventory(1)), "agent of all")
    broken, sliced = (await organization(api, GPUS))["gpus"]
    assert (broken["server"], broken["health"], broken["healthReason"], broken["xid"]) == (
        "gpu-1",
        "FAILED",
        "OFF_THE_BUS",
        79,
    )
    assert [it["profile"] for it in sliced["migInstances"]] == ["1g.10gb", "1g.10gb"]


async def test_one_gpu_is_found_by_its_own_organization_only(api: Api):
    await send(api, a_report(inventory=an_inventory(1)))
    found = await organization(api, HISTORY, {"id": await gpu_id()})
    assert found["gpu"] == {"uuid": "GPU-0000", "history": []}
    theirs = await api.data(HISTORY.replace("acme", "other"), {"id": await gpu_id()}, who="stranger")
    assert theirs["organization"]["gpu"] is None


async def holding(api: Api) -> tuple[str, Report]:
    """The id of a workload that has GPU 0, beside a foreign pod on GPU 1, and the report that says so."""
    workload, attempt = await a_placed_workload(api.organizations["acme"])
    holders = (a_holder(f"{attempt.job_name}-x7k2p"), a_holder("notebook", 1, namespace="lab", is_shared=True))
    report = a_report(inventory=an_inventory(), holders=holders)
    await send(api, report)
    return str(workload.id), report


async def test_who_has_a_gpu(api: Api):
    workload, _ = await holding(api)
    ours, foreign = (it["holders"] for it in (await organization(api, HOLDERS))["gpus"])
    assert [(it["workload"], it["attempt"], it["isShared"]) for it in ours] == [({"id": workload}, 1, False)]
    assert foreign == [{"pod": "lab/notebook", "isShared": True, "attempt": None, "workload": None}]


async def test_the_history_of_a_gpu_and_the_devices_of_a_workload(api: Api):
    workload, _ = await holding(api)
    api.clock.advance(15)
    await send(api, a_report(2, holders=()))
    [held] = (await organization(api, HISTORY, {"id": await gpu_id()}))["gpu"]["history"]
    assert (held["since"], held["until"]) == (START.isoformat(), api.clock.now().isoformat())
    assert held["workload"] == {"id": workload}
    found = await api.workload(workload, DEVICES)
    assert found["devices"] == [{"gpu": "GPU-0000", "until": held["until"], "attempt": 1}]
    assert found["attempts"] == [{"number": 1, "devices": [{"gpu": "GPU-0000"}]}]


async def test_a_server_that_changed_hands_tells_nothing_of_its_earlier_owner(api: Api):
    await holding(api)
    await servers.record_nodes("default", [(node("gpu-1", 8), "other")], START)
    assert (await ClusterServerRow.get(name="gpu-1")).organization_slug == "other"
    answer = await api.data(HISTORY.replace("acme", "other"), {"id": await gpu_id()}, who="stranger")
    [held] = answer["organization"]["gpu"]["history"]
    assert (held["workload"], held["pod"]) == (None, None)


async def test_what_an_agent_told_of_its_server(api: Api):
    devices = (a_device(0), a_device(1, health=XID_79))
    await send(api, a_report(inventory=an_inventory(devices=devices), sent_at=START.replace(second=30)))
    api.clock.advance(120)
    by_name = {it["name"]: it for it in (await organization(api, AGENT))["servers"]}
    assert by_name["gpu-2"]["agent"] is None
    agent = by_name["gpu-1"]["agent"]
    assert (agent["freshness"], agent["driverState"], agent["gpusWorking"], agent["gpusFailed"]) == (
        "STALE",
        "OK",
        1,
        1,
    )
    assert (agent["clockSkewSeconds"], agent["lastReportAt"]) == (30, START.isoformat())
    assert [it["uuid"] for it in by_name["gpu-1"]["gpus"]] == ["GPU-0000", "GPU-0001"]


async def test_a_workload_is_told_of_its_gpu_that_failed_and_goes_on(api: Api):
    workload, report = await holding(api)
    broken = an_inventory(devices=(a_device(0, health=XID_79), a_device(1, health=XID_79)))
    await send(api, a_report(2, inventory=broken))
    await send(api, a_report(3, inventory=broken))
    found = await api.workload(workload, "status events { type message }")
    assert found["status"] == "PENDING"
    [told] = [it["message"] for it in found["events"] if it["type"] == "GPU_FAILED"]
    assert told == "its GPU GPU-0000 on gpu-1 is reported as failed: fell off the bus; nothing was stopped"
    assert report.sequence == 1
