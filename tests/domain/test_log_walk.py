"""A log in pieces of any size, with any number of new beginnings: every byte once, in order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.log_lines import LONGEST_STAMP
from app.domain.log_walk import LogWalk, Place
from tests.clock import START
from tests.log_port import stamp_of

Line = tuple[int, bytes]  # nanoseconds after the start, text with its end

TEXTS = st.one_of(
    st.binary(max_size=40), st.text(max_size=20).map(str.encode), st.just(b"x" * 200), st.just("ä€😀".encode() * 20)
).map(lambda text: text.replace(b"\n", b"") + b"\n")
# Mostly forward, often not at all, at times a little back: as two outputs of one container are stamped.
STEPS = st.one_of(st.just(0), st.integers(-900_000_000, 900_000_000), st.integers(0, 5_000_000_000))


@st.composite
def logs(draw: st.DrawFn) -> list[Line]:
    moment, lines = 5 * 10**9, []
    youngest = moment
    for step, text in draw(st.lists(st.tuples(STEPS, TEXTS), max_size=15)):
        moment = max(moment + step, youngest - 900_000_000)
        youngest = max(youngest, moment)
        lines.append((moment, text))
    return lines


def stamped(lines: list[Line], since: object = None) -> bytes:
    """What the cluster gives: whole seconds are compared, with every line's own stamp."""
    rows = [(stamp_of(START + timedelta(microseconds=ns // 1000), ns % 1000), text) for ns, text in lines]
    first = b"" if since is None else stamp_of(since)  # type: ignore[arg-type]
    return b"".join(stamp + text for stamp, text in rows if stamp >= first)


def text_of(lines: list[Line]) -> bytes:
    return b"".join(text for _, text in lines)


@given(lines=logs(), data=st.data())
def test_nothing_is_lost_or_doubled_however_often_it_begins_anew(lines: list[Line], data: st.DataObject):
    place, got, written = Place(1), b"", 0
    while written < len(lines):
        written = data.draw(st.integers(written, len(lines)), label="lines written by now")
        source = stamped(lines[:written], place.since)
        source = source[: data.draw(st.integers(0, len(source)), label="bytes of this connection")]
        walk = LogWalk(place)
        while source:
            size = data.draw(st.integers(1, 60), label="piece")
            walk.feed(source[:size])
            source = source[size:]
            got += walk.take(data.draw(st.sampled_from([4, 7, 50, 1000]), label="most"))
        place = walk.place
        assert not walk.has_gap
        if data.draw(st.booleans(), label="is that enough"):
            break
    walk = LogWalk(place)
    walk.feed(stamped(lines))
    while text := walk.take(100, is_end=True):
        got += text
    assert got == text_of(lines)
    assert not walk.has_gap


@given(lines=logs(), most=st.integers(4, 50))
def test_no_character_is_cut(lines: list[Line], most: int):
    walk, pieces = LogWalk(Place(1)), []
    walk.feed(stamped(lines))
    while text := walk.take(most):
        pieces.append(text)
    assert all(len(piece) <= most for piece in pieces)
    assert "".join(p.decode("utf-8", "replace") for p in pieces) == text_of(lines).decode("utf-8", "replace")


LINES: list[Line] = [(i * 10**9, b"line %d\n" % i) for i in range(5)]


def place_after(count: int) -> Place:
    walk = LogWalk(Place(1))
    walk.feed(stamped(LINES[:count]))
    walk.take(1000)
    return walk.place


def test_what_was_rotated_away_is_a_gap():
    walk = LogWalk(place_after(2))
    walk.feed(stamped(LINES[3:]))
    assert (walk.take(1000), walk.has_gap) == (b"line 3\nline 4\n", True)
    assert walk.place == place_after(5)


def test_the_cluster_is_asked_for_a_little_more_than_is_missing():
    assert Place(1).since is None
    assert place_after(3).since == START + timedelta(seconds=1)


def test_a_line_that_is_not_whole_is_given_out_as_it_comes():
    walk = LogWalk(Place(1))
    walk.feed(stamped([(0, b"10%\r20%\r\xe2\x82\n")])[:-1])
    assert walk.take(1000) == b"10%\r20%\r"
    walk.feed(b"\xac done")
    assert walk.take(1000) == b"\xe2\x82\xac done"
    again = LogWalk(walk.place)
    again.feed(stamped([(0, b"10%\r20%\r\xe2\x82\xac done!\n"), (0, b"next\n")]))
    assert again.take(1000) == b"!\nnext\n"


def test_a_piece_of_a_stamp_is_waited_for():
    walk, line = LogWalk(Place(1)), stamped([(0, b"x\n")])
    for byte in line[:-2]:
        walk.feed(bytes([byte]))
        assert walk.take(1000) == b""
    walk.feed(line[-2:])
    assert walk.take(1000) == b"x\n"


@pytest.mark.parametrize("raw", [b"no stamp\n" * 5, b"2026-13-45T99:99:99Z x\n", b"short"])
def test_a_log_without_stamps_is_given_out_all_the_same(raw: bytes):
    walk = LogWalk(Place(1))
    walk.feed(raw)
    assert walk.take(1000, is_end=True).endswith(raw[-2:])
    assert len(raw) < LONGEST_STAMP or not walk.has_gap
