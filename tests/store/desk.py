"""A desk for command tests: an organization with one 8-GPU server, its people, and what the store holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.bus import Bus, Listeners
from app.commands.context import CommandContext
from app.domain.people import ALL_SCOPES, Organization, Principal, Role
from app.domain.submission import Defaults, Draft
from app.store import servers
from app.store.models import AttemptRow, AuditRow, EventRow, WorkloadRow
from tests.clock import START, ManualClock
from tests.placement.builders import node
from tests.store.builders import an_organization


@dataclass
class Desk:
    organization: Organization
    clock: ManualClock
    woken: list[object] = field(default_factory=list)

    @property
    def context(self) -> CommandContext:
        bus = Bus()
        bus.listen(Listeners(queue=lambda: self.woken.append("queue"), workload=self.woken.append))
        return CommandContext(self.clock, bus, Defaults())

    def person(self, role: Role = Role.OWNER, **changes: Any) -> Principal:
        values = {"name": f"{role}@example.org", "roles": {self.organization.id: role}, "scopes": ALL_SCOPES}
        return Principal(**{**values, **changes})


async def a_desk(clock: ManualClock, *, gpus: int = 8, enabled: bool = True) -> Desk:
    organization = await an_organization(enabled=enabled)
    nodes = [(node("gpu-1", gpus), "acme"), (node("gpu-2", 1), "acme"), (node("big", 64), "other")]
    await servers.record_nodes("default", nodes if gpus else nodes[2:], START)
    return Desk(organization, clock)


def a_draft(**changes: Any) -> Draft:
    return Draft(**{"image": "nvidia/cuda", "tag": "12.2.0-base-ubuntu22.04", **changes})


async def rows() -> dict[str, int]:
    """How much there is of what a refusal must not touch."""
    models = {"workloads": WorkloadRow, "attempts": AttemptRow, "events": EventRow}
    return {name: await model.all().count() for name, model in models.items()}


async def refusals() -> list[tuple[str, str, str, str]]:
    """Who was refused what in which organization, and with which code."""
    found = await AuditRow.all().order_by("id").values_list("actor", "action", "organization_slug", "outcome")
    return [(str(actor), str(action), str(slug), str(outcome)) for actor, action, slug, outcome in found]


def nobody() -> Principal:
    return Principal("mallory@example.org", {UUID(int=1): Role.OWNER})
