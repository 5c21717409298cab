"""How the report travels: a GraphQL mutation with the report as its variable, and the receipt as the answer.

Names are those of the dataclasses in camelCase, enums by their members' names, times in ISO 8601; what is None is left
out. The document is the app's `graphql/operations/agent/report_server.graphql`; a test holds the two equal.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

from agent.report import MOST_PODS, Receipt, Report

DOCUMENT = """\
mutation ReportServer($input: ReportServerInput!) {
  reportServer(input: $input) {
    receivedAt
    wantsEverything
    isLate
    intervalSeconds
    podUids
  }
}
"""


class AnswerError(Exception):
    """The answer is none to a report; `code` is GraphQL's `extensions.code` where it has one."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def request_of(report: Report) -> dict[str, Any]:
    """The body of the request, ready for JSON."""
    return {"query": DOCUMENT, "operationName": "ReportServer", "variables": {"input": plain(report)}}


def plain(value: Any) -> Any:
    """A dataclass as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((name, getattr(value, field)) for field, name in _names(type(value)))
        return {name: plain(each) for name, each in pairs if each is not None}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def receipt_of(answer: Any) -> Receipt:
    """Raises AnswerError."""
    match answer:
        case {"data": {"reportServer": {"receivedAt": str()} as receipt}}:
            try:
                return _receipt(receipt)
            except ValueError as error:
                raise AnswerError(f"the receipt cannot be read: {error}") from None
        case {"errors": [{"message": str(message), **error}, *_]}:
            extensions = error.get("extensions")
            raise AnswerError(message, str(extensions.get("code", "")) if isinstance(extensions, dict) else "")
        case _:
            raise AnswerError("the answer is not that of a GPUYard service")


def _receipt(answer: dict[str, Any]) -> Receipt:
    return Receipt(
        received_at=datetime.fromisoformat(answer["receivedAt"]),
        wants_everything=bool(answer.get("wantsEverything")),
        is_late=bool(answer.get("isLate")),
        interval_seconds=answer.get("intervalSeconds"),
        pod_uids=tuple(uid for uid in answer.get("podUids") or () if isinstance(uid, str))[:MOST_PODS],
    )


@cache
def _names(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, _camel(field.name)) for field in fields(kind))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
