"""Project as the API shows it."""

from __future__ import annotations

from typing import Self
from uuid import UUID

import strawberry

from app.domain import people
from app.domain.people import Permission, allows
from app.domain.quota import Quota
from app.graphql.context import Info


@strawberry.type(description="A project's share of the whole GPUs; MIG slices and shared GPUs don't count.")
class ProjectQuota:
    noun: strawberry.Private[Quota]
    project: strawberry.Private[people.Project]
    guaranteed_gpus: int | None = strawberry.field(
        description="What it has a right to. Null: nothing; then workloads that aren't preemptible have no such limit."
    )
    max_gpus: int | None = strawberry.field(description="What it may use at most; null: no maximum.")

    @strawberry.field(description="What its workloads hold now; null for those who may not read workloads.")
    async def used_gpus(self, info: Info) -> int | None:
        if not allows(await info.context.caller(), self.project.organization_id, Permission.READ_WORKLOADS):
            return None
        return await info.context.loaders.gpus_in_use.load(self.project.id) or 0

    @strawberry.field(description="How much of it is beyond the guarantee; null without one, and as `usedGpus` is.")
    async def over_gpus(self, info: Info) -> int | None:
        used = await self.used_gpus(info)
        return None if used is None else self.noun.over(used)


@strawberry.type(description="What workloads can be attributed to.")
class Project:
    noun: strawberry.Private[people.Project]
    id: UUID = strawberry.field(description="What `projectId` of a submission takes.")
    slug: str = strawberry.field(description="Its short name, unique within the organization.")
    name: str = strawberry.field(description="For people.")
    version: int = strawberry.field(
        description="Grows with every change; what `renameProject` and `setProjectQuota` want to be told."
    )

    @classmethod
    def from_domain(cls, noun: people.Project) -> Self:
        return cls(noun=noun, id=noun.id, slug=noun.slug, name=noun.name, version=noun.version)

    @strawberry.field(description="How many GPUs it is guaranteed, and may use at most.")
    def quota(self) -> ProjectQuota:
        quota = self.noun.quota
        return ProjectQuota(noun=quota, project=self.noun, guaranteed_gpus=quota.guaranteed, max_gpus=quota.maximum)
