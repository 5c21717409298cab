"""Markdown as these tests read it: fenced blocks, tables, headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CHANGELOG.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def page(name: str) -> str:
    return (ROOT / name).read_text()


def blocks(name: str, language: str = "") -> list[Block]:
    found = [Block(*match) for match in _FENCE.findall(page(name))]
    return [block for block in found if language in ("", block.language)]


def section(name: str, heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    level = heading.partition(" ")[0]
    _, _, rest = page(name).partition(f"\n{heading}\n")
    assert rest, f"{name} has no heading {heading!r}"
    return re.split(rf"\n#{{1,{len(level)}}} ", rest, maxsplit=1)[0]


def rows(text: str) -> list[list[str]]:
    """Cells of all table rows; `|` inside code is not met here."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def anchors(name: str) -> set[str]:
    """As GitHub makes them of headings."""
    prose = _FENCE.sub("", page(name))
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
