"""Pictures of numbers as SVG, made on the server: lines over time, and stacked bars. Pure: series in, shapes out.

`templates/_chart.html` draws what is made here. Nothing is measured in the browser, so a picture is as wide as there is
room: across, all is in percent of the plot; up and down in its units of height. A part of a line without a value is a
gap. Colour is never alone: lines have dashes of their own, bars hatches, and each picture its table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby

from app.panel.axes import Unit, moment_marks, number, round_marks, thinned_labels

HEIGHT = 150  # of the plot, in pixels
_WIDTH = 1000  # of the plot, in the units of a line's path
_INKS, _PATTERNS = 8, 4
_MOST_DESCRIBED = 9
_NOT_KNOWN = "\u2013"

Parts = Sequence[tuple[datetime, datetime]]


class Role(StrEnum):
    """What a series is among the others of its picture."""

    ONE = "one"
    WHOLE = "whole"  # all others together
    LIMIT = "limit"  # what another may not go beyond, or was to have


@dataclass(frozen=True)
class Series:
    """One value for each part of the time; None: not known, which is not zero."""

    label: str
    values: Sequence[float | None]
    role: Role = Role.ONE


@dataclass(frozen=True)
class Look:
    """`classes` of the style sheet: of one of many a colour, and dashes or hatches, no pair twice among 32 series."""

    classes: str
    pattern: int = 0


@dataclass(frozen=True)
class Mark:
    """Of an axis. `at` is in percent across, in pixels down."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """`path` is in thousandths of the plot's width, and in pixels down."""

    look: Look
    path: str


@dataclass(frozen=True)
class Bar:
    """In percent across, in pixels down. `words` say what it stands for."""

    look: Look
    x: float
    width: float
    y: float
    height: float
    words: str


@dataclass(frozen=True)
class Table:
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """`name` is unique on its page: ids are made of it. `legend` is empty where there is only one series."""

    name: str
    title: str
    unit: str
    description: str
    across: tuple[Mark, ...]
    down: tuple[Mark, ...]
    legend: tuple[tuple[Look, str], ...]
    table: Table
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    height: int = HEIGHT


def line_chart(name: str, title: str, unit: Unit, parts: Parts, series: Sequence[Series]) -> Chart:
    """Of values over time; each is drawn at the middle of its part."""
    start, end = parts[0][0], parts[-1][1]
    marks = round_marks(max([unit.top, *(_shown(unit, it) for it in _known(series))]))
    looks = _looks(series)
    return Chart(
        name=name,
        title=title,
        unit=unit.name,
        description=_description(unit, series),
        across=tuple(Mark(_percent(at, start, end), label) for at, label in moment_marks(start, end)),
        down=_down(marks),
        legend=_legend(looks, series),
        table=_table("From (UTC)", [_moment(at) for at, _ in parts], unit, series),
        lines=tuple(
            Line(look, path)
            for look, it in zip(looks, series, strict=True)
            if (path := _path([None if v is None else _shown(unit, v) for v in it.values], marks[-1]))
        ),
    )


def bar_chart(
    name: str, title: str, unit: Unit, labels: Sequence[str], series: Sequence[Series], marks_of: Sequence[str] = ()
) -> Chart:
    """A pile of bars for each label, the first series at its foot. `marks_of` are shorter labels, for the axis."""
    piles = [sum(_shown(unit, it.values[n] or 0.0) for it in series) for n in range(len(labels))]
    marks = round_marks(max([unit.top, *piles]))
    looks, each = _looks(series), 100 / max(1, len(labels))
    return Chart(
        name=name,
        title=title,
        unit=unit.name,
        description=_description(unit, series),
        across=tuple(Mark(round((n + 0.5) * each, 3), label) for n, label in thinned_labels(marks_of or labels)),
        down=_down(marks),
        legend=_legend(looks, series),
        table=_table("Period", labels, unit, series),
        bars=tuple(_bars(looks, series, labels, unit, marks[-1])),
    )


