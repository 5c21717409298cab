"""Of a cluster only what reading a log needs: one pod, whose container writes what a test wants it to.

Honest where it matters to a reader: every line has its stamp, `since` knows whole seconds only and is compared with
each line, a follower gets what is written later, and the end of the container ends it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.cluster.cluster_clock import ClusterClock
from app.cluster.port import ClusterError, LogRange
from app.domain.observed import ObservedJob, ObservedPod
from tests.clock import START

POD = ObservedPod("uid", "pod", "gpuyard", "job", "gpu-1", "Running")


def stamp_of(moment: datetime, nanoseconds: int = 0) -> bytes:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond * 1000 + nanoseconds:09}Z ".encode()


def a_stamp(line: int) -> bytes:
    """Each line a millisecond after the one before."""
    return stamp_of(START + timedelta(milliseconds=line))


@dataclass
class LogPort:
    """`log` is what the container wrote. `error` is raised by every verb; `piece` is how much comes at a time."""

    pod: ObservedPod | None = None
    log: bytes = b""
    error: ClusterError | None = None
    stamp: Callable[[int], bytes] = a_stamp
    clock: ClusterClock = field(default_factory=ClusterClock)
    has_ended: bool = False
    piece: int = 1 << 16
    most: int | None = None  # bytes of one connection, which breaks then
    opened: list[LogRange] = field(default_factory=list)
    open_now: int = 0
    pieces_given: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, text: bytes) -> None:
        self.log += text
        self._tell()

    def end(self) -> None:
        self.has_ended = True
        self._tell()

    def _tell(self) -> None:
        told, self._changed = self._changed, asyncio.Event()
        told.set()

    async def find(
        self, _job_name: str, _job_uid: str = "", _namespace: str = ""
    ) -> tuple[ObservedJob | None, ObservedPod | None]:
        if self.error:
            raise self.error
        return None, self.pod

    async def read_log(self, _: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        self.opened.append(part)
        if self.error:
            raise self.error
        self.open_now += 1
        try:
            async for piece in self._pieces(part):
                yield piece
        finally:
            self.open_now -= 1

    async def _pieces(self, part: LogRange) -> AsyncGenerator[bytes, None]:
        sent, most = 0, self.most
        while True:
            changed, lines = self._changed, self._lines(part)
            while sent < len(lines):
                piece = lines[sent : sent + self.piece][: None if most is None else most - sent]
                sent += len(piece)
                self.pieces_given += 1
                yield piece
                if most is not None and sent >= most:
                    return
            if not part.follow or self.has_ended:
                return
            await changed.wait()

    def _lines(self, part: LogRange) -> bytes:
        lines = [self.stamp(i) + line for i, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", self.log))]
        if part.since is not None:
            since = stamp_of(part.since.replace(microsecond=0))
            lines = [line for line in lines if line >= since]
        return b"".join(lines if part.tail_lines is None else lines[-part.tail_lines :])
