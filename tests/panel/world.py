"""The web app on a real database without background loops, and people who look at it with a browser of few words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any, cast
from uuid import UUID, uuid4

import httpx2
from starlette.applications import Starlette

from app.auth import sessions
from app.bus import Bus
from app.cluster.port import ClusterPort
from app.cluster.projection import Projection
from app.commands.context import CommandContext
from app.domain.lifecycle import Policy
from app.domain.people import Organization, Project, Role
from app.domain.states import Phase, Reason, Status
from app.domain.submission import Defaults
from app.domain.workload import Attempt, Workload
from app.graphql.context import Services
from app.panel.streams import Streams
from app.reconcile.background import Background
from app.reconcile.clusters import Cluster
from app.reconcile.logs import LogReader
from app.store import people, reads, servers
from app.store.models import AttemptRow, EventRow, WorkloadRow
from app.store.writes import Change, apply_changes, insert_workload
from app.web import build_web
from tests.clock import START, ManualClock
from tests.domain.builders import a_submission, a_workload
from tests.log_port import LogPort
from tests.placement.builders import node

LIST = "/orgs/acme/platform/gpu-workloads"
GPU = "GPU-5ad5c1e0-2222-3333-4444-555555555555"
HTMX = {"hx-request": "true", "hx-request-type": "partial"}


@dataclass
class Panel:
    """Organizations: `acme` is ready, `paused` has the feature off, `empty` no servers, `other` is strangers'."""

    web: Starlette
    clock: ManualClock
    bus: Bus
    background: Background
    streams: Streams
    port: LogPort
    organizations: dict[str, Organization] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    users: dict[str, UUID] = field(default_factory=dict)

    async def secret(self, who: str) -> str:
        return await sessions.begin(self.users[who], self.clock.now())

    @asynccontextmanager
    async def browser(self, who: str | None = "admin", *, base: str = "http://gpuyard") -> AsyncIterator[Browser]:
        """Signed in, unless `who` is None. Failures of the app are answers here, as they are for people."""
        secret = await self.secret(who) if who else ""
        name = "__Host-gpuyard_session" if base.startswith("https") else "gpuyard_session"
        transport = httpx2.ASGITransport(self.web, raise_app_exceptions=False)
        cookies = {name: secret} if who else {}
        async with httpx2.AsyncClient(transport=transport, base_url=base, cookies=cookies) as client:
            yield Browser(client, sessions.form_token(secret) if who else "")

    async def workload(self, *, spec: Mapping[str, Any] | None = None, org: str = "acme", **changes: Any) -> Workload:
        """A stored one that waits."""
        values = {"id": uuid4(), "organization_id": self.organizations[org].id, "created_at": self.clock.now()}
        workload = a_workload(**{**values, "queued_at": self.clock.now(), "message": "waits for GPUs", **changes})
        await insert_workload(replace(workload, spec=a_submission(**(spec or {}))))
        self.bus.wake_events(workload.organization_id)
        return await stored(workload.id)

    async def change(self, workload: Workload, **changes: Any) -> Workload:
        """As the reconciler would write it: with an event if status, phase or reason changed."""
        after = replace(workload, **changes)
        assert await apply_changes(workload.organization_id, [Change(workload, after)], self.clock.now()) == [True]
        self.bus.wake_events(workload.organization_id)
        return await stored(workload.id)

    async def placed(self, workload: Workload) -> Workload:
        """Its container doesn't execute yet."""
        now = self.clock.now()
        attempt = Attempt(workload.id, 1, "gpu-1", "nvidia.com/gpu", placed_at=now, cluster="default")
        after = replace(
            workload, phase=Phase.INITIALIZING, reason=Reason.STARTING, attempt=1, server="gpu-1", cluster="default"
        )
        assert await apply_changes(workload.organization_id, [Change(workload, after, None, attempt)], now) == [True]
        return await stored(workload.id)

    async def running(self, workload: Workload) -> Workload:
        now, number = self.clock.now(), workload.attempt + 1
        attempt = Attempt(
            workload.id, number, "gpu-1", "nvidia.com/gpu", now, started_at=now, gpus=(GPU,), cluster="default"
        )
        after = replace(
            workload,
            status=Status.RUNNING,
            phase=Phase.RUNNING,
            reason=Reason.EXECUTING,
            message="executing on gpu-1",
            attempt=number,
            started_at=now,
            server="gpu-1",
            cluster="default",
            gpus=(GPU,),
        )
        assert await apply_changes(workload.organization_id, [Change(workload, after, None, attempt)], now) == [True]
        return await stored(workload.id)

    async def ended(self, workload: Workload, exit_code: int = 0) -> Workload:
        return await self.end(
            workload,
            status=Status.COMPLETED,
            phase=Phase.COMPLETED,
            reason=Reason.EXITED,
            message=f"ended with exit code {exit_code}",
            exit_code=exit_code,
        )

    async def end(self, workload: Workload, **changes: Any) -> Workload:
        """The workload and its last attempt; the log of that isn't stored yet."""
        now = self.clock.now()
        attempt = (await reads.attempts_of([workload.id]))[-1]
        over = replace(attempt, ended_at=now, exit_code=changes.get("exit_code"))
        change = Change(workload, replace(workload, completed_at=now, **changes), attempt, over)
        assert await apply_changes(workload.organization_id, [change], now) == [True]
        self.bus.wake_events(workload.organization_id)
        return await stored(workload.id)


