"""GraphQL over HTTP: media types and status codes, as the specification's draft of 2025 asks for. Pure.

https://graphql.github.io/graphql-over-http/draft/ — a client that names `application/graphql-response+json` is told by
the status that a request was wrong; the older `application/json` says 200 to everything that could be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

METHODS = ("GET", "POST")


class Media(StrEnum):
    """What an answer can be."""

    RESPONSE = "application/graphql-response+json"
    JSON = "application/json"
    EVENTS = "text/event-stream"

    @property
    def content_type(self) -> str:
        return f"{self.value}; charset=utf-8"


# What a range with a wildcard means: clients that know of the newer type name it.
_WILDCARDS = {"*/*": Media.JSON, "application/*": Media.JSON, "text/*": Media.EVENTS}
_PREFERENCE = tuple(Media)


@dataclass(frozen=True)
class WrongRequestError(Exception):
    """A request that can't be answered as GraphQL. `headers` go with the answer."""

    status: HTTPStatus
    message: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, status: HTTPStatus, message: str, **headers: str) -> WrongRequestError:
        return cls(status, message, headers)


def negotiate(accept: str) -> Media:
    """The best of what the client takes: by its q, then by our preference; JSON where it does not say."""
    if not accept.strip():
        return Media.JSON
    wanted: dict[Media, float] = {}
    for part in accept.split(","):
        name, _, parameters = part.partition(";")
        name = name.strip().lower()
        media = _WILDCARDS.get(name) or next((m for m in Media if m.value == name), None)
        if media is not None and (quality := _quality(parameters)) > 0:
            wanted[media] = max(quality, wanted.get(media, 0.0))
    if not wanted:
        offers = ", ".join(_PREFERENCE)
        raise WrongRequestError.of(HTTPStatus.NOT_ACCEPTABLE, f"answers are {offers}; Accept names none of them")
    return min(wanted, key=lambda media: (-wanted[media], _PREFERENCE.index(media)))


def check_method(method: str) -> None:
    if method not in METHODS:
        words = f"GraphQL is asked by {' or '.join(METHODS)}, not by {method}"
        raise WrongRequestError.of(HTTPStatus.METHOD_NOT_ALLOWED, words, Allow=", ".join(METHODS))


def check_body(content_type: str, content_encoding: str) -> None:
    """JSON in UTF-8, as it is: what a page of another site can post without asking first is never taken."""
    name, *parameters = (part.strip().lower() for part in content_type.split(";"))
    if name != Media.JSON:
        raise _unsupported(f"the body must be application/json; Content-Type is {content_type[:80]!r}")
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise _unsupported(f"the body must be UTF-8; its charset is {value[:40]!r}")
    if content_encoding.strip().lower() not in ("", "identity"):
        raise _unsupported(f"the body must not be encoded; Content-Encoding is {content_encoding[:40]!r}")


def status_of(media: Media, *, was_executed: bool, too_many: bool = False) -> HTTPStatus:
    """Of an answer to a well-formed request. One that was executed has a `data` entry, null or not."""
    if too_many and media is Media.RESPONSE:
        return HTTPStatus.TOO_MANY_REQUESTS
    return HTTPStatus.OK if was_executed or media is not Media.RESPONSE else HTTPStatus.BAD_REQUEST


def _unsupported(message: str) -> WrongRequestError:
    return WrongRequestError.of(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)


def _quality(parameters: str) -> float:
    """The `q` of a media range, 1 where there is none or it can't be read."""
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 1.0
    return 1.0
