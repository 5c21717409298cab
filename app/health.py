"""What `/healthz` and `/readyz` answer: whether the process does, and how its loops and each cluster fare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.clock import Clock
from app.cluster.projection import WatchHealth
from app.domain import wording
from app.reconcile.background import Background
from app.reconcile.cluster_loops import ClusterLoops, Loop

_OK, _NOT_READY, _DEGRADED = "ok", "not ready", "degraded"
_MOST_ORPHANS = 20
_ENDED = "a loop of the background has ended; nothing is followed any more"


@dataclass(frozen=True)
class HealthPage:
    background: Background
    clock: Clock

    async def live(self, _: Request) -> Response:
        return JSONResponse({"status": _OK})

    async def ready(self, _: Request) -> Response:
        """503 where no cluster works or the background has ended; `degraded` where only some work."""
        clusters = {loops.name: self._cluster(loops) for loops in self.background.per_cluster.values()}
        problems = [f"cluster {name}: {words}" for name, it in clusters.items() for words in it["problems"]]
        works = [it["status"] == _OK for it in clusters.values()]
        status = _OK if all(works) else _DEGRADED if any(works) else _NOT_READY
        leadership = self.background.leadership
        if self.background.has_ended or leadership.trouble:
            status, problems = _NOT_READY, [leadership.note or _ENDED, *problems]
        body = {
            "status": status,
            "problems": problems,
            "works_here": leadership.is_leading,
            "note": leadership.note,
            "loops": self._loops(self.background.loops),
            "clusters": clusters,
        }
        return JSONResponse(body, 503 if status == _NOT_READY else 200)

    def _cluster(self, loops: ClusterLoops) -> dict[str, Any]:
        problems, contact = _problems(loops), loops.cluster.contact
        return {
            "status": _NOT_READY if problems else _OK,
            "problems": problems,
            "last_contact": contact.last_at.isoformat(timespec="seconds") if contact.last_at else None,
            "clock": _clock(loops),
            "orphans": _orphans(loops),
            "watches": {kind.value: self._watch(health) for kind, health in loops.projection.health.items()},
            "loops": self._loops(loops.loops),
        }

    def _watch(self, health: WatchHealth) -> dict[str, Any]:
        """`age`: seconds since it brought anything; a minute of silence is normal."""
        return {
            "synced": health.synced,
            "age": self._age(health.last_event_at),
            "failures": health.failures,
            "error": health.last_error or None,
        }

    def _loops(self, loops: Iterable[Loop]) -> dict[str, Any]:
        """`age`: seconds since its last pass; a loop that has nothing to do makes none."""
        return {
            loop.name: {"age": self._age(loop.health.last_pass), "error": loop.health.last_error or None}
            for loop in loops
        }

    def _age(self, moment: float | None) -> float | None:
        return None if moment is None else round(self.clock.monotonic() - moment, 3)


def _clock(loops: ClusterLoops) -> dict[str, Any]:
    """Seconds by which the cluster's clock is ahead of ours, and what that means once it is more than a few."""
    ahead = loops.cluster.port.clock.ahead.total_seconds()
    return {"ahead_seconds": round(ahead), "note": wording.clocks_differ(round(ahead)) if ahead else None}


def _orphans(loops: ClusterLoops) -> dict[str, Any]:
    found = sorted(loops.orphans.found.values(), key=lambda it: it.since)
    shown = [
        {
            "job": it.find.name,
            "kind": it.kind,
            "since": it.since.isoformat(),
            "removed_at": it.removed_at.isoformat() if it.removed_at else None,
        }
        for it in found[:_MOST_ORPHANS]
    ]
    return {"count": len(found), "oldest": shown}


def _problems(loops: ClusterLoops) -> list[str]:
    """Sentences; none while the cluster is followed and may be worked in."""
    lost, health = loops.cluster.contact.lost, loops.projection.health
    found = [f"it does not answer: {lost.error}"] if lost else []
    found += [f"{kind} have not been listed" for kind, h in health.items() if not h.synced and not lost]
    found += [f"the watch of {kind} fails: {h.last_error}" for kind, h in health.items() if h.is_failing]
    return [*found, *loops.missing]
