"""Submit an ended workload's request once more, as a workload of its own.

Of a priority that the caller may not give it keeps what the caller may.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

from app.commands.change_workload import locate
from app.commands.context import CommandContext, noting_refusals
from app.commands.submit_workload import Submitted, check_against_records, store_new, submitted_before
from app.domain import requests
from app.domain.people import Principal, highest_priority
from app.domain.submission import check_idempotency_key


async def retry_workload(
    context: CommandContext, principal: Principal, workload_id: UUID, idempotency_key: str | None = None
) -> Submitted:
    """The new workload. Raises ConflictError until the old one has ended, and what a submission raises."""
    located = await locate(workload_id)
    async with noting_refusals(context, principal, "retry_workload", located.slug, str(workload_id)):
        workload, access = await located.open(principal)
        key = check_idempotency_key(idempotency_key)
        priority = min(workload.spec.priority, highest_priority(principal, access.organization))
        spec = replace(workload.spec, idempotency_key=key, priority=priority)
        if earlier := await submitted_before(workload.organization_id, spec):
            return earlier
        again = requests.retry(workload, uuid4(), principal.name, spec, context.clock.now())
        await check_against_records(access, again.spec)
        return await store_new(context, again)
