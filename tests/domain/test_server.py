"""Our own flags on a server, and the words for them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.errors import InvalidInputError
from app.domain.server import LONGEST_REASON, NO_FLAGS, Cordon, ServerFlags, cordon_reason
from tests.clock import START

FANS = Cordon("acme", "ada@example.org", START, "fans")


def test_a_cordon_for_the_same_reason_changes_nothing():
    flags = NO_FLAGS.cordoned(FANS)
    again = Cordon("acme", "bob@example.org", START + timedelta(hours=1), "fans")
    assert (flags.cordoned(again), flags.cordon) == (flags, FANS)


@pytest.mark.parametrize(
    "other",
    [Cordon("acme", "bob", START, "disk"), Cordon("acme", "bob", START), Cordon("globex", "bob", START, "fans")],
)
def test_another_cordon_takes_the_place_of_the_first(other: Cordon):
    assert NO_FLAGS.cordoned(FANS).cordoned(other).cordon == other


def test_lifting_a_cordon_leaves_the_assignment():
    flags = ServerFlags(3, FANS, "globex")
    assert flags.uncordoned() == ServerFlags(3, None, "globex")
    assert NO_FLAGS.uncordoned() == NO_FLAGS


def test_words():
    assert FANS.words == "cordoned by ada@example.org: fans"
    assert Cordon("acme", "ada@example.org", START).words == "cordoned by ada@example.org"
    assert FANS.told_to("acme") == FANS
    assert FANS.told_to("globex").words == "cordoned by its former organization"


def test_a_reason_is_short_and_on_one_line():
    assert cordon_reason(f" {'x' * LONGEST_REASON} ") == "x" * LONGEST_REASON
    assert cordon_reason("  ") == ""
    for wrong in ("x" * (LONGEST_REASON + 1), "a\nb", "a\0b", "\x1b[31m"):
        with pytest.raises(InvalidInputError):
            cordon_reason(wrong)
