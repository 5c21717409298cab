"""How urgent a workload is. Waiting workloads of a higher class go before all of a lower one."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """The number is stored, and is the order; there is room between them for more."""

    VERY_LOW = 10
    LOW = 30
    MEDIUM = 50
    HIGH = 70
    VERY_HIGH = 90

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", " ")

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


DEFAULT_PRIORITY = Priority.MEDIUM  # and the highest that everybody who submits may use
_MEANINGS = {
    Priority.VERY_LOW: "goes after everything else",
    Priority.LOW: "goes after what has no priority of its own",
    Priority.MEDIUM: "what a workload has unless another is given",
    Priority.HIGH: "goes before what has no priority of its own; for owners to give",
    Priority.VERY_HIGH: "goes before everything else; for owners to give",
}


def parse_priority(text: str) -> Priority:
    """The class of that name, `very high`, `VERY_HIGH` and `very-high` alike. Raises ValueError."""
    wanted = text.strip().upper().replace("-", "_").replace(" ", "_")
    if wanted not in Priority.__members__:
        names = ", ".join(priority.words for priority in Priority)
        msg = f"must be one of {names}; it is {text.strip()[:40]!r}"
        raise ValueError(msg)
    return Priority[wanted]
