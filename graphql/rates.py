"""How many operations a credential may ask for: a token bucket each, in this process.

A bucket holds ten seconds' worth and fills steadily, so bursts pass and floods don't. Whoever sends no credential, or a
wrong one, has a bucket as well: guessing tokens is slow.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

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

    def on_operation(self) -> Iterator[None]:
        context = self.execution_context.context
        services = context.services
        wait = services.rates.take(context.authorization or "", services.commands.clock.monotonic())
        if wait:
            words = f"more than {services.rates.per_second} operations a second; try again in {wait} s"
            raise GraphQLError(words, extensions={"code": RATE_LIMITED, "retryAfter": wait})
        yield
