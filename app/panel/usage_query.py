"""What the address of the usage page asks for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar

from app.domain.errors import InvalidInputError
from app.domain.usage import Period, UsageGroup

E = TypeVar("E", UsageGroup, Period)

IDLE_WINDOWS = {900: "15 min", 3600: "1 h", 6 * 3600: "6 h", 24 * 3600: "24 h"}
_SHOWN = timedelta(days=29)  # before the last day, unless the address says otherwise
_EARLIEST, _LATEST = date(2000, 1, 1), date(2200, 1, 1)


@dataclass(frozen=True)
class UsageQuery:
    """`last` is a day that counts. `project` is a slug; empty: all, and what has none."""

    by: UsageGroup
    period: Period
    first: date
    last: date
    idle_seconds: int
    project: str = ""

    @classmethod
    def parse(cls, query: Mapping[str, str], today: date, projects: Collection[str] = ()) -> UsageQuery:
        """What is left out is as on the plain page: the last 30 days by project. Raises InvalidInputError, also for
        another project than those.
        """
        last = _day("to", query.get("to", ""), today)
        first = _day("from", query.get("from", ""), last - _SHOWN)
        if last < first:
            raise InvalidInputError.of("to", f"{last} is before {first}")
        return cls(
            by=_named(UsageGroup, "by", query.get("by", ""), UsageGroup.PROJECT),
            period=_named(Period, "period", query.get("period", ""), Period.DAY),
            first=first,
            last=last,
            idle_seconds=_idle(query.get("idle", "")),
            project=_project(query.get("project", ""), projects),
        )

    @property
    def start(self) -> datetime:
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        return datetime.combine(self.last + timedelta(days=1), time(), UTC)

    def parameters(self, **changes: str) -> dict[str, str]:
        """Those that name it in an address."""
        named = {"by": self.by.value, "period": self.period.value, "from": str(self.first), "to": str(self.last)}
        return {**named, "project": self.project, "idle": str(self.idle_seconds), **changes}


def _named(kind: type[E], field: str, text: str, default: E) -> E:
    try:
        return kind(text) if text else default
    except ValueError:
        known = ", ".join(it.value for it in kind)
        raise InvalidInputError.of(field, f"is {text[:40]!r}; it can be {known}") from None


def _day(field: str, text: str, default: date) -> date:
    try:
        day = date.fromisoformat(text) if text else default
    except ValueError:
        raise InvalidInputError.of(field, f"is {text[:40]!r}; a day is written as 2026-11-30") from None
    if not _EARLIEST <= day <= _LATEST:
        raise InvalidInputError.of(field, f"{day} is not between {_EARLIEST} and {_LATEST}")
    return day


def _project(slug: str, projects: Collection[str]) -> str:
    if slug and slug not in projects:
        raise InvalidInputError.of("project", f"is {slug[:40]!r}, and there is none of that name")
    return slug


def _idle(text: str) -> int:
    seconds = next((it for it in IDLE_WINDOWS if str(it) == (text or "900")), None)
    if seconds is None:
        known = ", ".join(map(str, IDLE_WINDOWS))
        raise InvalidInputError.of("idle", f"is {text[:40]!r}; it can be {known}")
    return seconds
