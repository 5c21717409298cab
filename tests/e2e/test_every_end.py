"""Every end, brought about on a running product over a simulated cluster in which each server has one GPU.

All that don't need the namespace to themselves happen at once, so that the whole takes less than a minute. Left out: a
container beside the workload that goes on for ever (its end is told a minute later; tests/cluster/test_real_ends).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest
import pytest_asyncio

from tests.e2e.every_end import ALONE, AT_ONCE, End
from tests.e2e.product import CANCEL, FIELDS
from tests.e2e.site import MERGE, Site, opened_site

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

Workload = dict[str, Any]
STATUSES = '{ organization(slug: "demo") { workloads(first: 200) { edges { node { id status } } } } }'
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}
SETTINGS = {
    "node_grace_seconds": 1.0,
    "toleration_seconds": 10,
    "vanished_node_seconds": 1.0,
    "pod_gc_seconds": 0.5,
    "pod_retry_seconds": 0.5,
    "retry_seconds": 0.5,
    "log_lines": 1,
}
FLEET = [*({"name": f"one-{i:02}", "gpus": 1} for i in range(60)), {"name": "two", "gpus": 2}]
FOREIGN = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "stranger", "namespace": "default"},
    "spec": {
        "nodeName": "two",
        "containers": [
            {
                "name": "main",
                "image": "notebook:1",
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
                "env": [{"name": "SIM_SECONDS", "value": "100000"}],
            }
        ],
    },
}


@dataclass(frozen=True)
class EndingSite(Site):
    statuses: dict[str, str] = field(default_factory=dict)

    async def submit(self, end: End) -> Workload:
        wanted = {"timeoutSeconds": 600, "cpu": "1", "memory": "1Gi", **end.more}
        return await self.product.submit(FIELDS, envVars=end.environment, name=end.what, **wanted)

    async def bring_about(self, end: End) -> Workload:
        """The workload at its end."""
        workload = await self.submit(end)
        if end.act:
            status = "RUNNING" if end.executed else ""
            await ACTS[end.act](self, await self.product.until(workload["id"], status=status))
        return await self.ended(workload["id"])

    async def ended(self, workload_id: str) -> Workload:
        try:
            async with asyncio.timeout(120):
                while self.statuses.get(workload_id) not in ENDED:  # noqa: ASYNC110 — the only way to share the asking
                    await asyncio.sleep(0.1)
        except TimeoutError:
            seen = await self.product.workload(workload_id)
            raise AssertionError(f"it never ended: {seen}\n{self.product.log()[-3000:]}") from None
        return await self.product.workload(workload_id)

    async def look(self) -> NoReturn:
        """Ask for everybody together: one by one they would be slower to ask than to end."""
        while True:
            listed = (await self.product.ask(STATUSES))["data"]["organization"]["workloads"]["edges"]
            self.statuses.update({edge["node"]["id"]: edge["node"]["status"] for edge in listed})
            await asyncio.sleep(0.5)

    async def pod_path(self, workload: Workload) -> str:
        selector = f"batch.kubernetes.io/job-name={workload['jobName']}"
        found = await self.call("GET", f"/api/v1/namespaces/gpuyard/pods?labelSelector={selector}")
        return f"/api/v1/namespaces/gpuyard/pods/{found['items'][0]['metadata']['name']}"


async def cancel(site: EndingSite, workload: Workload) -> None:
    await site.product.ask(CANCEL % "id", {"id": workload["id"]})


async def taint(site: EndingSite, workload: Workload) -> None:
    body = {"spec": {"taints": [{"key": "team", "value": "a", "effect": "NoExecute"}]}}
    await site.call("PATCH", f"/api/v1/nodes/{workload['server']}", body, MERGE)


async def silence(site: EndingSite, workload: Workload) -> None:
    """Of its server, shorter than its pod would bear."""
    await site.call("POST", f"/simcluster/nodes/{workload['server']}/lost")
    await site.product.until(workload["id"], phase="UNKNOWN")
    await site.call("POST", f"/simcluster/nodes/{workload['server']}/back")
    await site.product.until(workload["id"], phase="RUNNING")
    await site.product.exit(workload["id"])


async def long_silence(site: EndingSite, workload: Workload) -> None:
    path = await site.pod_path(workload)
    await site.call("POST", f"/simcluster/nodes/{workload['server']}/lost")
    async with asyncio.timeout(60):
        while "deletionTimestamp" not in (await site.call("GET", path))["metadata"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    await site.call("POST", f"/simcluster/nodes/{workload['server']}/back")


async def remove_node(site: EndingSite, workload: Workload) -> None:
    await site.call("DELETE", f"/api/v1/nodes/{workload['server']}")


async def force_delete(site: EndingSite, workload: Workload) -> None:
    await site.call("DELETE", await site.pod_path(workload), {"gracePeriodSeconds": 0})


ACTS: dict[str, Callable[[EndingSite, Workload], Awaitable[None]]] = {
    "cancel": cancel,
    "taint": taint,
    "silence": silence,
    "long_silence": long_silence,
    "remove_node": remove_node,
    "force_delete": force_delete,
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EndingSite]:
    async with opened_site(tmp_path_factory.mktemp("ends"), FLEET, SETTINGS) as opened:
        site = EndingSite(opened.product, opened.kubernetes)
        looking = asyncio.create_task(site.look())
        yield site
        looking.cancel()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def at_once(site: EndingSite) -> dict[str, Workload]:
    """All at the same time, by what happens to them."""
    ended = await asyncio.gather(*(site.bring_about(end) for end in AT_ONCE))
    return {end.what: workload for end, workload in zip(AT_ONCE, ended, strict=True)}


def check(end: End, workload: Workload) -> None:
    """Everything that is said of the end."""
    assert (workload["status"], workload["reason"]) == (end.status, end.reason), workload["message"]
    assert (workload["exitCode"], workload["signal"]) == (end.exit_code, end.signal)
    assert end.words in workload["message"]
    assert workload["succeeded"] is (end.status == "COMPLETED" and end.exit_code == 0)
    assert (workload["startedAt"] is not None) is end.executed
    times = [workload[name] for name in ("createdAt", "startedAt", "completedAt")]
    seconds = [time[:19] for time in times if time]  # the cluster's own stamps have no parts of a second
    assert seconds == sorted(seconds)
    assert times[2]
    assert len(workload["attempts"]) == end.tries
    assert len({attempt["server"] for attempt in workload["attempts"]}) == end.tries  # each on another server
    assert [attempt["reason"] for attempt in workload["attempts"]] == [end.reason] * end.tries
    types = [event["type"] for event in workload["events"]]
    assert (types[0], types[-1], types.count("ENDED")) == ("SUBMITTED", "ENDED", 1)
    assert types.count("RETRYING") == max(0, end.tries - 1)


@pytest.mark.parametrize("end", AT_ONCE, ids=[end.what for end in AT_ONCE])
async def test_the_end_is_told_apart(at_once: dict[str, Workload], end: End):
    check(end, at_once[end.what])


async def test_a_silence_is_told_while_it_lasts(at_once: dict[str, Workload]):
    phases = [event["phase"] for event in at_once["its server is silent for a while"]["events"]]
    assert phases[-3:] == ["UNKNOWN", "RUNNING", "COMPLETED"]


async def test_no_end_changes_and_nothing_is_held_for_ever(site: EndingSite, at_once: dict[str, Workload]):
    again = await asyncio.gather(*(site.product.workload(workload["id"]) for workload in at_once.values()))
    assert list(again) == list(at_once.values())
    async with asyncio.timeout(60):
        while await held(site):  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.2)


async def held(site: EndingSite) -> list[str]:
    """Pods that somebody deleted and our finalizer keeps."""
    pods = (await site.call("GET", "/api/v1/namespaces/gpuyard/pods"))["items"]
    metadata = [pod["metadata"] for pod in pods]
    return [m["name"] for m in metadata if m.get("deletionTimestamp") and "gpuyard.dev/recorded" in m["finalizers"]]


def alone(what: str) -> End:
    return next(end for end in ALONE if end.what == what)


async def test_a_server_that_is_full_for_too_long(site: EndingSite, at_once: dict[str, Workload]):
    """A stranger has one of its two GPUs, and says so to nobody but Kubernetes."""
    await site.call("POST", "/api/v1/namespaces/default/pods", FOREIGN)
    for what in ("it finds no server in time", "it is cancelled before it is placed"):
        check(alone(what), await site.bring_about(alone(what)))


async def test_a_quota_that_is_used_up_ends_nothing_until_the_start_limit(
    site: EndingSite, at_once: dict[str, Workload]
):
    path = "/api/v1/namespaces/gpuyard/resourcequotas"
    await site.call("POST", path, {"metadata": {"name": "full"}, "spec": {"hard": {"count/jobs.batch": "0"}}})
    end = alone("the quota of its namespace is used up")
    patient = await site.product.submit(envVars=end.environment)
    check(end, await site.bring_about(end))
    waits = await site.product.workload(patient["id"])
    assert (waits["status"], waits["reason"]) == ("PENDING", "JOB_NOT_CREATED")
    assert end.words in waits["message"]
    await site.call("DELETE", f"{path}/full")
    assert (await site.ended(patient["id"]))["succeeded"]


async def test_a_namespace_that_is_removed_and_made_again(site: EndingSite, at_once: dict[str, Workload]):
    removed, gone = alone("its namespace is removed"), alone("its namespace is gone")
    running = await site.submit(removed)
    await site.product.until(running["id"], status="RUNNING")
    await site.call("DELETE", "/api/v1/namespaces/gpuyard")
    check(removed, await site.ended(running["id"]))
    check(gone, await site.bring_about(gone))
    patient = await site.product.submit(envVars=gone.environment)
    await site.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gpuyard"}})
    assert (await site.ended(patient["id"]))["succeeded"]
