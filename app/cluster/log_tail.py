"""The end of a log as a piece of bounded size. Called by whoever shows one."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from app.cluster.port import ClusterPort, LogRange
from app.domain.observed import ObservedPod

_SHORTEST_LINE = 20  # bytes; the API counts lines and we count bytes, so more is asked for than is kept


@dataclass(frozen=True)
class Tail:
    """`was_cut`: there is more before it, as far as can be told."""

    text: bytes
    was_cut: bool


async def log_tail(port: ClusterPort, pod: ObservedPod, max_bytes: int) -> Tail:
    """At most `max_bytes`, beginning at a line's start unless the last line alone is longer."""
    asked = max_bytes // _SHORTEST_LINE + 1
    kept, was_cut, lines = bytearray(), False, 0
    async with aclosing(port.read_log(pod, LogRange(tail_lines=asked))) as chunks:
        async for chunk in chunks:
            kept += chunk
            lines += chunk.count(b"\n")
            if len(kept) > 2 * max_bytes:
                was_cut = True
                del kept[:-max_bytes]
    was_too_long = was_cut or len(kept) > max_bytes
    text = _last_lines(bytes(kept), max_bytes) if was_too_long else bytes(kept)
    return Tail(text, was_too_long or lines >= asked)


def _last_lines(text: bytes, max_bytes: int) -> bytes:
    text = text[-max_bytes:] if max_bytes else b""
    _, _, whole_lines = text.partition(b"\n")
    return whole_lines or text
