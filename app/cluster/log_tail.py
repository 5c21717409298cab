"""The end of a log as a piece of bounded size, for storing when an attempt is over. Called by the log reconciler."""

from __future__ import annotations

from contextlib import aclosing

from app.cluster.port import ClusterPort, LogRange
from app.domain.observed import ObservedPod

_SHORTEST_LINE = 20  # bytes; the API counts lines and we count bytes, so more is asked for than is kept


async def log_tail(port: ClusterPort, pod: ObservedPod, max_bytes: int) -> bytes:
    """At most `max_bytes`, beginning at a line's start unless the last line alone is longer."""
    kept, was_cut = bytearray(), False
    async with aclosing(port.read_log(pod, LogRange(tail_lines=max_bytes // _SHORTEST_LINE + 1))) as chunks:
        async for chunk in chunks:
            kept += chunk
            if len(kept) > 2 * max_bytes:
                was_cut = True
                del kept[:-max_bytes]
    return _last_lines(bytes(kept), max_bytes, was_cut=was_cut)


def _last_lines(text: bytes, max_bytes: int, *, was_cut: bool) -> bytes:
    if len(text) <= max_bytes and not was_cut:
        return text
    text = text[-max_bytes:] if max_bytes else b""
    _, _, whole_lines = text.partition(b"\n")
    return whole_lines or text
