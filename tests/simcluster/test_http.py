"""The API through the official client, and its refusals seen plainly. In-process, on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.client.exceptions import ApiException

from app.simcluster.meta import Json
from app.simcluster.resources import NODES
from app.simcluster.server import running
from tests.simcluster.conftest import Served
from tests.simcluster.world import job_document

JSON = {"Content-Type": "application/json"}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
WHOLE_SECONDS = {"renewTime": "2026-11-30T13:00:00Z"}
PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"


async def until(look: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(60):
        while not (found := await look()):  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.01)
    return found


async def ask(served: Served, method: str, path: str, **options: Any) -> tuple[int, Json]:
    async with served.http.request(method, path, **options) as response:
        body: Json = await response.json() if response.content_type == "application/json" else {}
        return response.status, body


async def test_a_job_from_creation_to_its_end(served: Served):
    created = await served.batch.create_namespaced_job("default", job_document("a", exit_code=3))
    assert (created.spec.completions, created.spec.pod_replacement_policy) == (1, "TerminatingOrFailed")

    async def failed() -> Any:
        job = await served.batch.read_namespaced_job("a", "default")
        return job if job.status.failed else None

    job = await until(failed)
    assert [item.type for item in job.status.conditions] == ["FailureTarget", "Failed"]
    selector = f"batch.kubernetes.io/controller-uid={job.metadata.uid}"
    pods = (await served.core.list_namespaced_pod("default", label_selector=selector)).items
    assert pods[0].status.container_statuses[0].state.terminated.exit_code == 3
    assert "line 5 of 5" in await served.core.read_namespaced_pod_log(pods[0].metadata.name, "default")


async def test_nodes_and_events_are_complete_for_strict_models(served: Served):
    nodes = (await served.core.list_node()).items
    assert [node.metadata.name for node in nodes] == ["cpu-1", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5"]
    events = (await served.core.list_event_for_all_namespaces(field_selector="involvedObject.kind=Node")).items
    assert {event.reason for event in events} == {"NodeReady"}


async def test_a_name_that_is_taken(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a"))
    with pytest.raises(ApiException) as caught:
        await served.batch.create_namespaced_job("default", job_document("a"))
    body = json.loads(caught.value.body or "{}")
    assert (body["code"], body["reason"]) == (409, "AlreadyExists")
    assert body["message"] == 'jobs.batch "a" already exists'


@pytest.mark.parametrize(
    ("method", "path", "options", "code", "reason"),
    [
        ("GET", f"{PODS}/nope", {}, 404, "NotFound"),
        ("GET", "/api/v1/secrets", {}, 404, "NotFound"),
        ("POST", JOBS, {"json": {"kind": "Pod"}}, 400, "BadRequest"),
        ("POST", JOBS, {"data": b"{", "headers": {"Content-Type": "application/json"}}, 400, "BadRequest"),
        ("POST", JOBS, {"json": {"metadata": {"name": "a"}}}, 422, "Invalid"),
        ("POST", JOBS, {"data": b"x", "headers": {"Content-Type": "application/x"}}, 415, "UnsupportedMediaType"),
        ("POST", "/apis/batch/v1/jobs", {"json": {}}, 405, "MethodNotAllowed"),
        ("POST", "/api/v1/namespaces/nope/pods", {"json": {}}, 404, "NotFound"),
        ("PUT", JOBS, {"json": {}}, 405, "MethodNotAllowed"),
        ("GET", PODS, {"headers": {"Accept": "application/vnd.kubernetes.protobuf"}}, 406, "NotAcceptable"),
        ("GET", f"{PODS}?resourceVersion=99999999", {}, 504, "Timeout"),
        ("GET", f"{PODS}?fieldSelector=spec.image%3Dx", {}, 400, "BadRequest"),
        ("GET", f"{PODS}?continue=nonsense", {}, 400, "BadRequest"),
        ("PATCH", "/api/v1/nodes/gpu-1", {"json": {}}, 415, "UnsupportedMediaType"),
        ("POST", JOBS, {"data": BytesIO(b" " * (3 * 2**20 + 1)), "headers": JSON}, 413, "RequestEntityTooLarge"),
        ("POST", LEASES, {"json": {"metadata": {"name": "l"}, "spec": WHOLE_SECONDS}}, 400, "BadRequest"),
    ],
)
async def test_refusals(served: Served, method: str, path: str, options: Json, code: int, reason: str):
    status, body = await ask(served, method, path, **options)
    assert (status, body["kind"], body["reason"], body["code"]) == (code, "Status", reason, code)


async def test_nobody_without_the_token(served: Served):
    as_password = base64.b64encode(f"simcluster:{served.running.token}".encode()).decode()
    for value in ("Bearer wrong", "", "Bearer", f"Basic {as_password}", served.running.token):
        status, body = await ask(served, "GET", "/api/v1/nodes", headers={"Authorization": value})
        assert (status, body["reason"]) == (401, "Unauthorized")


async def test_the_causes_of_a_refusal_name_the_fields(served: Served):
    job = job_document("Bad_Name", spec={"backoffLimit": -1})
    del job["spec"]["template"]["spec"]["restartPolicy"]
    job["spec"]["template"]["spec"]["containers"][0]["image"] = ""
    _, body = await ask(served, "POST", JOBS, json=job)
    assert [cause["field"] for cause in body["details"]["causes"]] == [
        "metadata.name",
        "spec.backoffLimit",
        "spec.template.spec.containers[0].image",
        "spec.template.spec.restartPolicy",
    ]


async def test_an_update_from_an_old_version_is_a_conflict(served: Served):
    node = served.context.store.get(NODES, "gpu-1") or {}
    changed = {**node, "metadata": {**node["metadata"], "labels": {"a": "b"}}}
    first, _ = await ask(served, "PUT", "/api/v1/nodes/gpu-1", json=changed)
    second, body = await ask(served, "PUT", "/api/v1/nodes/gpu-1", json=changed)
    assert (first, second, body["reason"]) == (200, 409, "Conflict")


async def test_a_dry_run_leaves_nothing(served: Served):
    status, body = await ask(served, "POST", f"{JOBS}?dryRun=All", json=job_document("a"))
    assert (status, body["spec"]["completions"]) == (201, 1)
    assert (await ask(served, "GET", f"{JOBS}/a"))[0] == 404
    assert (await ask(served, "DELETE", "/api/v1/nodes/gpu-1?dryRun=All"))[0] == 200
    assert (await ask(served, "GET", "/api/v1/nodes/gpu-1"))[0] == 200


async def test_names_are_generated(served: Served):
    job = job_document("a")
    job["metadata"] = {"generateName": "gen-"}
    _, body = await ask(served, "POST", JOBS, json=job)
    assert len(body["metadata"]["name"]) == len("gen-") + 5


async def test_a_delete_with_another_uid_is_refused(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a"))
    status, body = await ask(served, "DELETE", f"{JOBS}/a", json={"preconditions": {"uid": "other"}})
    assert (status, body["reason"]) == (409, "Conflict")


async def test_jobs_orphan_their_pods_unless_told_otherwise(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a", seconds=60))
    await served.batch.create_namespaced_job("default", job_document("b", seconds=60))
    async with served.http.delete(f"{JOBS}/a") as response:
        assert "child pods are preserved" in response.headers["Warning"]
    status, body = await ask(served, "DELETE", f"{JOBS}/b", json={"propagationPolicy": "Background"})
    assert (status, body["status"], body["details"]["kind"]) == (200, "Success", "jobs")

    async def only_orphans() -> Any:
        pods = (await served.core.list_namespaced_pod("default")).items
        return len(pods) == 1 and pods[0].metadata.name.startswith("a-") and not pods[0].metadata.owner_references

    assert await until(only_orphans)


async def test_a_collection_is_deleted_by_label(served: Served):
    for name in ("a", "b"):
        job = job_document(name)
        job["metadata"]["labels"] = {"group": name}
        await served.batch.create_namespaced_job("default", job)
    status, body = await ask(served, "DELETE", f"{JOBS}?labelSelector=group%3Da&propagationPolicy=Background")
    assert (status, len(body["items"])) == (200, 1)
    assert [job.metadata.name for job in (await served.batch.list_namespaced_job("default")).items] == ["b"]


async def test_pages_show_one_moment(served: Served):
    _, first = await ask(served, "GET", "/api/v1/nodes?limit=4")
    assert (len(first["items"]), first["metadata"]["remainingItemCount"]) == (4, 2)
    await ask(served, "DELETE", "/api/v1/nodes/gpu-5")
    _, second = await ask(served, "GET", f"/api/v1/nodes?limit=4&continue={first['metadata']['continue']}")
    assert [node["metadata"]["name"] for node in second["items"]] == ["gpu-4", "gpu-5"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


async def test_items_of_a_list_carry_no_kind(served: Served):
    _, body = await ask(served, "GET", "/api/v1/nodes")
    assert body["kind"] == "NodeList"
    assert {"kind", "apiVersion"} & set(body["items"][0]) == set()


async def test_a_pods_deadline_can_be_lowered_but_not_raised(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a", seconds=60))

    async def found() -> Any:
        return (await served.core.list_namespaced_pod("default")).items

    name = (await until(found))[0].metadata.name
    headers = {"Content-Type": "application/merge-patch+json"}
    codes = []
    for seconds in (50, 40, 45):
        body = {"spec": {"activeDeadlineSeconds": seconds}}
        codes.append((await ask(served, "PATCH", f"{PODS}/{name}", json=body, headers=headers))[0])
    assert codes == [200, 200, 422]


async def test_an_eviction(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a", seconds=60))

    async def found() -> Any:
        return (await served.core.list_namespaced_pod("default")).items

    name = (await until(found))[0].metadata.name
    status, _ = await ask(served, "POST", f"{PODS}/{name}/eviction", json={"kind": "Eviction"})

    async def gone() -> bool:
        return (await ask(served, "GET", f"{PODS}/{name}"))[0] == 404

    assert (status, await until(gone)) == (201, True)


async def test_discovery(served: Served):
    for path in ("/version", "/api", "/apis", "/api/v1", "/apis/batch", "/apis/batch/v1", "/openapi/v3/apis/batch/v1"):
        assert (await ask(served, "GET", path))[0] == 200, path
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    async with served.http.get("/apis", headers=accept) as response:
        document = await response.json(content_type=None)
    assert document["kind"] == "APIGroupDiscoveryList"
    for path in ("/healthz", "/readyz", "/livez"):
        async with served.http.get(path) as response:
            assert await response.text() == "ok"


async def test_other_hosts_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"loopback addresses only \(.*\), not '0\.0\.0\.0'"):
        async with running(tmp_path, host="0.0.0.0"):
            pass


async def test_a_lease_is_kept_with_optimistic_locking(served: Served):
    spec = {"holderIdentity": "a", "renewTime": "2026-11-30T13:00:00.000000Z"}
    _, lease = await ask(served, "POST", LEASES, json={"metadata": {"name": "leader"}, "spec": spec})
    assert (await ask(served, "PUT", f"{LEASES}/leader", json=lease))[0] == 200
    renewed = {**lease, "spec": {**spec, "holderIdentity": "b"}}
    assert (await ask(served, "PUT", f"{LEASES}/leader", json=renewed))[0] == 200
    assert (await ask(served, "PUT", f"{LEASES}/leader", json=renewed))[0] == 409
    blind = {"metadata": {"name": "leader"}, "spec": spec}
    assert (await ask(served, "PUT", f"{LEASES}/leader", json=blind))[0] == 422


async def test_logs_that_are_not_there(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a", outcome="image-missing"))

    async def waiting() -> Any:
        pods = (await served.core.list_namespaced_pod("default")).items
        statuses = pods and pods[0].status.container_statuses
        return pods[0] if statuses and statuses[0].state.waiting.reason == "ErrImagePull" else None

    name = (await until(waiting)).metadata.name
    answers = [
        await ask(served, "GET", f"{PODS}/{name}/log{query}")
        for query in ("", "?container=other", "?previous=true", "?tailLines=x")
    ]
    assert [code for code, _ in answers] == [400, 400, 400, 400]
    assert answers[0][1]["message"].endswith("is waiting to start: trying and failing to pull image")
    served.context.cluster.nodes.lose("gpu-1")
    code, body = await ask(served, "GET", f"{PODS}/{name}/log")
    assert (code, "no route to host" in body["message"]) == (500, True)
