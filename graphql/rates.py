"""How many operations a token may ask for: a bucket each, in this process.

A bucket holds ten seconds' worth and fills steadily, so bursts pass and floods don't. All who send no token, or a wrong
one, share a bucket: guessing tokens is slow.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from app.domain.errors import UnauthenticatedError

BURST_SECONDS = 10
RATE_LIMITED = "RATE_LIMITED"
_MOST_BUCKETS = 10_000


@dataclass
class Rates:
    """`per_second` 0 switches the limit off."""

    per_second: int = 0
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(default_factory=OrderedDict)  # level, and when it was so

    def take(self, credential: str, now: float) -> int:
        """0 where the operation may go on, else the whole seconds to wait. `now` is on the monotonic clock."""
        if not self.per_second:
            return 0
        key = hashlib.sha256(credential.encode(errors="surrogateescape")).digest()
        full = float(self.per_second * BURST_SECONDS)
        level, since = self._buckets.pop(key, (full, now))
        level = min(full, level + (now - since) * self.per_second)
        may = level >= 1
        self._buckets[key] = (level - 1 if may else level, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if may else ceil((1 - level) / self.per_second)


class RateLimit(SchemaExtension):
    """Refuses an operation of a credential that asks for too many. A subscription counts once, when it begins."""

    async def on_operation(self) -> AsyncIterator[None]:
        context = self.execution_context.context
        services = context.services
        whose = await _whose(context) if services.rates.per_second else ""
        wait = 0 if whose is None else services.rates.take(whose, services.commands.clock.monotonic())
        if wait:
            words = f"more than {services.rates.per_second} operations a second; try again in {wait} s"
            raise GraphQLError(words, extensions={"code": RATE_LIMITED, "retryAfter": wait})
        yield


async def _whose(context: Any) -> str | None:
    """The token's id, however its header is spelled; empty for all who have none that is valid.

    None for a token that all agents of a cluster share: it is used more the more servers there are.
    """
    try:
        principal = await context.holder()
    except UnauthenticatedError:
        return ""
    is_shared = principal.agent is not None and not principal.agent.node
    return None if is_shared else str(principal.token_id)
