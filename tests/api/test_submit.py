"""submitWorkload: what was asked for is what is stored."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from app.domain.gpus import ANY_GPU
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.volumes import Mount
from app.domain.workload import Resources, Workload
from app.store import reads, servers
from tests.api.world import CANCEL, SUBMIT, Api, a_request, written
from tests.clock import START
from tests.placement.builders import node

SPEC_EXAMPLE = {
    "organization": "acme",
    "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
    "tag": "latest",
    "gpuCount": 1,
    "timeoutSeconds": 3600,
    "envVars": [{"name": "MODEL_PATH", "value": "/data/model"}, {"name": "BATCH_SIZE", "value": "32"}],
}
EVERY_FIELD: dict[str, Any] = {
    "image": "registry.example.org:5000/team/train",
    "tag": "v1",
    "gpuCount": 8,
    "timeoutSeconds": 60,
    "envVars": [{"name": "PATH", "value": "$HOME/é \n'\"$(x)"}, {"name": "EMPTY", "value": ""}],
    "name": "night run",
    "command": ["/bin/sh", "-c"],
    "args": ["echo $HOME", ""],
    "cpu": "1500m",
    "memory": "2Gi",
    "startTimeoutSeconds": 61,
    "queueTimeoutSeconds": 62,
    "maxRetries": 3,
    "labels": [{"key": "example.org/team", "value": "vision"}, {"key": "empty", "value": ""}],
    "mounts": [{"name": "data", "path": "/data", "readOnly": True}, {"name": "models", "path": "/models"}],
    "sharedMemory": "1Gi",
    "cuda": "12.4",
    "gpuRequirements": {"products": ["H100", "A100 80GB"], "memory": "40G", "computeCapability": "8.0"},
    "priority": "LOW",
    "preemptible": True,
    "idempotencyKey": "once",
}
SLICES = {"migProfile": "1g.10gb"}
SHOWN = """
  id name jobName status phase reason message succeeded exitCode signal imageReference gpuCount cpu memoryBytes
  timeoutSeconds startTimeoutSeconds queueTimeoutSeconds envVars { name value } command args
  maxRetries priority preemptible cuda labels { key value } mounts { name path readOnly } sharedMemoryBytes server gpus
  submittedBy gpuRequirements { products memoryBytes computeCapability migProfile shared }
  createdAt startedAt completedAt cancelRequestedAt project { slug } attempts { number } events { type }
