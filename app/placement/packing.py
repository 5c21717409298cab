"""Which room a request should go to: the one where it spoils the least for those that usually come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.placement.demand import Demand
from app.placement.room import GPU, Ask, Room

# In GPUs of waste. Picked on the openb traces: see docs/placement.md.
_SCARCE = 2.0  # a GPU of a model that all the demand names
_DEAR = 2.0  # a GPU with as much memory as the largest has, beside one with next to none
_EMPTY = 0.005  # a GPU left free beside it
_PART = 0.1  # of that: a whole GPU's worth left of those that are partly taken


@dataclass(frozen=True)
class Packing:
    """`dear` says for rooms by their number how dear their GPUs are, from 0 to 1; an empty one: all the same."""

    demand: Demand
    dear: Mapping[int, float] = field(default_factory=dict)

    def key(self, number: int, room: Room, left: Room, ask: Ask) -> tuple[float, Room]:
        """What placing it there spoils, in GPUs; among equals, the room with the least left in it."""
        spoiled = self.demand.wasted(left) - self.demand.wasted(room)
        wanted = _SCARCE * self.demand.scarcity(room.model)
        dear = _DEAR * self.dear[number] if self.dear else 0.0
        emptiness = left.whole + _PART * sum(left.parts) / GPU
        return round(spoiled + ask.gpu / GPU * (wanted + dear) + _EMPTY * emptiness, 6), left