@dataclass
class Browser:
    client: httpx2.AsyncClient
    form_token: str

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(path, headers={"accept": "text/html", **headers})

    async def post(
        self, path: str, form: Mapping[str, str] | None = None, *, token: str | None = None, **headers: str
    ) -> httpx2.Response:
        """With the session's form token, unless another is given; an empty one is left out."""
        given = self.form_token if token is None else token
        data = {**({"form_token": given} if given else {}), **(form or {})}
        return await self.client.post(path, data=data, headers={"accept": "text/html", **headers})


async def stored(workload_id: UUID) -> Workload:
    found = await reads.load_workload(workload_id)
    assert found is not None
    return found


async def written() -> dict[str, int]:
    """How many rows there are of what a command writes, but for the audit."""
    tables = {"workloads": WorkloadRow, "attempts": AttemptRow, "events": EventRow}
    return {name: await table.all().count() for name, table in tables.items()}


def build_panel(clock: ManualClock, names: Sequence[str] = ("default",)) -> Panel:
    bus, port, streams = Bus(), LogPort(), Streams()
    clusters = [Cluster(name, cast("ClusterPort", port), Projection("gpuyard")) for name in names]
    background = Background(clusters, bus, clock, Policy(45, 10, 3600))
    logs = LogReader({"default": clusters[0]}, 30 * 24 * 3600)
    services = Services(CommandContext(clock, bus, Defaults()), background.board, logs, background.forecaster)
    return Panel(build_web(services, background, streams), clock, bus, background, streams, port)


async def populate(panel: Panel) -> None:
    for slug in ("acme", "paused", "empty", "other"):
        panel.organizations[slug] = await people.add_organization(
            slug, slug.title(), enabled=slug != "paused", is_default=slug == "acme", at=START
        )
    for project, slug in (("vision", "acme"), ("theirs", "other")):
        panel.projects[project] = await people.add_project(
            panel.organizations[slug].id, project, project.title(), START
        )
    for role in Role:
        await add_person(panel, role.value, role, "acme", "paused", "empty")
    await add_person(panel, "stranger", Role.OWNER, "other")
    await add_person(panel, "nobody", Role.OWNER)
    nodes = [(node("gpu-1", 8), "acme"), (node("gpu-2", 2), "acme"), (node("gpu-9", 16, pool="other"), "other")]
    await servers.record_nodes("default", [*nodes, (node("gpu-0", 4, pool="paused"), "paused")], START)


async def add_person(panel: Panel, name: str, role: Role, *slugs: str, password_hash: str = "") -> None:
    user = await people.add_user(f"{name}@example.org", password_hash, START)
    panel.users[name] = user.id
    for slug in slugs:
        await people.set_membership(panel.organizations[slug].id, user.id, role, START)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if attributes.get("id"):
            self.ids.append(attributes["id"])

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@dataclass(frozen=True)
class Page:
    """What a page says and holds, for tests."""

    text: str
    ids: list[str]
    tags: list[tuple[str, dict[str, str]]]

    @classmethod
    def of(cls, html: str) -> Page:
        reader = _Reader()
        reader.feed(html)
        return cls(" ".join(" ".join(reader.words).split()), reader.ids, reader.tags)

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [a for name, a in self.tags if name == tag and all(a.get(k) == v for k, v in wanted.items())]

    def value(self, name: str) -> str:
        """What an input holds."""
        [found] = [a for tag, a in self.tags if tag == "input" and a.get("name") == name]
        return found.get("value", "")


def location(response: httpx2.Response) -> str:
    assert response.status_code == 303, (response.status_code, response.text[:500])
    where: str = response.headers["location"]
    return where


def row_ids(html: str) -> list[str]:
    return re.findall(r'<tr id="w-([0-9a-f-]{36})"', html)
