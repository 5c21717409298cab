"""Errors at the edge: domain errors keep their words and get a code; anything else is masked and logged with an id."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import structlog
from graphql import GraphQLError, GraphQLSyntaxError, ValueNode, VariableDefinitionNode
from strawberry.exceptions import MissingQueryError
from strawberry.extensions import MaskErrors
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from app.domain.errors import DomainError, InvalidInputError, PreconditionFailedError, ResyncRequiredError
from app.graphql.cursors import event_cursor

_log = structlog.get_logger(__name__)
_WRONG_REQUESTS = (MissingQueryError, CannotGetOperationTypeError, InvalidOperationTypeError)


class EdgeErrors(MaskErrors):
    """Syntax, validation and coercion errors speak of the request itself: they keep their words. Put it first."""

    def on_operation(self) -> Iterator[None]:
        """Also for what other extensions raise: the library would send its text to the client."""
        try:
            yield from super().on_operation()
        except _WRONG_REQUESTS:
            raise
        except GraphQLError as error:
            raise self.anonymise_error(error) from error
        except Exception as error:
            raise self.anonymise_error(GraphQLError("", original_error=error)) from error

    def anonymise_error(self, error: GraphQLError) -> GraphQLError:
        """As the library calls it, for every error: all but the unexpected ones keep their words."""
        if _speaks_of_the_request(error):
            extensions = {"code": _code_of_request(error), **(error.extensions or {})}
            return _rebuilt(error, error.message, extensions, error.original_error)
        cause = error.original_error
        if isinstance(cause, DomainError):
            return _rebuilt(error, cause.message, extensions_of(cause))
        if isinstance(cause, GraphQLError):
            return _rebuilt(error, cause.message, dict(cause.extensions or {}))
        incident = uuid4().hex[:12]
        _log.error("unexpected error in a request", incident=incident, path=error.path, exc_info=cause)
        words = f"something went wrong here; the operator finds it in the log under {incident}"
        return _rebuilt(error, words, {"code": "INTERNAL", "incident": incident})


def _speaks_of_the_request(error: GraphQLError) -> bool:
    """A value that the library can't even read comes with whatever exception reading it raised."""
    cause = error.original_error
    if cause is None or isinstance(cause, _WRONG_REQUESTS):
        return True
    return any(isinstance(node, ValueNode | VariableDefinitionNode) for node in error.nodes or ())


def _code_of_request(error: GraphQLError) -> str:
    """The codes that clients know from other servers."""
    if isinstance(error, GraphQLSyntaxError):
        return "GRAPHQL_PARSE_FAILED"
    is_variable = any(isinstance(node, VariableDefinitionNode) for node in error.nodes or ())
    return "BAD_USER_INPUT" if is_variable else "GRAPHQL_VALIDATION_FAILED"


def extensions_of(error: DomainError) -> dict[str, object]:
    """What a program may act on."""
    extensions: dict[str, object] = {"code": error.code}
    if isinstance(error, InvalidInputError):
        extensions["fields"] = [{"field": p.field, "message": p.message} for p in error.problems]
    if isinstance(error, PreconditionFailedError):
        extensions["precondition"] = error.precondition
    if isinstance(error, ResyncRequiredError):
        extensions["cursor"] = event_cursor(error.organization_id, error.sequence)
    return extensions


def _rebuilt(
    error: GraphQLError, message: str, extensions: dict[str, object], cause: Exception | None = None
) -> GraphQLError:
    """`cause` is what the library itself acts on; it is never sent."""
    return GraphQLError(message, error.nodes, error.source, error.positions, error.path, cause, extensions)
