"""What is known of an organization's GPUs one by one, read at one moment: for the servers' page and a GPU's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agent.report import Health
from app.domain.agents import Freshness
from app.domain.gpu_map import GpuState, Whose, doubt, state_of, whose
from app.domain.workload import Attempt
from app.panel import urls
from app.panel.workload_views import GpuLink
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store import curves, gpus, reads
from app.store.agents import AgentRecord
from app.store.gpus import Holding, Mark
from app.store.reads import Named
from app.store.servers import ServerRecord


@dataclass(frozen=True)
class Standing:
    """How a server stands now. `problem` says why it takes no work, but for a cordon of ours; `doubt` what its GPUs are
    to be taken for while its agent can't be relied on. `is_counted`: its number of healthy GPUs means something.
    """

    record: ServerRecord
    seen: ServerCapacity | None
    problem: str
    agent: AgentRecord | None
    freshness: Freshness | None
    is_counted: bool

    @classmethod
    def of(cls, record: ServerRecord, seen: ServerCapacity | None, board: Board) -> Standing:
        inventory = board.inventory
        agent = inventory.agent_of(record.server_id)
        return cls(
            record=record,
            seen=seen,
            problem=seen.unusable if seen else board.why_unseen(record.cluster),
            agent=agent,
            freshness=inventory.freshness(agent) if agent else None,
            is_counted=seen is not None and inventory.counts(record.server_id),
        )

    @property
    def takes_work(self) -> bool:
        return not (self.problem or self.record.cordon)

    @property
    def doubt(self) -> GpuState | None:
        return doubt(self.freshness, self.agent.driver_state) if self.agent and self.freshness else None

    @property
    def silence(self) -> tuple[str, datetime | None]:
        """How its agent is called that is silent, stale or lost, and since when; empty where it is heard."""
        if self.agent is None or self.freshness is None or self.doubt is not GpuState.STALE:
            return "", None
        return self.freshness.value, self.agent.received_at

    @property
    def why_closed(self) -> str:
        """Our own cordon before all else."""
        return self.record.cordon.words if self.record.cordon else self.problem

    def state(self, health: Health, users: Collection[Whose]) -> GpuState:
        """Of one of its GPUs."""
        return self.doubt or state_of(health, users, takes_work=self.takes_work)


@dataclass(frozen=True)
class User:
    """Who has a GPU, or the MIG instance of that UUID on it. `url` leads to a workload of ours."""

    whose: Whose
    words: str
    url: str = ""
    instance: str = ""
    is_shared: bool = False


@dataclass(frozen=True)
class Naming:
    """Puts holdings into words for the people of one organization."""

    slug: str
    organization_id: UUID
    names: Mapping[UUID, Named]

    @classmethod
    async def of(cls, slug: str, organization_id: UUID, holdings: Sequence[Holding]) -> Naming:
        return cls(slug, organization_id, await reads.names_of({it.workload_id for it in holdings if it.workload_id}))

    def user(self, it: Holding) -> User:
        named = self.names.get(it.workload_id) if it.workload_id else None
        who = whose(named.organization_id if named else None, self.organization_id)
        if who is Whose.HIDDEN:
            return User(who, "in use", "", it.instance, it.is_shared)
        if named and it.workload_id:
            return User(who, named.name, urls.workload(self.slug, it.workload_id), it.instance, it.is_shared)
        return User(who, it.pod_name, "", it.instance, it.is_shared)


@dataclass(frozen=True)
class Census:
    """The GPUs of many servers, as far as it takes to say what each is: `marks` by server, `users` by GPU."""

    marks: Mapping[UUID, Sequence[Mark]]
    users: Mapping[UUID, Collection[Whose]]

    @classmethod
    async def take(cls, organization_id: UUID, server_ids: Sequence[UUID]) -> Census:
        held = await gpus.held_on(server_ids)
        names = await reads.names_of({it.workload_id for it in held if it.workload_id})
        owners = {workload_id: it.organization_id for workload_id, it in names.items()}
        users: defaultdict[UUID, set[Whose]] = defaultdict(set)
        for it in held:
            users[it.gpu_id].add(whose(owners.get(it.workload_id) if it.workload_id else None, organization_id))
        marks: defaultdict[UUID, list[Mark]] = defaultdict(list)
        for mark in await gpus.marks_of(server_ids):
            marks[mark.server_id].append(mark)
        return cls(marks, users)

    def states(self, standing: Standing) -> list[GpuState]:
        """Of all GPUs that the server's agent tells of; empty where none ever did."""
        marks = self.marks.get(standing.record.id, ())
        return [standing.state(mark.health, self.users.get(mark.id, ())) for mark in marks]


Users = Mapping[UUID, Sequence[User]]  # by GPU


async def users_of(slug: str, organization_id: UUID, gpu_ids: Sequence[UUID]) -> Users:
    holdings = await gpus.holders_of(gpu_ids)
    naming = await Naming.of(slug, organization_id, holdings)
    found: defaultdict[UUID, list[User]] = defaultdict(list)
    for it in holdings:
        found[it.gpu_id].append(naming.user(it))
    return found


async def gpu_links(slug: str, attempts: Sequence[Attempt]) -> dict[int, tuple[GpuLink, ...]]:
    """Of one workload, by attempt: those that the cluster named, and those that only the servers' agents told of."""
    holdings = await gpus.holdings_of([it.workload_id for it in attempts[:1]])
    uses = await curves.uses_of(attempts)
    owners = await gpus.owners_of({it.device.gpu_id for it in uses})
    found = {it.device.instance or it.uuid: it.device.gpu_id for it in uses if owners.get(it.device.gpu_id) == slug}
    named: dict[int, dict[str, GpuLink]] = {}
    for attempt in attempts:
        told = [it.instance or it.gpu for it in holdings if it.attempt == attempt.number]
        for uuid in (*attempt.gpus, *told):
            gpu_id = found.get(uuid)
            url = urls.gpu(slug, gpu_id) if gpu_id else ""
            named.setdefault(attempt.number, {})[uuid] = GpuLink(uuid, url)
    return {number: tuple(it.values()) for number, it in named.items()}