def _looks(series: Sequence[Series]) -> list[Look]:
    """Whole and limit have their own, so that the others' don't depend on whether they are there."""
    numbers = iter(range(len(series)))
    return [_look(next(numbers)) if it.role is Role.ONE else Look(it.role.value) for it in series]


def _look(n: int) -> Look:
    pattern = (n + n // _INKS) % _PATTERNS
    return Look(f"ink-{n % _INKS + 1} pattern-{pattern}", pattern)


def _legend(looks: Sequence[Look], series: Sequence[Series]) -> tuple[tuple[Look, str], ...]:
    return tuple((look, it.label) for look, it in zip(looks, series, strict=True)) if len(series) > 1 else ()


def _shown(unit: Unit, value: float) -> float:
    return value / unit.divisor


def _known(series: Sequence[Series]) -> list[float]:
    return [value for it in series for value in it.values if value is not None]


def _percent(at: datetime, start: datetime, end: datetime) -> float:
    return round(100 * ((at - start) / (end - start)), 3)


def _down(marks: Sequence[float]) -> tuple[Mark, ...]:
    return tuple(Mark(_y(mark, marks[-1]), number(mark)) for mark in marks)


def _y(value: float, top: float) -> float:
    return round(HEIGHT * (1 - value / top), 1)


def _path(values: Sequence[float | None], top: float) -> str:
    """Each stretch of known values is a line of its own; a single one is as wide as its part."""
    width = _WIDTH / len(values)
    places = [(n, None if value is None else _y(value, top)) for n, value in enumerate(values)]
    pieces = []
    for is_known, stretch in groupby(places, key=lambda place: place[1] is not None):
        points = list(stretch)
        if is_known and len(points) == 1:
            [(n, y)] = points
            pieces.append(f"M{n * width:.1f} {y}H{(n + 1) * width:.1f}")
        elif is_known:
            pieces.append("M" + "L".join(f"{(n + 0.5) * width:.1f} {y}" for n, y in points))
    return "".join(pieces)


def _bars(
    looks: Sequence[Look], series: Sequence[Series], labels: Sequence[str], unit: Unit, top: float
) -> Iterator[Bar]:
    each = 100 / max(1, len(labels))
    for n, label in enumerate(labels):
        foot = 0.0
        for look, it in zip(looks, series, strict=True):
            if value := it.values[n]:
                head = foot + _shown(unit, value)
                y = _y(head, top)
                words = f"{label}, {it.label}: {unit.words(value)}"
                yield Bar(look, round((n + 0.1) * each, 3), round(0.8 * each, 3), y, round(_y(foot, top) - y, 1), words)
                foot = head


def _description(unit: Unit, series: Sequence[Series]) -> str:
    """For who can't see the picture: how far each reaches, and how much of it is missing."""
    said = [_reach(unit, it) for it in series[:_MOST_DESCRIBED]]
    more = len(series) - len(said)
    return "; ".join([*said, *([f"and {more} more"] if more > 0 else [])])


def _reach(unit: Unit, one: Series) -> str:
    known = [value for value in one.values if value is not None]
    if not known:
        return f"{one.label}: nothing is known"
    missing = len(one.values) - len(known)
    gaps = f", not known in {missing} of {len(one.values)} parts" if missing else ""
    return f"{one.label}: {number(min(known) / unit.divisor)} to {unit.words(max(known))}{gaps}"


def _table(first: str, labels: Sequence[str], unit: Unit, series: Sequence[Series]) -> Table:
    headings = (first, *(f"{it.label} ({unit.name})" for it in series))
    rows = (
        (label, *(_NOT_KNOWN if (value := it.values[n]) is None else number(_shown(unit, value)) for it in series))
        for n, label in enumerate(labels)
    )
    return Table(headings, tuple(rows))


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at.second else f"{at:%Y-%m-%d %H:%M}"
