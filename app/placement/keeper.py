"""Keeps one server for the first in the order who has waited too long for what pods of others hold."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.domain.wording import gpus
from app.placement import words
from app.placement.pool import Keeping, Pool
from app.placement.request import Request
from app.placement.timeline import Moment


@dataclass
class Keeper:
    """Of one plan and organization. `after` is how many seconds are too long; None: none are.

    No more than `most` requests are looked at, as each look goes over the servers.
    """

    pool: Pool
    now: Moment
    after: float | None
    most: int
    _kept: tuple[Request, Keeping] | None = None
    _asked: int = 0

    def ask(self, request: Request) -> None:
        """For somebody to whom nothing could be promised."""
        waited = self.now - request.queued_at.timestamp()
        if self.after is None or waited < self.after or self._kept or self._asked >= self.most:
            return
        self._asked += 1
        if keeping := self.pool.keep(request.shape, request.hold_seconds):
            self._kept = request, keeping

    def told(self) -> dict[UUID, str]:
        """How the message of the one for whom a server is kept goes on; empty where there is none."""
        if self._kept is None:
            return {}
        request, (server, count) = self._kept
        lacking = gpus(count, request.wanted.kind) if count else "CPU and memory"
        return {request.workload_id: words.kept(self.pool.name(server), lacking)}
