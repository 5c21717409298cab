"""Paged lists. All pages show the moment of the first one: what is left is kept as references to the unchanging
entries, and a token names it. Too many or too old ones are dropped, which the client learns as 410 Expired."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections import OrderedDict
from dataclasses import dataclass

import orjson

from app.simcluster.api.errors import ApiError, bad_request, expired
from app.simcluster.meta import Clock
from app.simcluster.store import Entry

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list"
    " without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[Entry]
    revision: int
    token: str
    remaining: int


@dataclass(frozen=True, slots=True)
class _Kept:
    entries: list[Entry]
    revision: int
    since: float


class Pages:
    def __init__(self, clock: Clock, limit: int, seconds: float) -> None:
        self._clock = clock
        self._limit = limit
        self._seconds = seconds
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def first(self, entries: list[Entry], revision: int, size: int) -> Page:
        if not size or len(entries) <= size:
            return Page(entries, revision, "", 0)
        name = secrets.token_hex(8)
        self._kept[name] = _Kept(entries, revision, self._clock())
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return self._page(name, self._kept[name], 0, size)

    def next(self, token: str, size: int) -> Page:
        name, start = _read(token)
        kept = self._kept.get(name)
        if kept is None or self._clock() - kept.since > self._seconds:
            raise _expired()
        return self._page(name, kept, start, size or len(kept.entries))

    def forget_all(self) -> None:
        self._kept.clear()

    def _page(self, name: str, kept: _Kept, start: int, size: int) -> Page:
        end = start + size
        remaining = max(0, len(kept.entries) - end)
        token = _write(name, end) if remaining else ""
        return Page(kept.entries[start:end], kept.revision, token, remaining)


def _write(name: str, start: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"v": "simcluster", "name": name, "start": start})).decode()


def _read(token: str) -> tuple[str, int]:
    try:
        value = orjson.loads(base64.urlsafe_b64decode(token))
        return str(value["name"]), int(value["start"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise bad_request("continue key is not valid") from None


def _expired() -> ApiError:
    return expired(_TOO_OLD)
