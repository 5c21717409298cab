"""Making room: which attempts are preempted so that a request that fits nowhere gets its GPUs.

All or nothing, on one server: what is chosen suffices, nothing of it is superfluous, and no promise that was made
before is broken. Of all such choices the one that loses least is taken; `app.placement.victims` says who may be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.server import ServerId
from app.placement.cheapest import Cost, cheapest
from app.placement.line import Row
from app.placement.pool import Pool
from app.placement.slots import Slot
from app.placement.timeline import Amount, Moment
from app.placement.victims import Running, Victims

_MOST_SEARCHES = 20  # of one plan; who is left out comes at the next


@dataclass(frozen=True, slots=True)
class Choice:
    """`number`: of the place in the pool where the request goes once the victims are gone."""

    cost: Cost
    number: int
    server: ServerId
    victims: tuple[Running, ...]


class Reclaim:
    """Of one plan and organization. It makes room for one request: whoever is next is looked at once that is stored.

    `gone_by` is when a preempted attempt is certainly gone.
    """

    def __init__(self, victims: Victims, now: Moment, gone_by: Moment) -> None:
        self.gone_by = gone_by
        self._victims, self._now = victims, now
        self._searches = 0
        self._is_done = False

    def may_help(self, row: Row, *, by_right: bool) -> bool:
        return not self._is_done and self._searches < _MOST_SEARCHES and self._victims.has_any(row, by_right=by_right)

    def choose(self, row: Row, pool: Pool, *, by_right: bool) -> Choice | None:
        """Whom to preempt for it, and where; they are taken to leave then."""
        self._searches += 1
        best: Choice | None = None
        for place in pool.candidates(row.shape):
            _, slot, _ = place
            there = self._victims.on(slot.id, row, by_right=by_right)
            running = [it for it in there if it.hold.gpu_resource == slot.resource and it.hold.until > self.gone_by]
            if running:
                best = self._better(best, place, running, row, pool)
        if best is not None:
            self._is_done = True
            pool.calendar.leave(best.server, [it.hold for it in best.victims], self.gone_by)
        return best

    def _better(
        self, best: Choice | None, place: tuple[int, Slot, Amount], running: Sequence[Running], row: Row, pool: Pool
    ) -> Choice | None:
        """The best so far, or what is cheaper there."""
        number, slot, wanted = place

        def suffices(leaving: Sequence[Running]) -> bool:
            holds = [it.hold for it in leaving]
            return pool.calendar.would_have_room(slot.id, holds, wanted, self.gone_by, row.hold_seconds)

        free = pool.calendar.free_by(slot.id, self.gone_by)
        gpus = max(want - has for want, has in zip(wanted.gpus, free.gpus, strict=True) if want)
        lacking = (gpus, wanted.cpu - free.cpu, wanted.memory - free.memory)
        found = cheapest(running, lacking, self._now, suffices, best.cost if best else None)
        return Choice(found.cost, number, slot.id, found.victims) if found else best
