"""Workload, attempt and event as the API shows them. `from_domain` is total and fetches nothing."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

import strawberry

from app.domain import gpus
from app.domain import workload as domain
from app.domain.actions import actions_supported
from app.domain.errors import InvalidInputError
from app.domain.gpu_map import Whose, whose
from app.domain.quantity import format_cpu
from app.domain.waits import totals, waits
from app.graphql.context import Info
from app.graphql.cursors import event_cursor
from app.graphql.enums import Action, EventType, Phase, Priority, Reason, Status
from app.graphql.nodes.log import WorkloadLog
from app.graphql.nodes.metrics import DEFAULT_SAMPLES, End, Metric, NumberOfSamples, Start, Types, metrics_of, query
from app.graphql.nodes.project import Project
from app.graphql.nodes.telemetry import idle_of
from app.graphql.nodes.waiting import QueuePlace, Wait, WaitTotal, queue_place
from app.graphql.scalars import Long
from app.graphql.shared_answers import Answers
from app.reconcile.logs import MOST_LINES, Most, choose_attempt
from app.reconcile.numbers import DEFAULT_WINDOW
from app.store.gpus import Holding

DEFAULT_LINES = 1000


@strawberry.type(description="One environment variable of the container.")
class EnvVar:
    name: str = strawberry.field(description="Name of the variable.")
    value: str = strawberry.field(description="As it was given.")


@strawberry.type(description="One label of a workload.")
class Label:
    key: str = strawberry.field(description="With its prefix, where it has one.")
    value: str = strawberry.field(description="May be empty.")


@strawberry.type(description="A volume in the container.")
class Mount:
    name: str = strawberry.field(description="Name of the organization's volume.")
    path: str = strawberry.field(description="Where the container finds it.")
    read_only: bool = strawberry.field(description="As it was given; a read-only volume is never writable.")


@strawberry.type(
    description="Who has or had a GPU, from the report that first told of it until the first that no longer did."
)
class GpuHolding:
    noun: strawberry.Private[Holding]
    organization_id: strawberry.Private[UUID]
    gpu_id: UUID = strawberry.field(description="The GPU on record.")
    gpu: str = strawberry.field(description="Its UUID.")
    instance: str | None = strawberry.field(description="UUID of the MIG instance; null: the whole GPU.")
    attempt: int | None = strawberry.field(description="Number of the workload's attempt; null for a foreign pod.")
    is_shared: bool = strawberry.field(description="Whether others may have had it at the same time.")
    since: datetime = strawberry.field(description="When the server's agent first told of it.")
    until: datetime | None = strawberry.field(description="When it was over; null: not yet.")

    @classmethod
    def from_domain(cls, noun: Holding, organization_id: UUID) -> Self:
        return cls(
            noun=noun,
            organization_id=organization_id,
            gpu_id=noun.gpu_id,
            gpu=noun.gpu,
            instance=noun.instance or None,
            attempt=noun.attempt,
            is_shared=noun.is_shared,
            since=noun.since,
            until=noun.until,
        )

    @strawberry.field(description="The workload; null for a pod that is no workload of this organization.")
    async def workload(self, info: Info) -> Annotated[Workload, strawberry.lazy("app.graphql.nodes.workload")] | None:
        noun = await self._workload(info)
        return Workload.from_domain(noun) if noun and self._whose(noun) is Whose.OURS else None

    @strawberry.field(
        description="Namespace and name of the pod, or its uid where the agent knows no more; null where it belongs to "
        "another organization."
    )
    async def pod(self, info: Info) -> str | None:
        return None if self._whose(await self._workload(info)) is Whose.HIDDEN else self.noun.pod_name

    def _whose(self, noun: domain.Workload | None) -> Whose:
        return whose(noun.organization_id if noun else None, self.organization_id)

    async def _workload(self, info: Info) -> domain.Workload | None:
        return await info.context.loaders.workloads.load(self.noun.workload_id) if self.noun.workload_id else None


@strawberry.type(description="What each GPU of a workload must be. Null and empty: not asked for.")
class GpuRequirements:
    products: list[str] = strawberry.field(description="Products of which any will do, in words of their names.")
    memory_bytes: Long | None = strawberry.field(description="Least memory of each GPU.")
    compute_capability: str | None = strawberry.field(description="Least compute capability, as 8.0.")
    mig_profile: str | None = strawberry.field(description="Slices of this MIG profile instead of whole GPUs.")
    shared: bool = strawberry.field(description="A share of a GPU instead of a whole one.")

    @classmethod
    def from_domain(cls, wanted: gpus.GpuRequirements) -> Self:
        return cls(
            products=list(wanted.products),
            memory_bytes=Long(wanted.memory_bytes) if wanted.memory_bytes else None,
            compute_capability=gpus.format_capability(wanted.compute_capability) or None,
            mig_profile=wanted.mig_profile or None,
            shared=wanted.is_shared,
        )


@strawberry.type(description="One try at running a workload: one Kubernetes Job, one pod, one server.")
class Attempt:
    noun: strawberry.Private[domain.Attempt]
    organization_id: strawberry.Private[UUID]
    number: int = strawberry.field(description="Counted from 1.")
    job_name: str = strawberry.field(description="Name of its Kubernetes Job.")
    pod_name: str | None = strawberry.field(description="Name of its pod, once there is one.")
    server: str = strawberry.field(description="The server it was placed on.")
    cluster: str = strawberry.field(description="The cluster that the server is in, as the settings name it.")
    gpus: list[str] = strawberry.field(description="UUIDs of its physical GPUs, once the cluster has told.")
    placed_at: datetime = strawberry.field(description="When the server was chosen.")
    started_at: datetime | None = strawberry.field(description="The container's own start, by the cluster's clock.")
    ended_at: datetime | None = strawberry.field(description="When it was over.")
    exit_code: int | None = strawberry.field(description="Of the container, where the cluster tells it.")
    signal: int | None = strawberry.field(description="Derived from an exit code above 128.")
    reason: Reason | None = strawberry.field(description="Why it ended.")
    message: str = strawberry.field(description="One sentence about its end.")

    @classmethod
    def from_domain(cls, noun: domain.Attempt, organization_id: UUID) -> Self:
        return cls(
            noun=noun,
            organization_id=organization_id,
            number=noun.number,
            job_name=noun.job_name,
            pod_name=noun.pod_name or None,
            server=noun.server,
            cluster=noun.cluster,
            gpus=list(noun.gpus),
            placed_at=noun.placed_at,
            started_at=noun.started_at,
            ended_at=noun.ended_at,
            exit_code=noun.exit_code,
            signal=domain.signal_of(noun.exit_code),
            reason=noun.reason,
            message=noun.message,
        )

    @strawberry.field(description="The GPUs that it has or had, as its server's node agent told.")
    async def devices(self, info: Info) -> list[GpuHolding]:
        found = await info.context.loaders.holdings.load(self.noun.workload_id)
        return [GpuHolding.from_domain(it, self.organization_id) for it in found if it.attempt == self.number]


@strawberry.type(description="A numbered fact about a workload. Events are never changed.")
class WorkloadEvent:
    answers: strawberry.Private[Answers] = field(default_factory=dict, compare=False, repr=False)
    cursor: str = strawberry.field(description="Opaque; give it as `after` to go on from here.")
    workload_id: UUID = strawberry.field(description="Which workload.")
    type: EventType = strawberry.field(description="What happened.")
    status: Status = strawberry.field(description="The workload's status from this event on.")
    phase: Phase = strawberry.field(description="The workload's phase from this event on.")
    reason: Reason = strawberry.field(description="Why that state holds.")
    message: str = strawberry.field(description="One sentence that says why, with the numbers in it.")
    at: datetime = strawberry.field(description="When it was written down.")
    attempt: int = strawberry.field(description="Number of the attempt, 0 before the first.")
    exit_code: int | None = strawberry.field(description="Of the container, once it has ended.")
    server: str | None = strawberry.field(description="Where it was placed then; null while it waited.")

    @classmethod
    def from_domain(cls, noun: domain.Event) -> Self:
        return cls(
            cursor=event_cursor(noun.organization_id, noun.sequence),
            workload_id=noun.workload_id,
            type=noun.type,
            status=noun.status,
            phase=noun.phase,
            reason=noun.reason,
            message=noun.message,
            at=noun.at,
            attempt=noun.attempt,
            exit_code=noun.exit_code,
            server=noun.server or None,
        )

    @strawberry.field(description="The workload as it is now, which may be later than this event.")
    async def workload(self, info: Info) -> Annotated[Workload, strawberry.lazy("app.graphql.nodes.workload")] | None:
        noun = await info.context.loaders.workloads.load(self.workload_id)
        return Workload.from_domain(noun) if noun else None


@strawberry.type(description="A GPU batch job: what was asked for, and what is true of it now.")
class Workload:
    noun: strawberry.Private[domain.Workload]
    id: UUID = strawberry.field(description="Never changes; Jobs are named after it.")
    name: str = strawberry.field(description="For people; the image's name unless one was given.")
    job_name: str = strawberry.field(description="Name of the Kubernetes Job of the present attempt, or of the first.")
    status: Status = strawberry.field(description="The contract: six values, the last four final.")
    phase: Phase = strawberry.field(description="Finer than the status.")
    reason: Reason = strawberry.field(description="Why the state holds.")
    message: str = strawberry.field(description="One sentence that says why, with the numbers in it.")
    succeeded: bool | None = strawberry.field(description="Null until it has ended; true only for exit code 0.")
    exit_code: int | None = strawberry.field(description="Of the container, where the cluster tells it.")
    signal: int | None = strawberry.field(description="Derived from an exit code above 128.")
    image_reference: str = strawberry.field(description="The image as the cluster is asked for it.")
    gpu_count: int = strawberry.field(
        description="GPUs, all on one server: whole ones, unless `gpuRequirements` ask for slices or shares."
    )
    gpu_requirements: GpuRequirements | None = strawberry.field(
        description="What each GPU must be; null: any whole one will do."
    )
    cpu: str = strawberry.field(description="CPU it asks for, in Kubernetes' spelling: 4 or 500m.")
    memory_bytes: Long = strawberry.field(description="Memory it asks for, which is also its limit.")
    timeout_seconds: int = strawberry.field(description="Run limit, counted from the container's start.")
    start_timeout_seconds: int = strawberry.field(description="Limit from being placed until the container executes.")
    queue_timeout_seconds: int | None = strawberry.field(description="Limit of waiting for a server; null: none.")
    env_vars: list[EnvVar] = strawberry.field(description="Environment of the container, in the given order.")
    command: list[str] = strawberry.field(description="Instead of the image's entrypoint; empty: the image's.")
    args: list[str] = strawberry.field(description="Instead of the image's arguments; empty: the image's.")
    max_retries: int = strawberry.field(description="How often it may be run again after it had executed.")
    cuda: str | None = strawberry.field(description="CUDA version it needs: given, or read from the image's name.")
    labels: list[Label] = strawberry.field(description="Its labels, in the given order.")
    mounts: list[Mount] = strawberry.field(description="Volumes in the container, in the given order.")
    shared_memory_bytes: Long | None = strawberry.field(
        description="Size of /dev/shm where one was given; null: a setting of the installation."
    )
    priority: Priority = strawberry.field(
        description="How urgent it is; a higher class goes before all of a lower one."
    )
    preemptible: bool = strawberry.field(
        description="Whether it may be stopped, and started anew later, to make room for others."
    )
    server: str | None = strawberry.field(description="Where it runs or ran; null while it waits.")
    cluster: str | None = strawberry.field(description="The cluster that the server is in; null while it waits.")
    gpus: list[str] = strawberry.field(description="UUIDs of its physical GPUs, once the cluster has told.")
    submitted_by: str = strawberry.field(description="Address of the person, or name of the token.")
    created_at: datetime = strawberry.field(description="When it was accepted.")
    started_at: datetime | None = strawberry.field(description="The container's own start, by the cluster's clock.")
    completed_at: datetime | None = strawberry.field(description="When it reached its end, whichever that was.")
    cancel_requested_at: datetime | None = strawberry.field(description="When someone first asked to cancel it.")
    held_at: datetime | None = strawberry.field(description="Since when a person has it suspended; null: nobody has.")
    deleted_at: datetime | None = strawberry.field(
        description="When it was taken out of the lists; null: it is in them."
    )
    retry_of: UUID | None = strawberry.field(description="The workload whose request this one repeats.")
    actions_supported: list[Action] = strawberry.field(
        description="What may be asked of it in its present state, by whoever may change workloads."
    )

    @classmethod
    def from_domain(cls, noun: domain.Workload) -> Self:
        spec, wanted = noun.spec, noun.spec.gpu_requirements
        return cls(
            noun=noun,
            id=noun.id,
            name=spec.name,
            job_name=noun.job_name,
            status=noun.status,
            phase=noun.phase,
            reason=noun.reason,
            message=noun.message,
            succeeded=noun.succeeded,
            exit_code=noun.exit_code,
            signal=noun.signal,
            image_reference=spec.image,
            gpu_count=spec.resources.gpu_count,
            gpu_requirements=GpuRequirements.from_domain(wanted) if wanted != gpus.ANY_GPU else None,
            cpu=format_cpu(spec.resources.cpu_millis),
            memory_bytes=Long(spec.resources.memory_bytes),
            timeout_seconds=spec.timeout_seconds,
            start_timeout_seconds=spec.start_timeout_seconds,
            queue_timeout_seconds=spec.queue_timeout_seconds,
            env_vars=[EnvVar(name=name, value=value) for name, value in spec.env_vars],
            command=list(spec.command),
            args=list(spec.args),
            max_retries=spec.max_retries,
            cuda=spec.cuda,
            labels=[Label(key=key, value=value) for key, value in spec.labels],
            mounts=[Mount(name=m.name, path=m.path, read_only=m.read_only) for m in spec.mounts],
            shared_memory_bytes=None if spec.shared_memory_bytes is None else Long(spec.shared_memory_bytes),
            priority=spec.priority,
            preemptible=spec.preemptible,
            server=noun.server or None,
            cluster=noun.cluster or None,
            gpus=list(noun.gpus),
            submitted_by=noun.submitted_by,
            created_at=noun.created_at,
            started_at=noun.started_at,
            completed_at=noun.completed_at,
            cancel_requested_at=noun.cancel_requested_at,
            held_at=noun.held_at,
            deleted_at=noun.deleted_at,
            retry_of=noun.retry_of,
            actions_supported=list(actions_supported(noun)),
        )

    @strawberry.field(description="The project it is attributed to.")
    async def project(self, info: Info) -> Project | None:
        if self.noun.spec.project_id is None:
            return None
        noun = await info.context.loaders.projects.load(self.noun.spec.project_id)
        return Project.from_domain(noun) if noun else None

    @strawberry.field(description="Every try, the first one first.")
    async def attempts(self, info: Info) -> list[Attempt]:
        return [
            Attempt.from_domain(noun, self.noun.organization_id)
            for noun in await info.context.loaders.attempts.load(self.id)
        ]

    @strawberry.field(description="The GPUs that it has and had, as node agents told; those of all attempts, in order.")
    async def devices(self, info: Info) -> list[GpuHolding]:
        found = await info.context.loaders.holdings.load(self.id)
        return [GpuHolding.from_domain(it, self.noun.organization_id) for it in found]

    @strawberry.field(
        description="What its GPUs did while it had them, together and each, and what its pod did. It weighs 1000."
    )
    async def metrics(
        self, info: Info, types: Types, start: Start, end: End, number_of_samples: NumberOfSamples = DEFAULT_SAMPLES
    ) -> list[Metric]:
        wanted, now = query(types, start, end, number_of_samples), info.context.services.commands.clock.now()
        attempts = await info.context.loaders.attempts.load(self.id)
        return await metrics_of(self.noun, attempts, wanted, now)

    @strawberry.field(
        description="How many of its GPUs did nothing for all of the last while; null where it has none that is known. "
        "A GPU counts only where samples without a gap say so. It weighs 200."
    )
    async def idle_allocated_gpus(
        self,
        info: Info,
        window_seconds: Annotated[int, strawberry.argument(description="The while, 60 to 86400.")] = DEFAULT_WINDOW,
    ) -> int | None:
        return await idle_of(info, self.id, window_seconds)

    @strawberry.field(description="Everything that happened, in order.")
    async def events(self, info: Info) -> list[WorkloadEvent]:
        return [WorkloadEvent.from_domain(noun) for noun in await info.context.loaders.events.load(self.id)]

    @strawberry.field(description="Where it stands while it waits for a server; null where it does not wait.")
    async def queue(self, info: Info) -> QueuePlace | None:
        return await queue_place(info, self.noun)

    @strawberry.field(
        description="What it waited for, in order: from one reason to the next. Reasons that took turns faster than a "
        "tenth of the time waited until then are not told one by one."
    )
    async def waits(self, info: Info) -> list[Wait]:
        now = info.context.services.commands.clock.now()
        return [Wait.from_domain(it, now) for it in waits(await info.context.loaders.events.load(self.id))]

    @strawberry.field(description="How long it waited for what, the longest first.")
    async def wait_totals(self, info: Info) -> list[WaitTotal]:
        found = waits(await info.context.loaders.events.load(self.id))
        return [WaitTotal.from_domain(it) for it in totals(found, info.context.services.commands.clock.now())]

    @strawberry.field(description="The end of an attempt's log. One request may ask for ten.")
    async def log(
        self,
        info: Info,
        attempt: Annotated[
            int | None, strawberry.argument(description="Number of the attempt; the last one unless given.")
        ] = None,
        tail_lines: Annotated[
            int, strawberry.argument(description="How many of the last lines, 1 to 50000; less where 1 MiB holds less.")
        ] = DEFAULT_LINES,
    ) -> WorkloadLog:
        if not 1 <= tail_lines <= MOST_LINES:
            raise InvalidInputError.of("tailLines", f"must be between 1 and {MOST_LINES}; it is {tail_lines}")
        chosen = choose_attempt(await info.context.loaders.attempts.load(self.id), attempt)
        reader = info.context.services.logs
        return WorkloadLog.from_reading(await reader.read(self.noun, chosen, Most(lines=tail_lines)))
