"""docs/ends.md is what the table of ends prints."""

from tests.docs.pages import ROOT
from tests.e2e.every_end import page


def test_the_page_of_ends_is_fresh():
    """If it isn't: python -m tests.e2e.every_end > docs/ends.md."""
    assert (ROOT / "docs" / "ends.md").read_text() == page()
