"""The app dies right after a write was accepted and before it knows: the next one comes to the same end.

Some plans of one story; `make soak` runs all of all stories. tests/reconcile/test_crash_points.py does the same in
one process on both databases.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.installation import installed
from tests.proof.plans import STORIES, chosen, differences, play


@pytest.mark.timeout(300)
async def test_a_death_right_after_a_write_changes_nothing(tmp_path: Path, postgres_copy: str):
    story = next(story for story in STORIES if story.name == "cancel")
    async with installed(tmp_path / "proof", postgres_copy) as installation:
        reference, recorded = await play(installation, story, "reference")
        assert reference.left == ()
        assert {"POST jobs", "DELETE jobs", "PATCH pods"} <= set(recorded.writes)
        for at in chosen(recorded.writes):
            found, cut = await play(installation, story, f"after {at}", at)
            assert differences(reference, found) == [], f"killed after {cut.writes[at - 1]}, write {at}"
