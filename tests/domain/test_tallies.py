"""Numbers of one moment: groups add up, ratios are of what the group could have."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInputError
from app.domain.tallies import ServerFact, TallyGroup, TallyType, WorkloadFact, check_groups, pending_times, tally
from tests.clock import START

SERVERS = [
    ServerFact("a", "x", "H100", 8, 7, 3, 4, is_usable=True, held=4, idle=1),
    ServerFact("b", "x", "T4", 4, 4, 4, 0, is_usable=True),
    ServerFact("c", "y", "H100", 8, 0, 0, 2, is_usable=False, held=2, idle=2),
    ServerFact("d", "y", "", 0, 0, 0, 0, is_usable=True),
]
WORKLOADS = [
    WorkloadFact(2, 4, holds_gpus=True, project="vision", status="running", server="a", cluster="x", product="H100"),
    WorkloadFact(3, 12, project="vision", status="pending"),
    WorkloadFact(1, 2, holds_gpus=True, project="", status="running", server="c", cluster="y", product="H100"),
]


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        (TallyType.WORKLOADS_COUNT, 6),
        (TallyType.GPU_ALLOCATION, 6),
        (TallyType.ALLOCATION_RATIO, 30),
        (TallyType.TOTAL_GPUS, 20),
        (TallyType.READY_GPUS, 11),
        (TallyType.FREE_GPUS, 7),
        (TallyType.ALLOCATED_GPUS, 6),
        (TallyType.IDLE_ALLOCATED_GPUS, 3),
        (TallyType.TOTAL_SERVERS, 3),
        (TallyType.READY_SERVERS, 2),
        (TallyType.FREE_SERVERS, 1),
        (TallyType.ALLOCATED_SERVERS, 2),
        (TallyType.IDLE_ALLOCATED_SERVERS, 1),
    ],
)
def test_the_whole(wanted: TallyType, number: float):
    assert tally(wanted, [], WORKLOADS, SERVERS) == {(): number}


def test_by_group():
    by = [TallyGroup.PROJECT, TallyGroup.STATUS]
    found = tally(TallyType.WORKLOADS_COUNT, by, WORKLOADS, SERVERS)
    assert found == {("", "running"): 1, ("vision", "pending"): 3, ("vision", "running"): 2}


def test_a_ratio_is_of_the_gpus_that_the_group_could_have():
    by_project = tally(TallyType.ALLOCATION_RATIO, [TallyGroup.PROJECT], WORKLOADS, SERVERS)
    assert by_project == {("",): 10, ("vision",): 20}
    by_place = tally(TallyType.ALLOCATION_RATIO, [TallyGroup.PROJECT, TallyGroup.CLUSTER], WORKLOADS, SERVERS)
    assert by_place == {("", "y"): 25, ("vision", "x"): pytest.approx(100 / 3)}
    assert tally(TallyType.ALLOCATION_RATIO, [], [], []) == {}, "of no GPUs there is no part"


NAMES = st.sampled_from(["", "p", "q"])
FACTS = st.lists(
    st.builds(
        WorkloadFact, st.integers(1, 9), st.integers(1, 9), st.booleans(), project=NAMES, status=NAMES, server=NAMES
    )
)


@given(FACTS, st.lists(st.sampled_from(sorted(TallyType.WORKLOADS_COUNT.groups)), unique=True))
def test_groups_add_up_to_the_whole(facts: list[WorkloadFact], by: list[TallyGroup]):
    for wanted in (TallyType.WORKLOADS_COUNT, TallyType.GPU_ALLOCATION):
        assert sum(tally(wanted, by, facts, []).values()) == tally(wanted, [], facts, [])[()]


def test_how_long_has_been_waited():
    waits = (0, 59, 60, 299, 300, 1800, 7200, 10**6)
    found = pending_times([START - timedelta(seconds=it) for it in waits], START)
    assert [count for _, count in found.items()] == [2, 2, 1, 1, 2]
    assert sum(pending_times([], START).values()) == 0


@pytest.mark.parametrize(
    ("wanted", "by", "words"),
    [
        (
            TallyType.FREE_GPUS,
            [TallyGroup.PROJECT],
            "FREE_GPUS can't be grouped by PROJECT; it can be grouped by CLUSTER, ",
        ),
        (TallyType.PENDING_TIME, [TallyGroup.PROJECT], "it has its own groups"),
        (TallyType.WORKLOADS_COUNT, [TallyGroup.STATUS] * 2, "the same group twice"),
    ],
)
def test_groups_that_it_has_not(wanted: TallyType, by: list[TallyGroup], words: str):
    with pytest.raises(InvalidInputError, match=words):
        check_groups(wanted, by)