"""


async def stored(shown: dict[str, Any]) -> Workload:
    found = await reads.load_workload(UUID(shown["id"]))
    assert found is not None
    return found


async def test_the_specification_example_as_it_is_written(api: Api):
    answer = await api.data(SUBMIT % "id jobName status imageReference gpuCount", {"input": SPEC_EXAMPLE})
    assert answer["submitWorkload"]["isNew"] is True
    shown = answer["submitWorkload"]["workload"]
    assert shown["jobName"] == f"gw-{shown['id'].replace('-', '')}-1"
    assert (shown["status"], shown["gpuCount"]) == ("PENDING", 1)
    assert shown["imageReference"] == "nvidia/cuda:12.2.0-base-ubuntu22.04"
    spec = (await stored(shown)).spec
    assert (spec.timeout_seconds, spec.cuda) == (3600, "12.2")
    assert spec.env_vars == (("MODEL_PATH", "/data/model"), ("BATCH_SIZE", "32"))


async def test_every_field_reaches_the_stored_workload(api: Api):
    project = api.projects["vision"].id
    shown = await api.submit(projectId=str(project), **EVERY_FIELD)
    workload = await stored(shown)
    spec = workload.spec
    assert (workload.organization_id, workload.submitted_by) == (api.organizations["acme"].id, "admin@example.org")
    assert (workload.status, workload.phase, workload.reason) == (Status.PENDING, Phase.QUEUED, Reason.SUBMITTED)
    assert workload.created_at == workload.queued_at == START
    assert spec.image == "registry.example.org:5000/team/train:v1"
    assert spec.resources == Resources(gpu_count=8, cpu_millis=1500, memory_bytes=2 * 2**30)
    assert (spec.timeout_seconds, spec.start_timeout_seconds, spec.queue_timeout_seconds) == (60, 61, 62)
    assert spec.env_vars == (("PATH", "$HOME/é \n'\"$(x)"), ("EMPTY", ""))
    assert (spec.name, spec.project_id, spec.idempotency_key) == ("night run", project, "once")
    assert (spec.command, spec.args) == (("/bin/sh", "-c"), ("echo $HOME", ""))
    assert (spec.max_retries, spec.shared_memory_bytes, spec.cuda) == (3, 2**30, "12.4")
    assert (spec.priority, spec.preemptible) == (Priority.LOW, True)
    assert spec.labels == (("example.org/team", "vision"), ("empty", ""))
    assert spec.mounts == (Mount("data", "/data", read_only=True), Mount("models", "/models"))


async def test_what_the_answer_shows_is_what_a_later_read_shows(api: Api):
    shown = await api.submit(SHOWN, projectId=str(api.projects["vision"].id), **EVERY_FIELD)
    assert shown == await api.workload(shown["id"], SHOWN)
    assert shown["envVars"] == EVERY_FIELD["envVars"]
    assert (shown["priority"], shown["preemptible"]) == ("LOW", True)
    assert (shown["labels"], shown["maxRetries"], shown["cuda"]) == (EVERY_FIELD["labels"], 3, "12.4")
    assert [(it["name"], it["path"], it["readOnly"]) for it in shown["mounts"]] == [
        ("data", "/data", True),
        ("models", "/models", False),
    ]
    assert shown["sharedMemoryBytes"] == 2**30
    assert shown["gpuRequirements"] == {
        "products": ["H100", "A100 80GB"],
        "memoryBytes": 40 * 10**9,
        "computeCapability": "8.0",
        "migProfile": None,
        "shared": False,
    }
    assert (shown["cpu"], shown["memoryBytes"]) == ("1500m", 2 * 2**30)
    assert (shown["project"], shown["attempts"]) == ({"slug": "vision"}, [])
    assert [event["type"] for event in shown["events"]] == ["SUBMITTED"]
    unknown_yet = ("succeeded", "exitCode", "signal", "server", "startedAt", "completedAt", "cancelRequestedAt")
    assert {shown[name] for name in unknown_yet} == {None}


async def test_what_is_left_out_gets_the_defaults(api: Api):
    spec = (await stored(await api.submit(gpuCount=2))).spec
    assert spec.resources == Resources(gpu_count=2, cpu_millis=8000, memory_bytes=32 * 2**30)
    assert (spec.timeout_seconds, spec.start_timeout_seconds, spec.queue_timeout_seconds) == (3600, 1800, None)
    assert (spec.name, spec.command, spec.args, spec.env_vars) == ("busybox", (), (), ())
    assert (spec.project_id, spec.idempotency_key, spec.max_retries) == (None, None, 0)
    assert (spec.labels, spec.mounts, spec.shared_memory_bytes, spec.cuda) == ((), (), None, None)
    assert spec.gpu_requirements == ANY_GPU
    assert (spec.priority, spec.preemptible) == (Priority.MEDIUM, False)


async def test_slices_and_shares_are_asked_for_instead_of_whole_gpus(api: Api):
    shown = await api.submit("id message gpuRequirements { migProfile shared }", gpuCount=2, gpuRequirements=SLICES)
    assert shown["gpuRequirements"] == {"migProfile": "1g.10gb", "shared": False}
    assert shown["message"] == "accepted; waits for 2 free MIG slices 1g.10gb on one server"
    error = await api.refuse_submit(gpuCount=2, gpuRequirements={"shared": True})
    assert "more shares are never more GPU; it is 2" in error["message"]


async def test_more_slices_than_any_server_has_are_refused_once_there_are_any(api: Api):
    await api.submit(gpuCount=9, gpuRequirements=SLICES)
    sliced = node("gpu-9", capacity_gpus=(("nvidia.com/mig-1g.10gb", 7),))
    await servers.record_nodes("default", [(sliced, "acme")], START)
    await api.submit(gpuCount=7, gpuRequirements=SLICES)
    error = await api.refuse_submit(gpuCount=8, gpuRequirements=SLICES)
    assert (
        "8 MIG slices 1g.10gb on one server were asked for; the largest server on record, gpu-9, has 7"
        in error["message"]
    )


async def test_a_retry_asks_for_the_same_gpus(api: Api):
    first = await api.submit(gpuRequirements=SLICES)
    await api.data("mutation($id: UUID!) { cancelWorkload(input: {id: $id}) { workload { id } } }", {"id": first["id"]})
    retry = "mutation($id: UUID!) { retryWorkload(input: {id: $id}) { workload { gpuRequirements { migProfile } } } }"
    again = (await api.data(retry, {"id": first["id"]}))["retryWorkload"]["workload"]
    assert again["gpuRequirements"] == {"migProfile": "1g.10gb"}


@pytest.mark.parametrize("who", ["owner", "admin", "service"])
async def test_who_may_submit(api: Api, who: str):
    workload = await stored(await api.submit(who=who))
    assert workload.submitted_by == ("token service" if who == "service" else f"{who}@example.org")


@pytest.mark.parametrize("who", ["admin", "service"])
@pytest.mark.parametrize("priority", ["HIGH", "VERY_HIGH"])
async def test_above_the_usual_only_owners_submit(api: Api, who: str, priority: str):
    error = await api.refuse_submit(who=who, priority=priority)
    assert error["code"] == "FORBIDDEN"
    assert error["message"] == "priorities above medium are given by owners of acme; your role is admin"
    assert await written() == {"workloads": 0, "attempts": 0, "events": 0, "audit": 1}
    assert (await stored(await api.submit(who="owner", priority=priority))).spec.priority.name == priority


async def test_a_retry_keeps_the_priority_as_far_as_the_caller_may_give_it(api: Api):
    retry = "mutation($id: UUID!) { retryWorkload(input: {id: $id}) { workload { priority preemptible } } }"
    first = await api.submit(who="owner", priority="VERY_HIGH", preemptible=True)
    await api.data(CANCEL, {"id": first["id"]})
    for who, priority in (("owner", "VERY_HIGH"), ("admin", "MEDIUM")):
        again = (await api.data(retry, {"id": first["id"]}, who=who))["retryWorkload"]["workload"]
        assert again == {"priority": priority, "preemptible": True}


async def test_a_submission_wakes_who_waits_for_it(api: Api):
    with api.services.commands.bus.following(api.organizations["acme"].id) as signal:
        await api.submit()
        assert await signal.wait(0)


async def test_the_same_key_and_request_lead_to_the_first_workload(api: Api):
    request = {"input": a_request(idempotencyKey="k", gpuCount=2)}
    answers = await asyncio.gather(*(api.data(SUBMIT % "id", request) for _ in range(20)))
    made = [answer["submitWorkload"] for answer in answers]
    assert sorted(submitted["isNew"] for submitted in made) == [False] * 19 + [True]
    assert len({submitted["workload"]["id"] for submitted in made}) == 1
    assert await written() == {"workloads": 1, "attempts": 0, "events": 1, "audit": 0}


async def test_the_same_key_in_another_organization_is_another_key(api: Api):
    ours = await api.submit(idempotencyKey="k")
    theirs = await api.submit(organization="other", idempotencyKey="k", who="stranger")
    assert ours["id"] != theirs["id"]


async def test_many_submissions_in_one_request_are_made_in_order(api: Api):
    fields = " ".join(f"m{i}: submitWorkload(input: $input) {{ workload {{ id }} }}" for i in range(50))
    query = f"mutation($input: SubmitWorkloadInput!) {{ {fields} }}"
    answer = await api.data(query, {"input": a_request()})
    made = [answer[f"m{i}"]["workload"]["id"] for i in range(50)]
    events = await reads.events_after(api.organizations["acme"].id, 0, 100)
    assert [str(event.workload_id) for event in events] == made
