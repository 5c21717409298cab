"""The end of a log as a piece of bounded size. Called by whoever shows or keeps one."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from app.cluster.port import ClusterPort, LogRange
from app.domain.log_lines import LONGEST_STAMP, last_lines, without_stamps
from app.domain.observed import ObservedPod

_SHORTEST_LINE = 20  # bytes; the API counts lines and we count bytes, so more is asked for than is kept


@dataclass(frozen=True)
class Tail:
    """`lines` with their stamps. `was_cut`: there is more before them."""

    lines: bytes = b""
    was_cut: bool = False

    @property
    def text(self) -> bytes:
        return without_stamps(self.lines)


async def log_tail(
    port: ClusterPort, pod: ObservedPod, most_bytes: int, most_lines: int | None = None, *, follow: bool = False
) -> Tail:
    """At most `most_bytes` of text, beginning at a line's start unless the last line alone is longer.

    With `follow` it is the tail at the container's end, and comes then.
    """
    longest = most_bytes // _SHORTEST_LINE + 1
    asked = min(longest, most_lines or longest)
    bound = most_bytes + asked * LONGEST_STAMP
    kept, was_trimmed = bytearray(), False
    part = LogRange(tail_lines=asked + 1, follow=follow)  # one more tells whether there are more
    async with aclosing(port.read_log(pod, part)) as chunks:
        async for chunk in chunks:
            kept += chunk
            if len(kept) > 2 * bound:
                was_trimmed = True
                del kept[:-bound]
    lines, was_cut = last_lines(bytes(kept), asked, most_bytes)
    return Tail(lines, was_cut or was_trimmed)
