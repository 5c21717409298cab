"""Links inside the repository lead somewhere, and everything that should be found is named."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, page, rows, section

_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str):
    broken = []
    for target, anchor in _LINK.findall(page(name)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path = ((ROOT / name).parent / target).resolve() if target else ROOT / name
        if not path.exists() or (anchor and anchor not in anchors(str(path.relative_to(ROOT)))):
            broken.append(f"{target}#{anchor}")
    assert not broken


def test_the_readme_links_every_page():
    missing = [name for name in PAGES if name.startswith("docs/") and f"({name})" not in page("README.md")]
    assert not missing


def test_the_folder_list_is_complete():
    listed = " ".join(cells[0] for cells in rows(section("docs/architecture.md", "## Folders")))
    rooms = {f"app/{path.name}/" for path in (ROOT / "app").iterdir() if (path / "__init__.py").exists()}
    files = {f"app/{path.name}" for path in (ROOT / "app").glob("[a-z]*.py")}
    missing = sorted(name for name in rooms | files if f"`{name}`" not in listed)
    assert not missing, "add them to the folder list of docs/architecture.md"
