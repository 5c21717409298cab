"""What a quota may be, and when all of them can't be kept."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInputError
from app.domain.quota import MOST, NO_QUOTA, Quota, check_quota, over_promised


@pytest.mark.parametrize("wanted", [(None, None), (0, 0), (0, None), (None, 0), (4, 4), (4, 8), (MOST, MOST)])
def test_a_quota_that_can_be(wanted: tuple[int | None, int | None]):
    assert check_quota(*wanted) == Quota(*wanted)


@pytest.mark.parametrize(
    ("guaranteed", "maximum", "fields"),
    [
        (-1, None, ["guaranteedGpus"]),
        (None, -1, ["maxGpus"]),
        (MOST + 1, MOST + 1, ["guaranteedGpus", "maxGpus"]),
        (5, 4, ["maxGpus"]),
    ],
)
def test_a_quota_that_cannot_be(guaranteed: int | None, maximum: int | None, fields: list[str]):
    with pytest.raises(InvalidInputError) as caught:
        check_quota(guaranteed, maximum)
    assert [it.field for it in caught.value.problems] == fields


def test_only_what_is_beyond_a_guarantee_is_over():
    assert [Quota(4).over(used) for used in (0, 4, 6)] == [0, 0, 2]
    assert NO_QUOTA.over(6) is None


def test_guarantees_that_the_servers_cannot_keep_are_warned_of():
    quotas = [Quota(4, 8), Quota(None, 100), Quota(5)]
    assert over_promised(quotas, 9) == ""
    assert over_promised(quotas, 8).startswith("all guarantees together are 9 GPUs, but the servers on record have 8")


def test_a_quota_in_words():
    assert Quota(4, 8).words == "4 guaranteed, 8 at most"
    assert NO_QUOTA.words == "nothing guaranteed, no maximum"
