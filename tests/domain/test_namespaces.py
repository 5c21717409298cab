"""Names of organizations' namespaces: valid, unique, and none but with the setting."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from app.domain.namespaces import LONGEST, Namespaces

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


def test_one_for_all_unless_set_otherwise() -> None:
    assert Namespaces("gpuyard").of("acme") == "gpuyard"


def test_one_for_each_is_named_after_it() -> None:
    assert Namespaces("gpuyard", per_organization=True).of("acme") == "gpuyard-acme"


@given(names, names)
def test_a_name_is_valid_however_long_its_parts_are(base: str, slug: str) -> None:
    found = Namespaces(base, per_organization=True).of(slug)
    assert LABEL.fullmatch(found)
    assert found != base


@given(names, st.sets(names, min_size=2, max_size=8))
def test_no_two_organizations_share_one(base: str, slugs: set[str]) -> None:
    namespaces = Namespaces(base, per_organization=True)
    assert len({namespaces.of(slug) for slug in slugs}) == len(slugs)


def test_no_slug_can_be_made_to_look_like_one_that_was_cut() -> None:
    namespaces = Namespaces("gpuyard", per_organization=True)
    cut = namespaces.of("a" * 60)
    assert len(cut) == LONGEST
    assert namespaces.of(cut.removeprefix("gpuyard-")) != cut
    assert namespaces.of("a" * 61) != cut
