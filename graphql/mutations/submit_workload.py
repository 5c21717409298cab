"""submitWorkload."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands.submit_workload import submit_workload as submit
from app.domain.gpu_requirements import NOTHING_ASKED, GpuDraft
from app.domain.priority import DEFAULT_PRIORITY
from app.domain.submission import Draft
from app.domain.volumes import Mount
from app.graphql.context import Info
from app.graphql.enums import Priority
from app.graphql.nodes.workload import Workload


@strawberry.input(description="One environment variable.")
class EnvVarInput:
    name: str = strawberry.field(description="Letters, digits and '_', not starting with a digit.")
    value: str = strawberry.field(description="Reaches the container byte for byte.")


@strawberry.input(description="One label of the workload, which its Job and pod carry too.")
class LabelInput:
    key: str = strawberry.field(description="As Kubernetes takes it; keys of Kubernetes and of GPUYard are refused.")
    value: str = strawberry.field(description="At most 63 letters, digits, '-', '_' and '.'; may be empty.")


@strawberry.input(description="A volume of the organization and where the container finds it.")
class MountInput:
    name: str = strawberry.field(description="Name of the volume: one of the organization's `volumes`.")
    path: str = strawberry.field(description="Absolute path in the container, not in /dev, /proc or /sys.")
    read_only: bool = strawberry.field(
        default=False, description="Whether the container may only read it. A read-only volume always is."
    )


@strawberry.input(description="What each GPU must be. What is left out is not asked for.")
class GpuRequirementsInput:
    products: list[str] = strawberry.field(
        default_factory=list,
        description="Products of which any will do, in words of their names: H100, A100 80GB. At most 16.",
    )
    memory: str | None = strawberry.field(
        default=None, description="Least memory of each GPU, as 40G or 40Gi. Makers count in G: 80G finds 80 GB models."
    )
    compute_capability: str | None = strawberry.field(default=None, description="Least compute capability, as 8.0.")
    mig_profile: str | None = strawberry.field(
        default=None, description="MIG profile, as 1g.10gb: slices of it instead of whole GPUs."
    )
    shared: bool = strawberry.field(
        default=False, description="A share of a GPU that others use too, instead of a whole one. `gpuCount` is 1 then."
    )

    def to_draft(self) -> GpuDraft:
        return GpuDraft(self.products, self.memory, self.compute_capability, self.mig_profile, self.shared)


@strawberry.input(description="A GPU batch job to run.")
class SubmitWorkloadInput:
    organization: str = strawberry.field(description="Slug of the organization whose servers it runs on.")
    image: str = strawberry.field(description="Container image. Required; blank is refused.")
    tag: str | None = strawberry.field(
        default=None,
        description="Image tag. Omitted: the image is used as given. `latest` yields to a tag in the image.",
    )
    gpu_count: int = strawberry.field(
        default=1, description="GPUs, all on one server: whole ones, unless `gpuRequirements` ask for slices or shares."
    )
    timeout_seconds: int | None = strawberry.field(
        default=None, description="Run limit, counted from the container's start. 3600 unless given, at most 30 days."
    )
    env_vars: list[EnvVarInput] = strawberry.field(default_factory=list, description="Environment of the container.")
    project_id: UUID | None = strawberry.field(default=None, description="Project to attribute it to.")
    name: str | None = strawberry.field(default=None, description="For people; the image's name unless given.")
    command: list[str] = strawberry.field(default_factory=list, description="Instead of the image's entrypoint.")
    args: list[str] = strawberry.field(default_factory=list, description="Instead of the image's arguments.")
    cpu: str | None = strawberry.field(default=None, description="CPU, as 4 or 500m. A setting per GPU unless given.")
    memory: str | None = strawberry.field(
        default=None, description="Memory and its limit, as 16Gi. A setting per GPU unless given."
    )
    start_timeout_seconds: int | None = strawberry.field(
        default=None, description="Limit from being placed until the container executes. 1800 unless given."
    )
    queue_timeout_seconds: int | None = strawberry.field(
        default=None, description="Limit of waiting for a server. None unless given."
    )
    max_retries: int = strawberry.field(
        default=0,
        description="How often it may be run again, 0 to 10, when a server or the cluster ended it while it executed.",
    )
    labels: list[LabelInput] = strawberry.field(default_factory=list, description="For finding it; at most 32.")
    mounts: list[MountInput] = strawberry.field(default_factory=list, description="Volumes to mount; at most 32.")
    shared_memory: str | None = strawberry.field(
        default=None,
        description="Size of /dev/shm, as 8Gi; it is part of the memory. A setting per GPU unless given.",
    )
    cuda: str | None = strawberry.field(
        default=None, description="CUDA version it needs, as 12.4. What the image's name says, unless given."
    )
    gpu_requirements: GpuRequirementsInput | None = strawberry.field(
        default=None, description="What each GPU must be. Any whole GPU will do unless given."
    )
    priority: Priority = strawberry.field(
        default=DEFAULT_PRIORITY, description="How urgent it is. Above MEDIUM for owners and their tokens only."
    )
    preemptible: bool = strawberry.field(
        default=False, description="Whether it may be stopped, and started anew later, to make room for others."
    )
    idempotency_key: str | None = strawberry.field(
        default=None, description="Same key and same request: the first workload. Same key, other request: CONFLICT."
    )

    def to_draft(self) -> Draft:
        return Draft(
            image=self.image,
            tag=self.tag,
            gpu_count=self.gpu_count,
            timeout_seconds=self.timeout_seconds,
            env_vars=[(variable.name, variable.value) for variable in self.env_vars],
            project_id=self.project_id,
            name=self.name,
            command=self.command,
            args=self.args,
            cpu=self.cpu,
            memory=self.memory,
            start_timeout_seconds=self.start_timeout_seconds,
            queue_timeout_seconds=self.queue_timeout_seconds,
            max_retries=self.max_retries,
            labels=[(label.key, label.value) for label in self.labels],
            mounts=[Mount(mount.name, mount.path, mount.read_only) for mount in self.mounts],
            shared_memory=self.shared_memory,
            cuda=self.cuda,
            gpu_requirements=self.gpu_requirements.to_draft() if self.gpu_requirements else NOTHING_ASKED,
            priority=self.priority,
            preemptible=self.preemptible,
            idempotency_key=self.idempotency_key,
        )


@strawberry.type(description="The accepted workload.")
class SubmitWorkloadPayload:
    workload: Workload = strawberry.field(description="As it was stored.")
    is_new: bool = strawberry.field(description="False where the idempotency key led to an earlier submission.")


async def submit_workload(
    info: Info,
    input: Annotated[SubmitWorkloadInput, strawberry.argument(description="What to run.")],  # noqa: A002
) -> SubmitWorkloadPayload:
    principal = await info.context.caller()
    submitted = await submit(info.context.services.commands, principal, input.organization, input.to_draft())
    return SubmitWorkloadPayload(workload=Workload.from_domain(submitted.workload), is_new=submitted.is_new)
