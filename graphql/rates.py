"""How many operations a token may ask for: a bucket each, in this process.

A bucket holds ten seconds' worth and fills steadily, so bursts pass and floods don't. All who send no token, or a wrong
one, share a bucket: guessing tokens is slow. Node agents have one for each node, of a rate of their own: many share a
token, and one that has gone mad must not take the service from the others.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from math import ceil

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from app.domain.errors import UnauthenticatedError

BURST_SECONDS = 10
RATE_LIMITED = "RATE_LIMITED"
# Reports a second of one node. An agent needs one in 15 s, or one a second at most; what waited while the service was
# away, 40 reports of 500 samples, comes in a rush and then at this pace.
AGENT_PER_SECOND = 2
_MOST_BUCKETS = 10_000


@dataclass(frozen=True)
class Payer:
    """Who an operation is counted for: its bucket's name, and its rate where it isn't the common one."""

    name: str
    per_second: int = 0


@dataclass
class Rates:
    """`per_second` 0 switches the limit off."""

    per_second: int = 0
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(default_factory=OrderedDict)  # level, and when it was so

    def take(self, whose: Payer, now: float) -> int:
        """0 where the operation may go on, else the whole seconds to wait. `now` is on the monotonic clock."""
        if not self.per_second:
            return 0
        per_second = whose.per_second or self.per_second
        key = hashlib.sha256(whose.name.encode(errors="surrogateescape")).digest()
        full = float(per_second * BURST_SECONDS)
        level, since = self._buckets.pop(key, (full, now))
        level = min(full, level + (now - since) * per_second)
        may = level >= 1
        self._buckets[key] = (level - 1 if may else level, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if may else ceil((1 - level) / per_second)


class RateLimit(SchemaExtension):
    """Refuses an operation of a credential that asks for too many. A subscription counts once, when it begins."""

    async def on_operation(self) -> AsyncIterator[None]:
        services = self.execution_context.context.services
        if services.rates.per_second:
            payer = await self._payer()
            if wait := services.rates.take(payer, services.commands.clock.monotonic()):
                rate = payer.per_second or services.rates.per_second
                words = f"more than {rate} operations a second; try again in {wait} s"
                raise GraphQLError(words, extensions={"code": RATE_LIMITED, "retryAfter": wait})
        yield

    async def _payer(self) -> Payer:
        """The token's id, however its header is spelled; empty for all who have none that is valid. An agent's node is
        looked up in what was sent: refusing has to cost less than reading a report."""
        try:
            principal = await self.execution_context.context.holder()
        except UnauthenticatedError:
            return Payer("")
        if principal.agent is None:
            return Payer(str(principal.token_id))
        node = principal.agent.node or _node_in(self.execution_context.variables)
        return Payer(f"{principal.token_id}/{node}", AGENT_PER_SECOND)


def _node_in(variables: object) -> str:
    """As the agents' own document has it; all others of a token share a bucket."""
    match variables:
        case {"input": {"node": str(node)}}:
            return node
    return ""
