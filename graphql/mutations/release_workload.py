"""releaseWorkload and releaseWorkloads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.release_workload import release_workload as release
from app.graphql.context import Info
from app.graphql.mutations.change import (
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)


@strawberry.input(description="Which workload to release.")
class ReleaseWorkloadInput(OneWorkloadInput):
    pass


@strawberry.input(description="Which workloads to release.")
class ReleaseWorkloadsInput(ManyWorkloadsInput):
    pass


@strawberry.type(description="Waiting for a server again.")
class ReleaseWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class ReleaseWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def release_workload(
    info: Info,
    input: Annotated[ReleaseWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> ReleaseWorkloadPayload:
    return ReleaseWorkloadPayload(workload=await change_one(info, release, input.id))


async def release_workloads(
    info: Info,
    input: Annotated[ReleaseWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> ReleaseWorkloadsPayload:
    return ReleaseWorkloadsPayload(outcomes=await change_many(info, release, input.ids))
