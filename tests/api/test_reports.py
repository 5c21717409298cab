"""reportServer: who may report for what, how much, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphql
import pytest

from agent.report import LONGEST_TEXT, MOST_DEVICES, MOST_HOLDERS, MOST_SAMPLES, Report
from app.graphql import documents
from app.graphql.rates import AGENT_PER_SECOND, BURST_SECONDS, Payer, Rates
from app.graphql.schema import schema
from app.store import agent_tokens
from app.store.gpu_models import GpuRow, GpuSampleRow, PodSampleRow, ServerAgentRow
from tests.api.talk import close_code, init, say, socket
from tests.api.world import Api, last_audit, written
from tests.clock import START
from tests.reports import (
    XID_79,
    a_device,
    a_holder,
    a_mig_device,
    a_pod_sample,
    a_report,
    a_sample,
    an_inventory,
    as_input,
)
from tests.store.builders import a_placed_workload, with_a_pod

DOCUMENT = (Path(documents.__file__).parent / "operations/agent/report_server.graphql").read_text()
ROWS = (ServerAgentRow, GpuRow, GpuSampleRow)


async def send(api: Api, report: Report, who: str = "agent") -> Any:
    answer = await api.data(DOCUMENT, {"input": as_input(report)}, who=who)
    return answer["reportServer"]


async def refused(api: Api, report: Report, who: str = "agent") -> dict[str, Any]:
    """A refusal, of which nothing was kept."""
    error = await api.refusal(DOCUMENT, {"input": as_input(report)}, who=who)
    assert [await rows.all().count() for rows in ROWS] == [0, 0, 0]
    return error


def test_the_agents_document_is_valid():
    assert graphql.validate(graphql.build_schema(schema.as_str()), graphql.parse(DOCUMENT)) == []


async def test_a_report_with_everything_in_it(api: Api):
    devices = (a_device(0, health=XID_79, nvlink_peers=("GPU-0001",)), a_mig_device(1))
    whole = a_report(
        inventory=an_inventory(devices=devices), holders=(a_holder("p", is_shared=True),), samples=(a_sample(),)
    )
    received = await send(api, whole)
    assert received == {
        "receivedAt": START.isoformat(),
        "wantsEverything": False,
        "isLate": False,
        "intervalSeconds": 15.0,
        "podUids": [],
    }
    gpu = await GpuRow.get(uuid="GPU-0000")
    assert (gpu.health, gpu.health_reason, gpu.facts["nvlink_peers"]) == ("failed", "off_the_bus", ["GPU-0001"])


async def test_the_pods_of_workloads_are_asked_for_and_their_use_is_kept(api: Api):
    workload, attempt = await a_placed_workload(api.organizations["acme"])
    await with_a_pod(workload, attempt)
    assert (await send(api, a_report(1, pod_samples=(a_pod_sample(),))))["podUids"] == ["uid-1"]
    assert await PodSampleRow.filter(workload_id=workload.id, attempt=1).count() == 1


async def test_what_is_left_out_is_not_known(api: Api):
    least = {"uuid": "GPU-1", "index": 0}
    report = {**as_input(a_report()), "inventory": {"state": "OK", "devices": [least]}}
    del report["holders"], report["samples"]
    await api.data(DOCUMENT, {"input": report}, who="agent")
    gpu = await GpuRow.get()
    assert (gpu.memory_mib, gpu.health, gpu.facts["mig_enabled"]) == (None, "ok", None)


async def test_an_agent_that_told_nothing_yet_is_asked_for_everything(api: Api):
    assert (await send(api, a_report()))["wantsEverything"]


async def test_a_late_report_is_told_so(api: Api):
    await send(api, a_report(2, inventory=an_inventory()))
    assert (await send(api, a_report(1)))["isLate"]


async def test_a_token_reports_for_its_own_node_only(api: Api):
    error = await refused(api, a_report(node="gpu-2"))
    assert error["code"] == "FORBIDDEN"
    assert "bound to the node gpu-1" in error["message"]
    audit = await last_audit()
    assert (audit["actor"], audit["action"], audit["target"]) == ("agent agent", "report_server", "gpu-2")


async def test_a_token_of_a_whole_cluster_reports_for_any_of_its_nodes(api: Api):
    for node in ("gpu-1", "gpu-2", "gpu-9"):
        await send(api, a_report(node=node, inventory=an_inventory()), "agent of all")
    assert await ServerAgentRow.all().count() == 3


async def test_a_token_of_another_cluster_finds_no_such_node(api: Api):
    error = await refused(api, a_report(), "agent elsewhere")
    assert error["code"] == "NOT_FOUND"
    assert "the cluster elsewhere has shown no node 'gpu-1' yet" in error["message"]
    assert (await written())["audit"] == 0, "agents try again for ever: that must fill no table"


async def test_a_revoked_token_reports_no_more(api: Api):
    await agent_tokens.revoke_agent_token(api.token_ids["agent"], START)
    assert (await refused(api, a_report()))["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("report", "field", "words"),
    [
        (a_report(inventory=an_inventory(MOST_DEVICES + 1)), "inventory.devices", "65 are too many"),
        (a_report(holders=tuple(a_holder(f"p{i}") for i in range(MOST_HOLDERS + 1))), "holders", "2001 are too many"),
        (a_report(samples=(a_sample(),) * (MOST_SAMPLES + 1)), "samples", "4001 are too many"),
        (
            a_report(samples=(a_sample(),) * MOST_SAMPLES, pod_samples=(a_pod_sample(),)),
            "samples",
            "4001 are too many",
        ),
        (a_report(pod_samples=(a_pod_sample("u" * 1001),)), "pod_samples[0].pod_uid", "at most 1000 characters"),
        (a_report(inventory=an_inventory(devices=(a_device(),) * 2)), "inventory.devices", "more than once"),
        (a_report(inventory=an_inventory(devices=(a_device(uuid="a b"),))), "inventory.devices", "'a b' is no UUID"),
        (a_report(agent_id=""), "agentId", "must not be empty"),
        (a_report(-1), "sequence", "must not be negative"),
        (
            a_report(inventory=an_inventory(message="x" * (LONGEST_TEXT + 1))),
            "inventory.message",
            "at most 1000 characters; it has 1001",
        ),
        (a_report(at=START.replace(year=1970)), "sentAt", "no time that a clock would show"),
        (a_report(samples=(a_sample(at=START.replace(year=9999)),)), "samples.at", "no time that a clock would show"),
    ],
)
async def test_a_report_with_too_much_or_nonsense_in_it_is_refused_whole(
    api: Api, report: Report, field: str, words: str
):
    error = await refused(api, report)
    assert error["code"] == "BAD_USER_INPUT"
    assert [it["field"] for it in error["fields"]] == [field]
    assert words in error["fields"][0]["message"]


async def test_the_largest_report_is_taken(api: Api):
    devices = tuple(a_mig_device(n) for n in range(MOST_DEVICES))
    largest = a_report(inventory=an_inventory(devices=devices), samples=tuple(a_sample() for _ in range(MOST_SAMPLES)))
    assert len(json.dumps(as_input(largest))) < 2**20
    assert not (await send(api, largest))["wantsEverything"]


@pytest.mark.parametrize("who", ["agent", "agent of all"])
async def test_an_agent_that_has_gone_mad_is_told_to_wait_and_nobody_else_is(api: Api, who: str):
    api.services.rates.per_second = 1
    for sequence in range(AGENT_PER_SECOND * BURST_SECONDS):
        await send(api, a_report(sequence), who)
    error = await api.refusal(DOCUMENT, {"input": as_input(a_report(99))}, who=who)
    assert (error["code"], error["retryAfter"]) == ("RATE_LIMITED", 1)
    await send(api, a_report(node="gpu-2"), "agent of all")
    api.clock.advance(1)
    await send(api, a_report(100), who)


def test_a_thousand_nodes_report_with_one_token():
    """At once, as they may after the service was away."""
    rates = Rates(1)
    for sequence in range(3):
        assert not any(rates.take(Payer(f"token/{n}", AGENT_PER_SECOND), 15.0 * sequence) for n in range(1000))


async def test_an_agent_that_hides_its_node_is_counted_all_the_same(api: Api):
    api.services.rates.per_second = 1
    inline = '{ organization(slug: "acme") { name } }'
    codes = [(await api.refusal(inline, who="agent of all"))["code"] for _ in range(AGENT_PER_SECOND * 10 + 1)]
    assert codes[-2:] == ["FORBIDDEN", "RATE_LIMITED"]
    made_up = [{"input": as_input(a_report(node=f"gpu-{n}"))} for n in range(100, 121)]
    codes = [(await api.refusal(DOCUMENT, it, who="agent"))["code"] for it in made_up]
    assert codes[-2:] == ["FORBIDDEN", "RATE_LIMITED"], "its token is of one node, whatever it says"


async def test_an_agent_opens_no_socket(api: Api, ws_url: str):
    async with socket(ws_url) as opened:
        await say(opened, init("agent"))
        assert await close_code(opened) == 4403


async def test_no_person_can_make_an_agents_token(api: Api):
    wanted = {"organization": "acme", "name": "x", "scopes": ["AGENT_REPORT"]}
    document = "mutation($input: CreateTokenInput!) { createToken(input: $input) { token } }"
    error = await api.refusal(document, {"input": wanted}, who="owner")
    assert error["code"] == "FORBIDDEN"
    assert "agent:report" in error["message"]


async def test_a_clock_is_measured(api: Api):
    await send(api, replace(a_report(inventory=an_inventory()), sent_at=START.replace(minute=7)))
    assert (await ServerAgentRow.get()).skew_seconds == 420
