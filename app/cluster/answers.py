"""What an API server answered, or failed to, as one of the port's errors. The only place where that is decided.

Called by `transport`. The words of a Kubernetes Status are kept, cut to length; the body of anything else (a proxy's
page) is not repeated to anybody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from app.cluster.port import ClusterError, ConflictError, GoneError, RefusedError, UnavailableError
from app.domain.wording import clip

MAX_MESSAGE = 500
_DENIED = re.compile(r"\bdenied (the )?request\b")  # a webhook, a policy
MAX_RETRY_AFTER = 60.0  # the API server asks for 32 s at most; a proxy's day must not blind us for one

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT = 401, 403, 404, 408
_CONFLICT, _GONE, _TOO_MANY, _SERVER = 409, 410, 429, 500
# The authorizer's words (apiserver, responsewriters.Forbidden); quotas, webhooks and other admission have their own.
_MISSING_RIGHT = re.compile(r'User "[^"]*" cannot \S+ (resource|path) "')
_BAD_GATEWAYS = frozenset({301, 302, 303, 307, 308})


def error_of(code: int, body: object, headers: Mapping[str, str]) -> ClusterError:
    """`code` is the HTTP status, or the one inside an ERROR event; `body` the decoded Status where there is one."""
    status: Mapping[str, Any] = body if isinstance(body, dict) and body.get("kind") == "Status" else {}
    reason = str(status.get("reason") or "")
    message = _worded(code, reason, str(status.get("message") or ""))
    if code == _GONE:
        return GoneError(message)
    if code == _CONFLICT:
        return ConflictError(message)
    # 401 and a missing right are about us and not about the request; an API server that has just started knows no
    # rights yet. A 404 without a Status comes from something in between.
    no_verdict = code in (_UNAUTHORIZED, _TIMEOUT, _TOO_MANY) or code >= _SERVER or code in _BAD_GATEWAYS
    if no_verdict or (code == _FORBIDDEN and _MISSING_RIGHT.search(message)) or (code == _NOT_FOUND and not status):
        return UnavailableError(message, _retry_after(status, headers), code)
    return RefusedError(code, reason, message)


def may_be_accepted_later(refusal: RefusedError) -> bool:
    """Whether a create that was refused like this may be accepted as it is, once the installation is in order.

    A namespace that is missing or being removed, a quota that is used up and a permission that we lack are nothing of
    this Job's. What an admission policy or webhook says of it is: the former answers 422, the latter 403 by default.
    """
    if refusal.status == _FORBIDDEN:
        return not _DENIED.search(refusal.message)
    return refusal.status == _NOT_FOUND


def decoded(body: bytes) -> dict[str, Any]:
    """The JSON object of a successful answer; the API's own answers are nothing else."""
    found = decoded_or_none(body)
    if isinstance(found, dict):
        return found
    raise UnavailableError("the cluster's API answered with something that isn't a JSON object")


def decoded_or_none(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


@contextmanager
def transport_errors() -> Generator[None, None, None]:
    """Everything that goes wrong before there is an answer."""
    try:
        yield
    except TimeoutError:
        raise UnavailableError("the cluster's API did not answer in time") from None
    except (aiohttp.ClientError, OSError) as error:
        words = str(error) or type(error).__name__
        raise UnavailableError(f"the cluster's API can't be reached: {clip(words, MAX_MESSAGE)}") from error


def _worded(code: int, reason: str, message: str) -> str:
    return clip(": ".join(part for part in (f"{code} {reason}".strip(), message) if part), MAX_MESSAGE)


def _retry_after(status: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Seconds from the header, else from the Status. A proxy may give a date, which its own `Date` is taken from."""
    details = status.get("details")
    given = headers.get("Retry-After") or (details.get("retryAfterSeconds") if isinstance(details, dict) else None)
    try:
        seconds = float(str(given))
    except ValueError:
        seconds = _seconds_between(headers.get("Date", ""), str(given))
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if not math.isnan(seconds) else None


def _seconds_between(now: str, then: str) -> float:
    """By the server's clock, since ours may differ; not a number where either is no HTTP date."""
    try:
        return (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan
