"""dryRun, and what is told of a waiting workload: its place, what would let it start, what it waited for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.cluster.port import Kind
from app.domain.states import Reason
from app.domain.workload import Resources
from app.store.writes import explain_waiting
from tests.api.test_access import CALLERS, WRITERS, code_of, refusal_code
from tests.api.world import Api, a_request, written
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import a_stored_workload

DRY_RUN = """query($input: SubmitWorkloadInput!) { dryRun(input: $input) {
  startsNow server cluster reason message imageReference
  queue { position total promisedStart couldStartNow { change value server message } }
} }"""
PLACE = "queue { position total promisedServer couldStartNow { change value message } }"


def show(api: Api, count: int = 8) -> None:
    """The cluster is seen to have a server with so many GPUs."""
    for kind in Kind:
        api.projection.begin_list(kind)
        api.projection.replace(kind, [node("gpu-1", count)] if kind is Kind.NODES else [])
        api.projection.health[kind].synced = True


async def tried(api: Api, **wanted: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await api.data(DRY_RUN, {"input": a_request(**wanted)}))["dryRun"]
    return found


async def test_a_request_that_fits_would_start_at_once(api: Api):
    show(api)
    assert await tried(api, gpuCount=2) == {
        "startsNow": True,
        "server": "gpu-1",
        "cluster": "default",
        "reason": None,
        "message": "would start now, on gpu-1",
        "imageReference": "busybox:1.36",
        "queue": {"position": 1, "total": 1, "promisedStart": None, "couldStartNow": []},
    }


async def test_a_request_that_does_not_fit_would_wait_and_is_told_what_would_help(api: Api):
    show(api, 3)
    found = await tried(api, gpuCount=4)
    assert (found["startsNow"], found["server"], found["reason"]) == (False, None, "NEVER_FITS")
    assert found["message"] == "needs 4 GPUs on one server; the largest server, gpu-1, has 3"
    suggestion = {"change": "GPU_COUNT", "value": "3", "server": "gpu-1", "message": "fits now on gpu-1 with 3 GPUs"}
    assert found["queue"]["couldStartNow"] == [suggestion]


@pytest.mark.parametrize("who", CALLERS)
async def test_who_may_submit_may_ask_and_nothing_is_written(api: Api, who: str | None):
    show(api)
    before = await written()
    answer = await api.ask(DRY_RUN, {"input": a_request()}, who=who)
    assert code_of(answer) in ({None} if who in WRITERS else refusal_code(who, is_by_id=False))
    assert await written() == before


async def test_what_submitting_would_refuse_is_refused_in_the_same_words(api: Api):
    show(api)
    wanted: dict[str, Any] = {"image": " ", "gpuCount": 2000, "cpu": "many"}
    assert await api.refusal(DRY_RUN, {"input": a_request(**wanted)}) == await api.refuse_submit(**wanted)


async def test_a_waiting_workload_tells_where_it_stands(api: Api):
    show(api, 3)
    workload = await a_stored_workload(api.organizations["acme"], spec={"resources": Resources(4, 1000, 2**30)})
    found = (await api.workload(str(workload.id), PLACE))["queue"]
    assert (found["position"], found["total"], found["promisedServer"]) == (1, 1, None)
    assert [it["message"] for it in found["couldStartNow"]] == ["fits now on gpu-1 with 3 GPUs"]


async def test_what_it_waited_for_can_be_read(api: Api):
    organization = api.organizations["acme"]
    workload = await a_stored_workload(organization)
    for seconds, reason in ((60, Reason.WAITING_FOR_GPUS), (660, Reason.BEHIND_RESERVATION)):
        at = START + timedelta(seconds=seconds)
        await explain_waiting(organization.id, [workload.id], reason, f"from {seconds}", at)
    api.clock.advance(700)
    fields = "waits { reason message seconds until } waitTotals { reason words seconds times }"
    found = await api.workload(str(workload.id), fields)
    assert [(it["reason"], it["message"], it["seconds"]) for it in found["waits"][1:]] == [
        ("WAITING_FOR_GPUS", "from 60", 600),
        ("BEHIND_RESERVATION", "from 660", 40),
    ]
    assert [it["until"] is None for it in found["waits"]] == [False, False, True]
    assert found["waitTotals"][0] == {"reason": "WAITING_FOR_GPUS", "words": "for GPUs", "seconds": 600, "times": 1}
