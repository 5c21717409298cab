"""Everything else that can be read: the caller, organizations, servers, one workload; and what reading costs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from app.store import servers
from tests.api.world import PAGE, WORKLOAD, Api
from tests.clock import START
from tests.placement.builders import GI, GPU, node, pod
from tests.store.builders import a_placed_workload, a_stored_workload

VIEWER = "{ viewer { name email scopes organizations { slug name role gpuWorkloadsEnabled } } }"
SERVERS = """
{ organization(slug: "acme") { servers {
  name product driverVersion cudaVersion gpuMemoryMib gpuCount gpusHealthy gpusFree computeCapability
  gpuResources { name migProfile shared total healthy free } cpuFreeMillis memoryFreeBytes
  usable unusableReason changedAt goneAt
} } }
"""
WITH_DETAILS = PAGE.replace(
    "node { id", "node { project { slug } attempts { number server } events { type workload { id } } id"
)


async def test_the_viewer_of_a_persons_token(api: Api):
    viewer = (await api.data(VIEWER))["viewer"]
    assert (viewer["name"], viewer["email"]) == ("admin@example.org", "admin@example.org")
    assert viewer["scopes"] == ["ORGANIZATION_ADMIN", "WORKLOADS_READ", "WORKLOADS_WRITE"]
    assert [(o["slug"], o["role"], o["gpuWorkloadsEnabled"]) for o in viewer["organizations"]] == [
        ("acme", "ADMIN", True),
        ("empty", "ADMIN", True),
        ("paused", "ADMIN", False),
    ]


async def test_the_viewer_of_a_service_token(api: Api):
    viewer = (await api.data(VIEWER, who="service"))["viewer"]
    assert (viewer["name"], viewer["email"]) == ("token service", None)
    assert [o["slug"] for o in viewer["organizations"]] == ["acme"]


@pytest.mark.parametrize("who", ["owner", "admin", "member", "viewer", "reader", "manager"])
async def test_every_member_sees_the_organization_and_its_projects(api: Api, who: str):
    found = (await api.data('{ organization(slug: "acme") { name role projects { slug name } } }', who=who))[
        "organization"
    ]
    assert found["projects"] == [{"slug": "vision", "name": "Vision"}]
    assert found["name"] == "Acme"


@pytest.mark.parametrize("slug", ["other", "nowhere", "", "ACME", "a\0b", "x" * 10_000, "é"])
async def test_an_organization_that_is_not_ones_own_looks_like_none(api: Api, slug: str):
    answer = await api.ask("query($s: String!) { organization(slug: $s) { name } }", {"s": slug})
    assert answer["data"] == {"organization": None}
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert answer["errors"][0]["message"] == f"there is no organization {slug[:80]!r} that you belong to"


@pytest.mark.parametrize(
    ("who", "org", "code"),
    [
        ("member", "acme", "FORBIDDEN"),
        ("viewer", "acme", "FORBIDDEN"),
        ("manager", "acme", "FORBIDDEN"),
        ("admin", "paused", "PRECONDITION_FAILED"),
        ("admin", "empty", "PRECONDITION_FAILED"),
    ],
)
@pytest.mark.parametrize(
    "field", ["servers { name }", "workloads { totalCount }", f'workload(id: "{UUID(int=1)}") {{ id }}']
)
async def test_workloads_and_servers_are_for_those_who_may(api: Api, who: str, org: str, code: str, field: str):
    query = f'{{ organization(slug: "{org}") {{ slug {field} }} }}'
    assert (await api.refusal(query, who=who))["code"] == code


async def test_a_token_that_only_reads_reads(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    assert await api.workload(str(workload.id), "id", who="reader") == {"id": str(workload.id)}


async def test_another_organizations_workload_is_null(api: Api):
    theirs = await a_stored_workload(api.organizations["other"])
    assert await api.workload(str(theirs.id), "id") is None
    assert await api.workload(str(UUID(int=3)), "id") is None
    assert await api.workload(str(theirs.id), "id", org="other", who="stranger") is not None


async def test_what_is_no_uuid_is_told(api: Api):
    error = await api.refusal(WORKLOAD % "id", {"org": "acme", "id": "nonsense"})
    assert 'Value cannot represent a UUID: "nonsense"' in error["message"]


async def test_a_server_that_the_cluster_does_not_show_is_on_record_only(api: Api):
    found = (await api.data(SERVERS))["organization"]["servers"]
    assert [(s["name"], s["gpuCount"], s["goneAt"]) for s in found] == [("gpu-1", 8, None), ("gpu-2", 2, None)]
    assert {(s["usable"], s["unusableReason"], s["gpusFree"]) for s in found} == {
        (False, "the cluster does not show it", None)
    }


async def test_a_server_that_the_cluster_shows(api: Api):
    shown = node("gpu-1", 8, allocatable_gpus=((GPU, 7),), product="NVIDIA-H100", driver="535.104.05", cuda="12.2")
    await servers.record_nodes("default", [(shown, "acme")], START)
    api.projection.put(shown)
    api.projection.put(pod("gpu-1", gpus=3))
    found = (await api.data(SERVERS))["organization"]["servers"]
    assert {name: found[0][name] for name in ("product", "driverVersion", "cudaVersion")} == {
        "product": "NVIDIA-H100",
        "driverVersion": "535.104.05",
        "cudaVersion": "12.2",
    }
    assert (found[0]["gpuCount"], found[0]["gpusHealthy"], found[0]["gpusFree"]) == (8, 7, 4)
    assert (found[0]["cpuFreeMillis"], found[0]["memoryFreeBytes"]) == (60_000, 496 * GI)
    assert (found[0]["usable"], found[0]["unusableReason"]) == (True, None)
    assert (found[1]["name"], found[1]["goneAt"]) == ("gpu-2", START.isoformat())


async def test_slices_and_shares_are_counted_by_themselves(api: Api):
    slices, shares = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"
    counts = ((GPU, 2), (shares, 8), (slices, 7))
    mixed = node("gpu-1", capacity_gpus=counts, allocatable_gpus=counts, compute_capability=(8, 0))
    await servers.record_nodes("default", [(mixed, "acme")], START)
    api.projection.put(mixed)
    api.projection.put(pod("gpu-1", gpu_requests=((slices, 3),)))
    found = (await api.data(SERVERS))["organization"]["servers"][0]
    assert (found["gpuCount"], found["gpusFree"], found["computeCapability"]) == (2, 2, "8.0")
    assert [tuple(it.values()) for it in found["gpuResources"]] == [
        (GPU, None, False, 2, 2, 2),
        (shares, None, True, 8, 8, 8),
        (slices, "1g.10gb", False, 7, 7, 4),
    ]


@contextmanager
def statements() -> Iterator[list[str]]:
    """What is sent to the database meanwhile."""
    sent: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sent.append(record.getMessage())

    logger, collector = logging.getLogger("tortoise.db_client"), Collector()
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    try:
        yield sent
    finally:
        logger.setLevel(level)
        logger.removeHandler(collector)


async def cost(api: Api) -> tuple[int, dict[str, Any]]:
    with statements() as sent:
        answer = await api.data(WITH_DETAILS, {"org": "acme", "first": 100})
    return len(sent), answer["organization"]["workloads"]


async def test_details_of_a_page_cost_the_same_few_statements_for_any_number_of_workloads(api: Api):
    acme, project = api.organizations["acme"], api.projects["vision"].id
    await a_placed_workload(acme, spec={"project_id": project})
    few, _ = await cost(api)
    made = [await a_placed_workload(acme, spec={"project_id": project}) for _ in range(40)]
    many, found = await cost(api)
    assert few == many
    assert many <= 12
    last = next(e["node"] for e in found["edges"] if e["node"]["id"] == str(made[-1][0].id))
    assert (last["project"], last["attempts"]) == ({"slug": "vision"}, [{"number": 1, "server": "gpu-1"}])
    assert last["events"] == [{"type": t, "workload": {"id": last["id"]}} for t in ("SUBMITTED", "PLACED")]


WHERE = """
{ organization(slug: "acme") {
  servers { name cluster } workload(id: "%s") { cluster server attempts { cluster server } }
} }
"""


async def test_what_is_somewhere_says_in_which_cluster(api: Api):
    organization = api.organizations["acme"]
    waiting = await a_stored_workload(organization)
    placed, _ = await a_placed_workload(organization)
    await servers.record_nodes("munich", [(node("gpu-1", 4), "acme")], START)
    found = (await api.data(WHERE % placed.id))["organization"]
    assert found["workload"] == {
        "cluster": "default",
        "server": "gpu-1",
        "attempts": [{"cluster": "default", "server": "gpu-1"}],
    }
    assert [(it["cluster"], it["name"]) for it in found["servers"]] == [
        ("default", "gpu-1"),
        ("munich", "gpu-1"),
        ("default", "gpu-2"),
    ]
    assert (await api.data(WHERE % waiting.id))["organization"]["workload"]["cluster"] is None
