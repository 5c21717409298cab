"""retryWorkload and retryWorkloads."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands.context import CommandContext
from app.commands.retry_workload import retry_workload as retry
from app.domain import workload as domain
from app.domain.people import Principal
from app.graphql.context import Info
from app.graphql.mutations.change import OneWorkloadInput, on_many
from app.graphql.nodes.workload import Workload


@strawberry.input(description="Which ended workload's request to submit once more.")
class RetryWorkloadInput(OneWorkloadInput):
    idempotency_key: str | None = strawberry.field(
        default=None, description="Same key and same request: the first retry. As with a submission."
    )


@strawberry.type(description="The new workload; the old one stays as it is.")
class RetryWorkloadPayload:
    workload: Workload = strawberry.field(description="As it was stored; `retryOf` names the old one.")
    is_new: bool = strawberry.field(description="False where the idempotency key led to an earlier one.")


async def retry_workload(
    info: Info,
    input: Annotated[RetryWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> RetryWorkloadPayload:
    principal = await info.context.caller()
    done = await retry(info.context.services.commands, principal, input.id, input.idempotency_key)
    return RetryWorkloadPayload(workload=Workload.from_domain(done.workload), is_new=done.is_new)


async def _retry(context: CommandContext, principal: Principal, workload_id: UUID) -> domain.Workload:
    return (await retry(context, principal, workload_id)).workload


retry_workloads = on_many(
    "retry",
    _retry,
    "Which ended workloads' requests to submit once more.",
    "Each by itself: the new workload of each, or why there is none.",
)
