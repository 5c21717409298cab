"""The web app on a real database without background loops, and how the tests speak to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import httpx2
from starlette.types import ASGIApp

from app.auth.secrets import hash_token
from app.bus import Bus
from app.cluster.port import ClusterPort
from app.cluster.projection import Projection
from app.commands.context import CommandContext
from app.domain.agents import AgentBinding
from app.domain.lifecycle import Policy
from app.domain.people import ALL_SCOPES, Organization, Project, Role, Scope
from app.domain.submission import Defaults
from app.domain.volumes import Volume, VolumeKind
from app.graphql.context import Services
from app.reconcile.background import Background
from app.reconcile.clusters import Cluster
from app.reconcile.logs import LogReader
from app.store import agent_tokens, people, servers, volumes
from app.store.models import AttemptRow, AuditRow, EventRow, WorkloadRow
from app.web import build_web
from tests.clock import START, ManualClock
from tests.log_port import LogPort
from tests.placement.builders import node

SUBMIT = "mutation($input: SubmitWorkloadInput!) { submitWorkload(input: $input) { isNew workload { %s } } }"
CANCEL = "mutation($id: UUID!) { cancelWorkload(input: {id: $id}) { workload { id status phase reason message } } }"
WORKLOAD = "query($org: String!, $id: UUID!) { organization(slug: $org) { workload(id: $id) { %s } } }"
PAGE = """
query(
  $org: String!, $first: Int! = 50, $after: String, $offset: Int! = 0, $status: [WorkloadStatus!]
  $filterBy: [String!], $search: String, $sortBy: WorkloadSortField, $sortOrder: SortOrder, $deleted: Boolean! = false
) {
  organization(slug: $org) { workloads(
    first: $first, after: $after, offset: $offset, status: $status
    filterBy: $filterBy, search: $search, sortBy: $sortBy, sortOrder: $sortOrder, deleted: $deleted
  ) {
    totalCount edges { cursor node { id name status } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""
EVENTS = """
subscription($org: String!, $after: String) {
  workloadEvents(organization: $org, after: $after) { cursor workloadId type status }
}
"""

VOLUMES = (
    ("data", VolumeKind.HOST_PATH, "/srv/secret-place"),
    ("models", VolumeKind.PVC, "secret-claim"),
    ("shared", VolumeKind.NFS, "secret-server:/secret-export"),
)
AGENTS = {
    "agent": AgentBinding("default", "gpu-1"),
    "agent of all": AgentBinding("default"),
    "agent elsewhere": AgentBinding("elsewhere", "gpu-1"),
}


def secret(name: str) -> str:
    return f"gpuyard_{name}"


@dataclass
class Api:
    """Organizations: `acme` is ready, `paused` has the feature off, `empty` no servers, `other` is strangers'."""

    web: ASGIApp
    services: Services
    background: Background
    clock: ManualClock
    port: LogPort
    organizations: dict[str, Organization] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    token_ids: dict[str, Any] = field(default_factory=dict)

    @property
    def projection(self) -> Projection:
        return self.background.clusters[0].projection

    @asynccontextmanager
    async def client(self, who: str | None = "admin", **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
        sent = {**({"authorization": f"Bearer {secret(who)}"} if who else {}), **headers}
        transport = httpx2.ASGITransport(self.web)
        async with httpx2.AsyncClient(transport=transport, base_url="http://gpuyard", headers=sent) as client:
            yield client

    async def post(self, body: Any, *, who: str | None = "admin") -> httpx2.Response:
        """Bytes and text go as they are, everything else as JSON; what is sent is called JSON in any case."""
        content = body if isinstance(body, bytes | str) else json.dumps(body)
        async with self.client(who, **{"content-type": "application/json"}) as client:
            return await client.post("/graphql", content=content)

    async def ask(
        self, query: str, variables: Mapping[str, Any] | None = None, *, who: str | None = "admin"
    ) -> dict[str, Any]:
        """The whole answer, errors included."""
        response = await self.post({"query": query, "variables": variables or {}}, who=who)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def data(self, query: str, variables: Mapping[str, Any] | None = None, *, who: str = "admin") -> Any:
        """The answer's data, which must come without errors."""
        answer = await self.ask(query, variables, who=who)
        assert "errors" not in answer, answer
        return answer["data"]

    async def refusal(
        self, query: str, variables: Mapping[str, Any] | None = None, *, who: str | None = "admin"
    ) -> dict[str, Any]:
        """The one error of an answer, its extensions beside its message."""
        answer = await self.ask(query, variables, who=who)
        assert len(answer.get("errors", ())) == 1, answer
        error = answer["errors"][0]
        return {"message": error["message"], **error.get("extensions", {})}

    async def submit(self, fields: str = "id", *, who: str = "admin", **wanted: Any) -> dict[str, Any]:
        answer = await self.data(SUBMIT % fields, {"input": a_request(**wanted)}, who=who)
        workload: dict[str, Any] = answer["submitWorkload"]["workload"]
        return workload

    async def refuse_submit(self, *, who: str | None = "admin", **wanted: Any) -> dict[str, Any]:
        return await self.refusal(SUBMIT % "id", {"input": a_request(**wanted)}, who=who)

    async def workload(self, workload_id: str, fields: str, *, org: str = "acme", who: str = "admin") -> Any:
        answer = await self.data(WORKLOAD % fields, {"org": org, "id": workload_id}, who=who)
        return answer["organization"]["workload"]


def a_request(**wanted: Any) -> dict[str, Any]:
    """The input of a submission that is fine, but for `wanted`."""
    return {"organization": "acme", "image": "busybox:1.36", **wanted}


def build_api(clock: ManualClock) -> Api:
    bus = Bus()
    port = LogPort()  # nothing runs that would ask more of a cluster
    cluster = Cluster("default", cast("ClusterPort", port), Projection("gpuyard"))
    background = Background([cluster], bus, clock, Policy(45, 10, 3600))
    logs = LogReader({cluster.name: cluster}, 30 * 24 * 3600)
    services = Services(CommandContext(clock, bus, Defaults()), background.board, logs, background.forecaster)
    return Api(build_web(services, background), services, background, clock, port)


async def populate(api: Api) -> None:
    await _organizations(api)
    await _tokens(api)
    nodes = [(node("gpu-1", 8), "acme"), (node("gpu-2", 2), "acme"), (node("gpu-9", 16, pool="other"), "other")]
    await servers.record_nodes("default", [*nodes, (node("gpu-0", 4, pool="paused"), "paused")], START)


async def _organizations(api: Api) -> None:
    for slug in ("acme", "paused", "empty", "other"):
        enabled = slug != "paused"
        api.organizations[slug] = await people.add_organization(
            slug, slug.title(), enabled=enabled, is_default=slug == "acme", at=START
        )
    for name, kind, source in VOLUMES:
        volume = Volume(api.organizations["acme"].id, name, kind, source, read_only=name == "models")
        await volumes.add_volume(volume, START)
    for project, slug in (("vision", "acme"), ("theirs", "other")):
        api.projects[project] = await people.add_project(api.organizations[slug].id, project, project.title(), START)


async def _tokens(api: Api) -> None:
    acme, other = api.organizations["acme"], api.organizations["other"]
    for role in Role:
        user_id = (await people.add_user(f"{role}@example.org", "", START)).id
        for slug in ("acme", "paused", "empty"):
            await people.set_membership(api.organizations[slug].id, user_id, role, START)
        await _token(api, role.value, user_id=user_id)
        if role is Role.ADMIN:
            await _token(api, "reader", Scope.WORKLOADS_READ, user_id=user_id)
            await _token(api, "manager", Scope.ORGANIZATION_ADMIN, user_id=user_id)
            await _token(api, "brief", user_id=user_id, expires_at=START + timedelta(hours=1))
            await people.revoke_token(await _token(api, "revoked", user_id=user_id), START)
            await _token(api, "expired", user_id=user_id, expires_at=START)
    await _token(api, "service", organization_id=acme.id, role=Role.ADMIN)
    await _token(api, "stranger", organization_id=other.id, role=Role.OWNER)
    for name, binding in AGENTS.items():
        api.token_ids[name] = await agent_tokens.add_agent_token(hash_token(secret(name)), name, binding, START)


async def _token(api: Api, name: str, *scopes: Scope, **whose: Any) -> Any:
    made = await people.add_token(hash_token(secret(name)), name, frozenset(scopes) or ALL_SCOPES, START, **whose)
    api.token_ids[name] = made
    return made


async def written() -> dict[str, int]:
    """How many rows of what a command may write there are."""
    tables = {"workloads": WorkloadRow, "attempts": AttemptRow, "events": EventRow, "audit": AuditRow}
    return {name: await table.all().count() for name, table in tables.items()}


async def last_audit() -> dict[str, Any]:
    row = await AuditRow.all().order_by("-id").first()
    assert row is not None
    return {
        name: getattr(row, name) for name in ("actor", "action", "organization_slug", "outcome", "target", "detail")
    }
