"""Lines of any length, in pieces of any length."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.lines import MAX_LINE, split_lines
from app.cluster.port import GoneError


async def chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def lines_of(*pieces: bytes) -> list[bytes]:
    return [line async for line in split_lines(chunks(*pieces))]


@given(st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"x", b"\n")), max_size=12))
async def test_wherever_it_is_cut(pieces: list[bytes]):
    whole, _, _ = b"".join(pieces).rpartition(b"\n")
    assert await lines_of(*pieces) == [line for line in whole.split(b"\n") if line.strip()]


async def test_a_long_line_in_small_pieces_takes_no_time():
    piece = b"x" * 1024
    begun = time.perf_counter()
    assert await lines_of(*[piece] * 12_000, b"\n") == [piece * 12_000]
    assert time.perf_counter() - begun < 2


async def test_a_line_without_an_end_is_no_event():
    with pytest.raises(GoneError, match="more than"):
        await lines_of(*[b"x" * 2**20] * (MAX_LINE // 2**20 + 1))
