"""How many subscriptions a caller may have open at a time, over all of its sockets and event streams, in this process.

Each holds memory, and work at every event, for as long as its reader likes. A person counts once, with all tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.types.graphql import OperationType

from app.domain.errors import UnauthenticatedError
from app.graphql.rates import RATE_LIMITED


@dataclass
class OpenStreams:
    """`per_caller` 0 switches the limit off."""

    per_caller: int = 0
    _open: Counter[UUID] = field(default_factory=Counter)

    @contextmanager
    def one_more(self, caller: UUID) -> Iterator[None]:
        """Counted until it is left. Raises GraphQLError where the caller has all that it may have."""
        if self.per_caller and self._open[caller] >= self.per_caller:
            words = f"{self.per_caller} subscriptions are open already, which is as many as one caller may have"
            raise GraphQLError(f"{words}; end some of them first", extensions={"code": RATE_LIMITED})
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


class StreamLimit(SchemaExtension):
    """Refuses a subscription of a caller that has too many. Its end, whichever it is, makes room for another."""

    async def on_operation(self) -> AsyncIterator[None]:
        with ExitStack() as self._stack:
            yield

    async def on_execute(self) -> AsyncIterator[None]:
        if self.execution_context.operation_type is OperationType.SUBSCRIPTION:
            context = self.execution_context.context
            with suppress(UnauthenticatedError):  # the subscription itself refuses it
                caller = await context.caller()
                self._stack.enter_context(context.services.streams.one_more(caller.user_id or caller.token_id))
        yield
