"""What the mutations on one workload, and on up to a hundred, have in common, and those that are nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Self
from uuid import UUID

import strawberry

from app.commands.batch import LARGEST_BATCH, Outcome, for_each
from app.commands.context import CommandContext
from app.domain import workload as domain
from app.domain.people import Principal
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload

_EACH = "Each by itself: one that is refused keeps no other from it."

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


def on_workloads(verb: str, command: Command, about: str, result: str, *, instead: str = "") -> tuple[Any, Any]:
    """`verbWorkload` and `verbWorkloads`. `about` says what is done, `result` what the workload is like then.

    `instead` is the verb of those that take their place, where they are deprecated.
    """
    takes, gives = _types(
        f"{verb.title()}Workload", OneWorkloadInput, f"Which workload to {verb}.", OneWorkloadPayload, result
    )

    async def one(info: Info, input: Any) -> Any:  # noqa: A002 — the contract's name
        return gives(workload=await change_one(info, command, input.id))

    single = _mutation(one, takes, gives, "Which one.", about, _deprecation(instead, "Workload"))
    return single, on_many(verb, command, instead=instead)


def on_many(verb: str, command: Command, which: str = "", result: str = _EACH, *, instead: str = "") -> Any:
    """`verbWorkloads`."""
    words = which or f"Which workloads to {verb}."
    takes, gives = _types(f"{verb.title()}Workloads", ManyWorkloadsInput, words, ManyWorkloadsPayload, result)

    async def many(info: Info, input: Any) -> Any:  # noqa: A002
        return gives(outcomes=await change_many(info, command, input.ids))

    about = f"As `{verb}Workload`, for each of several."
    return _mutation(many, takes, gives, "Which ones.", about, _deprecation(instead, "Workloads"))


def _deprecation(instead: str, noun: str) -> str | None:
    return f"Use `Mutation.{instead}{noun}`. May go from 1.0.0." if instead else None


def _types(name: str, takes: type, which: str, gives: type, result: str) -> tuple[Any, Any]:
    """Input and payload of one mutation: its own, as each has room to grow."""
    return (
        strawberry.input(type(f"{name}Input", (takes,), {}), description=which),
        strawberry.type(type(f"{name}Payload", (gives,), {}), description=result),
    )


def _mutation(
    resolve: Callable[..., Awaitable[Any]], takes: Any, gives: Any, which: str, about: str, deprecated: str | None
) -> Any:
    """The library reads the types of argument and answer from the annotations."""
    argument = Annotated[takes, strawberry.argument(description=which)]
    resolve.__annotations__ = {"info": Info, "input": argument, "return": gives}
    return strawberry.mutation(resolver=resolve, description=about, deprecation_reason=deprecated)
