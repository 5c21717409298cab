"""The schema. Its printed form is committed as schema.graphql and compared in `make check`."""

from __future__ import annotations

import strawberry
from graphql import GraphQLError
from strawberry.extensions import MaxTokensLimiter, ParserCache, ValidationCache
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


class Schema(strawberry.Schema):
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
