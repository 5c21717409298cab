"""Who may be made: quotas, webhooks, policies; and pods that go without ever having had a node."""

from __future__ import annotations

import pytest

from app.simcluster.meta import Json, with_meta
from app.simcluster.resources import EVENTS, JOBS, PODS, RESOURCEQUOTAS
from tests.simcluster.conftest import Served
from tests.simcluster.world import World, conditions, job_document

JOBS_PATH = "/apis/batch/v1/namespaces/default/jobs"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def quota(**hard: str) -> Json:
    names = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    return {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": names}}


async def post(served: Served, path: str, body: Json) -> tuple[int, Json]:
    async with served.http.post(path, json=body) as response:
        return response.status, await response.json()


async def test_jobs_beyond_the_quota_are_refused_until_there_is_room(served: Served):
    await post(served, QUOTAS, quota(count__jobs_batch="1"))
    assert (await post(served, JOBS_PATH, job_document("a")))[0] == 201
    code, answer = await post(served, JOBS_PATH, job_document("b"))
    assert (code, answer["reason"]) == (403, "Forbidden")
    assert answer["message"] == (
        'jobs.batch "b" is forbidden: exceeded quota: q, '
        "requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )
    async with served.http.delete(f"{QUOTAS}/q"):
        assert (await post(served, JOBS_PATH, job_document("b")))[0] == 201


def test_pods_beyond_the_quota_are_made_when_there_is_room(world: World):
    world.store.create(RESOURCEQUOTAS, quota(requests_nvidia_com__gpu="2") | {"kind": "ResourceQuota"})
    assert world.run("a", gpus=2, seconds=3)
    assert not world.run("b", gpus=1)
    assert world.job("b")["status"].get("active", 0) == 0
    (told,) = [event for event in world.store.objects(EVENTS) if event["reason"] == "FailedCreate"]
    assert told["involvedObject"]["uid"] == world.job("b")["metadata"]["uid"]
    assert "is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1, used: " in told["message"]
    world.pass_time(6)
    assert world.pod_of("b")


@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        ("webhook-denied", 403, "denied the request: images must come"),
        ("policy-denied", 422, "denied request: images must come"),
        ("webhook-down", 500, "failed calling webhook"),
    ],
)
async def test_webhooks_and_policies_answer_for_a_job(served: Served, outcome: str, code: int, words: str):
    status, answer = await post(served, JOBS_PATH, job_document("a", outcome=outcome))
    assert (status, answer["code"]) == (code, code)
    assert words in answer["message"]


def test_a_policy_on_pods_is_told_by_events(world: World):
    assert not world.run(outcome="pod-denied")
    assert [e["type"] for e in world.store.objects(EVENTS) if "images must come" in e["message"]] == ["Warning"]
    world.pass_time(3)
    assert not world.pod_of("job")
    assert conditions(world.job()) == {}


def test_a_node_that_shuts_down_refuses(world: World):
    key = world.run(outcome="shutting-down")
    status = world.pod(key)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "NodeShutdown")


def test_a_held_pod_without_a_node_is_called_failed_once_it_is_deleted(world: World):
    key = world.run(gpus=40)
    world.store.update(PODS, with_meta(world.pod(key), finalizers=["example.com/held"]))
    world.delete(JOBS, "default/job")
    assert world.pod(key)["status"]["phase"] == "Pending"
    world.pass_time(2)
    assert world.pod(key)["status"]["phase"] == "Failed"


def test_a_forced_deletion_still_lets_a_held_pod_end(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    world.store.update(PODS, with_meta(world.pod(key), finalizers=["example.com/held"]))
    world.delete(PODS, key, grace=0)
    world.pass_time(1)
    assert world.state(key)["terminated"]["exitCode"] == 143
