"""The schema. Its printed form is committed as schema.graphql and compared in `make check`."""

from __future__ import annotations

import strawberry
from strawberry.extensions import MaxTokensLimiter, ParserCache, ValidationCache

from app.graphql.errors import EdgeErrors
from app.graphql.mutations import Mutation
from app.graphql.queries import Query
from app.graphql.scalars import CONFIG
from app.graphql.subscriptions import Subscription

_MAX_TOKENS = 3000
_CACHED_DOCUMENTS = 256

schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=CONFIG,
    extensions=[
        lambda: MaxTokensLimiter(max_token_count=_MAX_TOKENS),
        lambda: ParserCache(maxsize=_CACHED_DOCUMENTS),
        lambda: ValidationCache(maxsize=_CACHED_DOCUMENTS),
        EdgeErrors,
    ],
)
