"""Which of the organization's servers a page shows: a search, a state of GPUs, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from app.domain.errors import NotFoundError
from app.domain.gpu_map import GpuState
from app.panel import urls
from app.panel.list_views import PageLinks, numbered_links, page_number

PAGE = 50
_LONGEST_TYPED = 200
T = TypeVar("T")


@dataclass(frozen=True)
class ServerListing:
    """`typed` is looked for in a server's name, its cluster's and its product; `show`: with such a GPU only."""

    typed: str = ""
    show: GpuState | None = None
    number: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> ServerListing:
        """Raises NotFoundError for a state or a page that there is not."""
        return cls(query.get("q", "").strip()[:_LONGEST_TYPED], _state(query.get("show", "")), page_number(query))

    def finds(self, *texts: str) -> bool:
        there = "\n".join(texts).lower()
        return all(word in there for word in self.typed.lower().split())

    def of(self, found: Sequence[T]) -> Sequence[T]:
        return found[(self.number - 1) * PAGE : self.number * PAGE]

    def query(self) -> dict[str, str]:
        number = str(self.number) if self.number > 1 else ""
        return {"q": self.typed, "show": self.show or "", "page": number}

    def url(self, slug: str) -> str:
        return urls.servers(slug, **self.query())

    def shown_as(self, slug: str, state: GpuState | None) -> str:
        return replace(self, show=state, number=1).url(slug)

    def links(self, slug: str, count: int) -> PageLinks:
        """`count` is of all servers that are found."""
        pages = partial(self._page_url, slug)
        return numbered_links(self.number, pages, has_next=self.number * PAGE < count)

    def _page_url(self, slug: str, number: int) -> str:
        return replace(self, number=number).url(slug)


def _state(text: str) -> GpuState | None:
    if not text:
        return None
    try:
        return GpuState(text)
    except ValueError:
        raise NotFoundError(f"there is no state of GPUs {text[:40]!r}") from None
