"""Many rooms, for each request in its order of preference. A request that comes again pays for what changed only."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from app.placement.room import Ask, Room

Prefer = Callable[[int, Room, Room, Ask], Any]  # (number, before, after, request) -> a key, least first
_LOG_LENGTH = 100_000


class Choice(NamedTuple):
    """A room by its number, and what would be left of it."""

    key: Any
    number: int
    left: Room


class Rooms:
    """`prefer` must be a function of its arguments alone. Equal keys go by number."""

    def __init__(self, rooms: Iterable[Room], prefer: Prefer) -> None:
        self.rooms = list(rooms)
        self._prefer = prefer
        self._log: list[int] = []  # the numbers of rooms that changed
        self._rankings: dict[Ask, _Ranking] = {}
        self._once: set[Ask] = set()

    def put(self, number: int, room: Room) -> None:
        """The room is this now."""
        if len(self._log) >= _LOG_LENGTH:
            self._log.clear()
            self._rankings.clear()
            self._once.clear()
        self.rooms[number] = room
        self._log.append(number)

    def best(self, ask: Ask) -> Choice | None:
        return next(self.ranked(ask), None)

    def ranked(self, ask: Ask) -> Iterator[Choice]:
        """All that take it, the best first. To be read before the next `put`."""
        ranking = self._rankings.get(ask)
        if ranking is None:
            choices = self._choices(ask, range(len(self.rooms)))
            if ask not in self._once:
                self._once.add(ask)  # many never come again: their order is not worth the memory
                return iter(sorted(choices))
            ranking = self._rankings[ask] = _Ranking(choices)
        elif ranking.seen < len(self._log):
            changed = set(self._log[ranking.seen :])
            ranking.renew(changed, self._choices(ask, changed))
        ranking.seen = len(self._log)
        return iter(ranking.choices)

    def _choices(self, ask: Ask, numbers: Iterable[int]) -> list[Choice]:
        rooms = self.rooms
        return [self._choice(ask, number, rooms[number]) for number in numbers if rooms[number].takes(ask)]

    def _choice(self, ask: Ask, number: int, room: Room) -> Choice:
        return min(Choice(self._prefer(number, room, left, ask), number, left) for left in room.after(ask))


class _Ranking:
    def __init__(self, choices: list[Choice]) -> None:
        self.choices = sorted(choices)
        self.seen = 0
        self._by_number = {choice.number: choice for choice in choices}

    def renew(self, numbers: Iterable[int], choices: Iterable[Choice]) -> None:
        """The rooms of these numbers have changed; `choices` are those of them that still take the request."""
        for number in numbers:
            old = self._by_number.pop(number, None)
            if old is not None:
                del self.choices[bisect_left(self.choices, old)]
        for choice in choices:
            self._by_number[choice.number] = choice
            insort(self.choices, choice)
