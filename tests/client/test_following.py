"""A followed log: each piece once over any number of sockets, gaps and attempts told apart from the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.client.errors import ClientError, RefusedError, UnreachableError
from app.client.following import follow
from tests.client.words import Words

BROKEN = UnreachableError("the connection broke off")


def chunk(cursor: str, text: str, *, attempt: int = 1, gap: bool = False, last: bool = False) -> dict[str, Any]:
    return {"cursor": cursor, "text": text, "attempt": attempt, "gap": gap, "isLast": last}


class Sockets:
    """What each socket brings, and from where each was asked to begin."""

    def __init__(self, *sockets: list[dict[str, Any] | ClientError]) -> None:
        self.left, self.asked = list(sockets), list[str | None]()

    def __call__(self, after: str | None) -> Iterator[dict[str, Any]]:
        self.asked.append(after)
        for item in self.left.pop(0):
            if isinstance(item, ClientError):
                raise item
            yield item


def followed(open_at: Callable[[str | None], Iterator[dict[str, Any]]]) -> tuple[str, Words]:
    written, words = list[str](), Words()
    follow(open_at, written.append, words.waiter)
    return "".join(written), words


def test_to_the_end():
    sockets = Sockets([chunk("a", "one\n"), chunk("b", "two\n"), chunk("c", "", last=True)])
    assert followed(sockets) == ("one\ntwo\n", [])
    assert sockets.asked == [None]


def test_a_new_socket_begins_behind_the_last_piece():
    sockets = Sockets(
        [chunk("a", "one\n"), BROKEN], [BROKEN], [chunk("b", "two\n")], [BROKEN], [chunk("c", "three\n", last=True)]
    )
    text, words = followed(sockets)
    assert text == "one\ntwo\nthree\n"
    assert sockets.asked == [None, "a", "a", "b", "b"]
    assert words == ["gpuyard: the connection broke off; connecting again"] * 2


def test_pauses_grow_until_something_comes():
    failing: list[list[dict[str, Any] | ClientError]] = [[BROKEN]] * 7
    _, words = followed(Sockets(*failing, [chunk("a", "x"), BROKEN], [chunk("b", "y", last=True)]))
    assert words.pauses == [0.5, 1, 2, 4, 8, 10, 10, 0.5]


def test_gaps_and_attempts_are_told_beside_the_text():
    pieces = [chunk("a", "one\n"), chunk("b", "two\n", gap=True), chunk("c", "again\n", attempt=2, last=True)]
    text, words = followed(Sockets([*pieces]))
    assert text == "one\ntwo\nagain\n"
    assert words == ["gpuyard: a part of the log is missing here", "gpuyard: attempt 2 begins"]


def test_a_workload_without_an_attempt():
    assert followed(Sockets([chunk("a", "", attempt=0, last=True)])) == ("", [])


def test_a_refusal_ends_it():
    with pytest.raises(RefusedError, match="not for you"):
        followed(Sockets([chunk("a", "x"), BROKEN], [RefusedError(["not for you"], "FORBIDDEN")]))
