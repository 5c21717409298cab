"""The schema. Its printed form is committed as schema.graphql and compared in `make check`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import strawberry
from graphql import GraphQLError
from strawberry.extensions import MaxTokensLimiter, ParserCache, SchemaExtension, ValidationCache
from strawberry.extensions.runner import SchemaExtensionsRunner
from strawberry.types import ExecutionContext

from app.graphql.errors import EdgeErrors
from app.graphql.limits import RequestLimits, SchemaSecrecy
from app.graphql.mutations import Mutation
from app.graphql.queries import Query
from app.graphql.rates import RateLimit
from app.graphql.scalars import CONFIG
from app.graphql.shared_answers import SharedAnswers
from app.graphql.streams import StreamLimit
from app.graphql.subscriptions import Subscription

_MAX_TOKENS = 2000
_CACHED_DOCUMENTS = 256


class _Runner(SchemaExtensionsRunner):
    """Extensions look at every event of every subscriber only where there is something for them: an error."""

    async def get_extensions_results(self, ctx: ExecutionContext) -> dict[str, Any]:  # noqa: ARG002 — none adds any
        return {}

    def on_stream_result(self, result: Any) -> Any:
        return super().on_stream_result(result) if getattr(result, "errors", None) else nullcontext()


class Schema(strawberry.Schema):
    def create_extensions_runner(
        self, execution_context: ExecutionContext, extensions: list[SchemaExtension]
    ) -> SchemaExtensionsRunner:
        return _Runner(execution_context, extensions)

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Strawberry would log every refusal with its stack; `EdgeErrors` logs what nobody expected."""


schema = Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=CONFIG,
    execution_context_class=SharedAnswers,
    extensions=[
        EdgeErrors,
        lambda: MaxTokensLimiter(max_token_count=_MAX_TOKENS),
        RateLimit,
        RequestLimits,
        StreamLimit,
        SchemaSecrecy,
        lambda: ParserCache(maxsize=_CACHED_DOCUMENTS),
        lambda: ValidationCache(maxsize=_CACHED_DOCUMENTS),
    ],
)
