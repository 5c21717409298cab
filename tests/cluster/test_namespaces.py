"""Namespaces of organizations: made at first use, used only where they are marked, and what an operator is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.permissions import NEEDED_PER_ORGANIZATION
from app.cluster.port import Kind, NotSetUpError
from app.domain.namespaces import Namespaces
from tests.cluster.builders import JOB, NAMESPACE, job_json, job_spec
from tests.cluster.conftest import connected
from tests.cluster.scripted_api import Answer, Request, ScriptedApi, answer, failure

OWN = f"{NAMESPACE}-acme"
NAMESPACES = "/api/v1/namespaces"
JOBS = f"/apis/batch/v1/namespaces/{OWN}/jobs"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
MINE = answer({"metadata": {"name": OWN, "labels": {"gpuyard.dev/organization": "acme"}}})
OTHERS = answer({"metadata": {"name": OWN, "labels": {"gpuyard.dev/organization": "other"}}})
ABSENT = failure(404, "NotFound", f'namespaces "{OWN}" not found')
FORBIDDEN = failure(403, "Forbidden", "no")
CREATE = f"kubectl create namespace {OWN} && kubectl label namespace {OWN} gpuyard.dev/organization=acme"
SPEC = job_spec(namespace=OWN)


@pytest.fixture
async def port(api: ScriptedApi, tmp_path: Path) -> AsyncIterator[KubernetesPort]:
    async with connected(api, tmp_path, PortSettings(NAMESPACE, per_organization=True)) as port:
        api.on("POST", JOBS, answer(job_json()))
        yield port


async def test_one_that_is_there_is_looked_at_once(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{NAMESPACES}/{OWN}", MINE)
    for _ in range(3):
        await port.create_job(SPEC)
    assert len(api.seen("GET", f"{NAMESPACES}/{OWN}")) == 1
    assert len(api.seen("POST", JOBS)) == 3


async def test_one_that_is_missing_is_made_marked_and_guarded(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{NAMESPACES}/{OWN}", ABSENT)
    api.on("POST", NAMESPACES, answer({}))
    await port.create_job(SPEC)
    [made] = api.seen("POST", NAMESPACES)
    assert made.json["metadata"] == {
        "name": OWN,
        "labels": {
            "app.kubernetes.io/managed-by": "gpuyard",
            "gpuyard.dev/organization": "acme",
            "pod-security.kubernetes.io/enforce": "baseline",
            "pod-security.kubernetes.io/warn": "baseline",
        },
    }


async def test_where_we_may_not_make_it_the_command_is_told(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{NAMESPACES}/{OWN}", ABSENT)
    api.on("POST", NAMESPACES, FORBIDDEN)
    with pytest.raises(NotSetUpError) as caught:
        await port.create_job(SPEC)
    assert caught.value.message.endswith(CREATE)
    assert not api.seen("POST", JOBS)
    api.on("GET", f"{NAMESPACES}/{OWN}", MINE)
    await port.create_job(SPEC)


@pytest.mark.parametrize("found", [OTHERS, answer({"metadata": {"name": OWN}}), answer({})])
async def test_one_that_is_not_marked_as_its_own_is_not_used(api: ScriptedApi, port: KubernetesPort, found: Answer):
    """gpuyard-system is the program's; an organization called `system` must not get its Jobs beside the database."""
    api.on("GET", f"{NAMESPACES}/{OWN}", found)
    with pytest.raises(NotSetUpError, match=f"the namespace {OWN} exists and is not marked as that of acme"):
        await port.create_job(SPEC)
    assert not api.seen("POST", JOBS)


async def test_somebody_else_may_make_it_at_the_same_time(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{NAMESPACES}/{OWN}", ABSENT, MINE)
    api.on("POST", NAMESPACES, failure(409, "AlreadyExists", "there"))
    await port.create_job(SPEC)
    assert api.seen("POST", JOBS)


async def test_one_that_was_removed_is_looked_for_again(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{NAMESPACES}/{OWN}", MINE)
    await port.create_job(SPEC)
    api.on("POST", JOBS, ABSENT)
    with pytest.raises(NotSetUpError):
        await port.create_job(SPEC)
    api.on("POST", JOBS, answer(job_json()))
    await port.create_job(SPEC)
    assert len(api.seen("GET", f"{NAMESPACES}/{OWN}")) > 1


async def test_verbs_go_where_the_attempt_is(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    api.on("GET", f"{NAMESPACES}/{OWN}/pods", answer({"items": []}))
    api.on("DELETE", f"{JOBS}/{JOB}", answer({}))
    job, _ = await port.find(JOB, namespace=OWN)
    assert job
    await port.delete_job(JOB, job.uid, OWN)
    assert api.seen("DELETE", f"{JOBS}/{JOB}")


async def test_jobs_of_all_namespaces_are_listed_at_once(api: ScriptedApi, port: KubernetesPort):
    raw = job_json()
    raw["metadata"]["namespace"] = OWN
    api.on("GET", "/apis/batch/v1/jobs", answer({"metadata": {"resourceVersion": "1"}, "items": [raw]}))
    [job] = (await port.list_all(Kind.JOBS)).items
    assert job.namespace == OWN  # type: ignore[union-attr]
    [asked] = api.seen("GET", "/apis/batch/v1/jobs")
    assert asked.query["labelSelector"] == "app.kubernetes.io/managed-by=gpuyard"


def reviews(api: ScriptedApi, *denied: tuple[str, str]) -> None:
    """Everything is allowed but these (verb, namespace)."""

    def judge(request: Request) -> Answer:
        asked: dict[str, Any] = request.json["spec"]["resourceAttributes"]
        return answer(
            {"status": {"allowed": (f"{asked['verb']} {asked['resource']}", asked["namespace"]) not in denied}}
        )

    api.judge("POST", REVIEWS, judge)


async def test_the_check_names_what_will_not_be_made(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", "/version", answer({}))
    api.on("GET", f"{NAMESPACES}/{OWN}", ABSENT)
    api.on("GET", f"{NAMESPACES}/{NAMESPACE}-other", OTHERS)
    reviews(api)
    assert await port.check(["acme", "other"]) == ()
    reviews(api, ("create namespaces", ""))
    [missing] = await port.check(["acme", "other"])
    assert missing.endswith(CREATE)


async def test_rights_in_each_namespace_do_where_there_are_none_in_all(api: ScriptedApi, port: KubernetesPort):
    api.on("GET", "/version", answer({}))
    api.on("GET", f"{NAMESPACES}/{OWN}", MINE)
    reviews(api, ("create jobs", ""), ("delete pods", ""))
    assert await port.check(["acme"]) == ()
    reviews(api, ("create jobs", ""), ("create jobs", OWN))
    assert await port.check(["acme"]) == (f"our account may not create jobs in namespace {OWN}",)
    reviews(api, ("watch jobs", ""))
    assert await port.check(["acme"]) == ("our account may not watch jobs in the whole cluster",)


def test_no_right_is_needed_in_one_namespace_only():
    assert all(permission.everywhere for permission in NEEDED_PER_ORGANIZATION)
    assert Namespaces(NAMESPACE, per_organization=True).of("acme") == OWN
