"""What the mutations on one workload, and on up to a hundred, have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self
from uuid import UUID

import strawberry

from app.commands.batch import LARGEST_BATCH, Outcome, for_each
from app.commands.context import CommandContext
from app.domain import workload as domain
from app.domain.people import Principal
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload

Command = Callable[[CommandContext, Principal, UUID], Awaitable[domain.Workload]]


@strawberry.input
class OneWorkloadInput:
    id: UUID = strawberry.field(description="Its id.")


@strawberry.input
class ManyWorkloadsInput:
    ids: list[UUID] = strawberry.field(description=f"Their ids, at most {LARGEST_BATCH}; one given twice counts once.")


@strawberry.type
class OneWorkloadPayload:
    workload: Workload = strawberry.field(description="As it is now.")


@strawberry.type(description="Why nothing was done to one workload of several.")
class WorkloadError:
    code: str = strawberry.field(description="As an error of the mutation on one carries it, such as CONFLICT.")
    message: str = strawberry.field(description="One sentence on what is, and on what could be done.")


@strawberry.type(description="What became of one workload of several: either `workload` or `error` is null.")
class WorkloadOutcome:
    id: UUID = strawberry.field(description="The id that was given.")
    workload: Workload | None = strawberry.field(description="As it is now.")
    error: WorkloadError | None = strawberry.field(description="Why nothing was done to it.")

    @classmethod
    def from_domain(cls, outcome: Outcome) -> Self:
        error = outcome.error
        return cls(
            id=outcome.id,
            workload=Workload.from_domain(outcome.workload) if outcome.workload else None,
            error=WorkloadError(code=error.code, message=error.message) if error else None,
        )


@strawberry.type
class ManyWorkloadsPayload:
    outcomes: list[WorkloadOutcome] = strawberry.field(description="What became of each, in the order of the ids.")


async def change_one(info: Info, command: Command, workload_id: UUID) -> Workload:
    principal = await info.context.caller()
    return Workload.from_domain(await command(info.context.services.commands, principal, workload_id))


async def change_many(info: Info, command: Command, ids: list[UUID]) -> list[WorkloadOutcome]:
    principal = await info.context.caller()
    commands = info.context.services.commands
    outcomes = await for_each(ids, lambda workload_id: command(commands, principal, workload_id))
    return [WorkloadOutcome.from_domain(outcome) for outcome in outcomes]
