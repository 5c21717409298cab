"""How much of what is free one more request, drawn from a list of weighed ones, could use."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from app.placement.room import GPU, Ask, Room

_Kind = tuple[int, int]  # GPUs, share of each


class Usable:
    """A request can use every GPU of which it could get its share, if the room has enough of them and of CPU.

    Memory is not looked at. Requests without GPUs can use none.
    """

    def __init__(self, weights: Mapping[Ask, float]) -> None:
        total = sum(weights.values())
        self._likely = {ask: weight / total for ask, weight in weights.items() if ask.gpus}
        self._tables: dict[str, _Table] = {}

    def of(self, room: Room) -> float:
        """In thousandths of a GPU."""
        table = self._tables.get(room.model)
        if table is None:
            some = {ask: it for ask, it in self._likely.items() if not ask.models or room.model in ask.models}
            table = self._tables[room.model] = _Table(some)
        return table.usable(room)


class _Table:
    """Row by row for more CPU: how likely a request of each kind is that gets by with it."""

    def __init__(self, likely: Mapping[Ask, float]) -> None:
        self._cpus = sorted({ask.cpu for ask in likely})
        self._rows: list[dict[_Kind, float]] = [{}]
        self._known: dict[tuple[int, int, tuple[int, ...]], float] = {}
        for cpu in self._cpus:
            row = dict(self._rows[-1])
            for ask, weight in likely.items():
                if ask.cpu == cpu:
                    row[ask.gpus, ask.share] = row.get((ask.gpus, ask.share), 0.0) + weight
            self._rows.append(row)

    def usable(self, room: Room) -> float:
        row = bisect_right(self._cpus, room.cpu)
        key = (row, room.whole, room.parts)
        found = self._known.get(key)
        if found is None:
            found = sum(weight * _usable(room, *kind) for kind, weight in self._rows[row].items())
            self._known[key] = found
        return found


def _usable(room: Room, gpus: int, share: int) -> int:
    parts = room.parts[bisect_left(room.parts, share) :]
    return room.whole * GPU + sum(parts) if room.whole + len(parts) >= gpus else 0
