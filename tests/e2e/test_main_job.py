"""The main job on a running product: submit, place, run, record, cancel, read, follow."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from typing import Any

import pytest

from tests.e2e.product import CANCEL, FIELDS, SUBMIT, Product

pytestmark = pytest.mark.asyncio(loop_scope="session")

SPEC_EXAMPLE = {
    "organization": "demo",
    "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
    "tag": "latest",
    "gpuCount": 1,
    "timeoutSeconds": 3600,
    "envVars": [{"name": "MODEL_PATH", "value": "/data/model"}, {"name": "BATCH_SIZE", "value": "32"}],
}


WAITS = re.compile(r"needs 8 GPUs on one server; the largest free block.* is 7, on gpu-2")


async def test_the_ready_file_tells_where_everything_is(shared_product: Product):
    facts = shared_product.facts
    assert stat.S_IMODE(shared_product.ready_file.stat().st_mode) == 0o600
    assert {"url", "graphql", "ws", "kubeconfig", "organization", "token", "viewer_token", "users"} <= set(facts)
    assert {user["role"] for user in facts["users"]} == {"owner", "admin", "member", "viewer"}


async def test_the_specification_example_runs_to_its_end(shared_product: Product):
    answer = await shared_product.ask(SUBMIT % FIELDS, {"input": SPEC_EXAMPLE})
    workload = answer["data"]["submitWorkload"]["workload"]
    assert workload["status"] == "PENDING"
    assert workload["jobName"] == f"gw-{workload['id'].replace('-', '')}-1"
    assert workload["imageReference"] == "nvidia/cuda:12.2.0-base-ubuntu22.04"
    ended = await shared_product.until(workload["id"], status="COMPLETED")
    assert (ended["exitCode"], ended["succeeded"]) == (0, True)
    assert len(ended["gpus"]) == 1
    assert ended["gpus"][0].startswith("GPU-")
    assert ended["server"]
    assert ended["startedAt"] < ended["completedAt"]
    assert [e["type"] for e in ended["events"]].count("ENDED") == 1


ENDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"SIM_SECONDS": 0.2, "SIM_EXIT_CODE": 3}, {"status": "COMPLETED", "exitCode": 3, "succeeded": False}),
    ({"SIM_OUTCOME": "oom", "SIM_SECONDS": 0.2}, {"status": "FAILED", "reason": "OUT_OF_MEMORY", "exitCode": 137}),
    ({"SIM_OUTCOME": "segfault", "SIM_SECONDS": 0.2}, {"status": "COMPLETED", "exitCode": 139, "signal": 11}),
    ({"SIM_OUTCOME": "image-invalid"}, {"status": "FAILED", "reason": "IMAGE_INVALID", "exitCode": None}),
    ({"SIM_OUTCOME": "start-error"}, {"status": "FAILED", "reason": "START_ERROR"}),
    ({"SIM_OUTCOME": "evicted", "SIM_SECONDS": 0.2}, {"status": "FAILED", "reason": "EVICTED"}),
]


@pytest.mark.parametrize(("environment", "expected"), ENDS, ids=[json.dumps(e[0]) for e in ENDS])
async def test_each_end_is_told_apart(shared_product: Product, environment: dict[str, Any], expected: dict[str, Any]):
    workload = await shared_product.submit(envVars=environment)
    ended = await shared_product.until(workload["id"], status=expected["status"])
    assert {name: ended[name] for name in expected} == expected


async def test_the_run_limit_stops_it(shared_product: Product):
    workload = await shared_product.submit(envVars={"SIM_SECONDS": 600}, timeoutSeconds=2)
    ended = await shared_product.until(workload["id"], status="TIMEOUT")
    assert ended["reason"] == "RUN_TIMEOUT"
    assert "2 s" in ended["message"]


async def test_the_start_limit_ends_what_never_starts(shared_product: Product):
    workload = await shared_product.submit(envVars={"SIM_OUTCOME": "image-missing"}, startTimeoutSeconds=5)
    ended = await shared_product.until(workload["id"], status="FAILED")
    assert ended["reason"] == "IMAGE_PULL_FAILED"
    assert ended["startedAt"] is None


async def test_a_refusal_by_the_node_is_tried_elsewhere(shared_product: Product):
    workload = await shared_product.submit(envVars={"SIM_OUTCOME": "admission-error"})
    retried = await shared_product.until_event(workload["id"], "RETRYING")
    assert (retried["phase"], retried["reason"]) == ("QUEUED", "BACKING_OFF")
    assert (await shared_product.workload(workload["id"]))["attempts"][0]["reason"] == "NODE_REFUSED"
    await shared_product.cancel(workload["id"])


async def test_cancel_waits_for_the_cluster(shared_product: Product):
    workload = await shared_product.submit(envVars={"SIM_SECONDS": 600})
    await shared_product.until(workload["id"], status="RUNNING")
    answer = await shared_product.ask(CANCEL % FIELDS, {"id": workload["id"]})
    stopping = answer["data"]["cancelWorkload"]["workload"]
    assert (stopping["status"], stopping["phase"]) == ("RUNNING", "STOPPING")
    ended = await shared_product.until(workload["id"], status="CANCELLED")
    assert ended["exitCode"] == 143
    again = await shared_product.ask(CANCEL % FIELDS, {"id": workload["id"]})
    assert again["errors"][0]["extensions"]["code"] == "CONFLICT"
    assert "has ended already: cancelled" in again["errors"][0]["message"]


async def test_what_waits_says_why_and_is_cancelled_at_once(shared_product: Product):
    holder = await shared_product.submit(gpuCount=8, envVars={"SIM_SECONDS": 600})
    await shared_product.until(holder["id"], status="RUNNING")
    waiting = await shared_product.submit(gpuCount=8)
    async with asyncio.timeout(60):  # what other tests ended may still be leaving
        while not WAITS.match((await shared_product.workload(waiting["id"]))["message"]):  # noqa: ASYNC110 — a wait's words
            await asyncio.sleep(0.1)
    seen = await shared_product.until(waiting["id"], reason="WAITING_FOR_GPUS")
    assert seen["phase"] == "QUEUED"
    answer = await shared_product.ask(CANCEL % FIELDS, {"id": waiting["id"]})
    assert answer["data"]["cancelWorkload"]["workload"]["status"] == "CANCELLED"
    await shared_product.ask(CANCEL % FIELDS, {"id": holder["id"]})
    await shared_product.until(holder["id"], status="CANCELLED")


async def test_events_replay_and_go_on_over_a_reconnect(shared_product: Product):
    workload = await shared_product.submit(envVars={"SIM_SECONDS": 600})
    submitted = workload["events"][0]["cursor"]
    async with shared_product.events(after=submitted) as live, asyncio.timeout(60):
        seen = [await anext(live)]
    await shared_product.until(workload["id"], status="RUNNING")
    async with shared_product.events(after=seen[0]["cursor"]) as rest, asyncio.timeout(60):
        async for event in rest:
            seen.append(event)
            if event["workloadId"] == workload["id"] and event["status"] == "RUNNING":
                await shared_product.exit(workload["id"])
            if event["workloadId"] == workload["id"] and event["type"] == "ENDED":
                break
    stored = (await shared_product.workload(workload["id"]))["events"]
    mine = [event for event in seen if event["workloadId"] == workload["id"]]
    assert [(e["type"], e["status"]) for e in mine] == [(e["type"], e["status"]) for e in stored[1:]]
    assert len({event["cursor"] for event in seen}) == len(seen)
