"""Whether one cluster answers: asked every few seconds, and judged by its lists and watches too.

A watch that is silent says nothing, as nothing may have changed; hence the question. Contact is lost when for too long
the question fails, or a kind could not be listed, or a watch fails. It is there again once the cluster answers and
everything has been listed anew. Left out: what follows from it, which is `app.reconcile.cluster_loops`'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from app.clock import Clock
from app.cluster.port import ClusterError, UnavailableError
from app.cluster.projection import WatchHealth
from app.reconcile.clusters import Cluster, Lost
from app.store import clusters

_log = structlog.get_logger(__name__)

ASK_SECONDS = 5
_LATE_SECONDS = 5  # how long the other clusters wait, at the start, for one that hasn't been listed
_WATCH_SECONDS = 120  # a watch that failed shows within a minute or two that it works again, by a bookmark or its end
_STORE_SECONDS = 60


@dataclass
class ContactKeeper:
    """All stamps but `_stored_at` are of the monotonic clock."""

    cluster: Cluster
    clock: Clock
    lost_after: float
    answers: bool = True  # to the last question, whatever the watches say
    _began_at: float = field(init=False)
    _answered_at: float = field(init=False)
    _stored_at: datetime | None = None

    def __post_init__(self) -> None:
        self._began_at = self._answered_at = self.clock.monotonic()

    async def look(self) -> None:
        """Ask the cluster, and bring its `contact` up to date."""
        contact, projection = self.cluster.contact, self.cluster.projection
        if contact.last_at is None:
            contact.last_at = (await clusters.last_contacts()).get(self.cluster.name)
        unheard = await self._ask()
        now = self.clock.monotonic()
        if contact.lost is None:
            trouble = unheard if now - self._answered_at >= self.lost_after else self._blindness(now)
            contact.lost = Lost(contact.last_at, trouble) if trouble else None
        elif self.answers and projection.synced:
            contact.lost = None
        if self.answers and projection.synced and not any(it.is_failing for it in projection.health.values()):
            contact.last_at = self.clock.now()
        contact.is_late = not projection.synced and (not self.answers or now - self._began_at >= _LATE_SECONDS)
        await self._store()

    async def _ask(self) -> str:
        """Empty, or why it doesn't answer. A refusal is an answer."""
        try:
            await self.cluster.port.ping()
        except UnavailableError as error:
            self.answers = False
            return error.message
        except ClusterError as error:
            _log.debug("cluster.ping.refused", cluster=self.cluster.name, error=error.message)
        self.answers, self._answered_at = True, self.clock.monotonic()
        return ""

    def _blindness(self, now: float) -> str:
        """Empty, or what has not been seen of the cluster for too long although it answers."""
        health = self.cluster.projection.health.items()
        return next((h.last_error or f"{kind} could not be listed" for kind, h in health if self._is_blind(h, now)), "")

    def _is_blind(self, health: WatchHealth, now: float) -> bool:
        if not health.synced:
            return now - self._began_at >= self.lost_after
        seen_at = health.last_event_at or self._began_at
        return health.is_failing and now - seen_at >= max(self.lost_after, _WATCH_SECONDS)

    async def _store(self) -> None:
        """Now and then, and when contact is lost: after a restart it is still known since when."""
        contact, at = self.cluster.contact, self.cluster.contact.last_at
        if at is None or at == self._stored_at:
            return
        if contact.lost or self._stored_at is None or at - self._stored_at >= timedelta(seconds=_STORE_SECONDS):
            await clusters.record_contact(self.cluster.name, at)
            self._stored_at = at
