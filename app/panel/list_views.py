"""The list of workloads as its page shows it, and how what a page shows differs from what is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import NotFoundError
from app.domain.filters import FIELDS, Kind
from app.panel.digests import digest_of
from app.panel.workload_views import RowView

_MOST_DIGITS = 6  # of a page's number


@dataclass(frozen=True)
class Heading:
    """Of a column. Without `url` the list can't be sorted by it; `direction` is that of the present order."""

    label: str
    url: str = ""
    direction: str = ""


@dataclass(frozen=True)
class FieldsHelp:
    """Fields of one kind, and the operators that it takes."""

    kind: str
    operators: str
    names: tuple[str, ...]


FIELDS_HELP = tuple(
    FieldsHelp(kind.value, " ".join(kind.operators), tuple(name for name, it in FIELDS.items() if it.kind is kind))
    for kind in Kind
)


@dataclass(frozen=True)
class SearchView:
    """The search box. `kept` are the address's other parameters; `clear_url` is empty where nothing was typed."""

    action: str
    typed: str
    problems: tuple[str, ...]
    kept: Mapping[str, str]
    clear_url: str
    help: tuple[FieldsHelp, ...] = FIELDS_HELP


@dataclass(frozen=True)
class PageLinks:
    """Empty where there is no such page."""

    first: str = ""
    previous: str = ""
    next: str = ""


@dataclass(frozen=True)
class ListView:
    """`nothing` is said where there are no rows. `digest` names all that is shown."""

    rows: tuple[RowView, ...]
    links: PageLinks
    nothing: str

    @property
    def digest(self) -> str:
        return digest_of(self)


@dataclass(frozen=True)
class Added:
    """New rows, right behind another one; at the top without."""

    after: UUID | None
    rows: tuple[RowView, ...]


@dataclass(frozen=True)
class Difference:
    gone: tuple[UUID, ...]
    added: tuple[Added, ...]
    changed: tuple[RowView, ...]


def difference(shown: Sequence[RowView], true: Sequence[RowView]) -> Difference | None:
    """What to do to the shown rows; None where rows changed places, so that all are told anew."""
    before, now = {row.id: row for row in shown}, {row.id for row in true}
    if [row.id for row in shown if row.id in now] != [row.id for row in true if row.id in before]:
        return None
    added: dict[UUID | None, list[RowView]] = {}
    last: UUID | None = None
    for row in true:
        if row.id in before:
            last = row.id
        else:
            added.setdefault(last, []).append(row)
    return Difference(
        gone=tuple(row.id for row in shown if row.id not in now),
        added=tuple(Added(after, tuple(rows)) for after, rows in added.items()),
        changed=tuple(row for row in true if row.id in before and before[row.id] != row),
    )


def page_number(query: Mapping[str, str]) -> int:
    """Of lists whose pages are numbered. Raises NotFoundError where it is no number."""
    text = query.get("page", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text)):
        raise NotFoundError("there is no such page of the list")
    return int(text)


def numbered_links(number: int, url: Callable[[int], str], *, has_next: bool) -> PageLinks:
    """`url` gives the address of a page."""
    is_first = number == 1
    return PageLinks(
        "" if is_first else url(1), "" if is_first else url(number - 1), url(number + 1) if has_next else ""
    )
