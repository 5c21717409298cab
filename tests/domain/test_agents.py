"""What an agent's silence means, and which of two reports is the newer one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.agents import AgentBinding, AgentPolicy, Freshness, Heard
from tests.clock import START

POLICY = AgentPolicy(interval=15, stale_after=90, lost_after=900)


@pytest.mark.parametrize(
    ("seconds", "freshness"),
    [
        (0, Freshness.FRESH),
        (90, Freshness.FRESH),
        (91, Freshness.STALE),
        (900, Freshness.STALE),
        (901, Freshness.LOST),
        (-60, Freshness.FRESH),
    ],
)
def test_silence(seconds: int, freshness: Freshness):
    assert POLICY.freshness(START, START + timedelta(seconds=seconds)) is freshness


def heard(agent: str = "a", started: int = 0, sequence: int = 5, received: int = 0) -> Heard:
    return Heard(agent, START + timedelta(seconds=started), sequence, START + timedelta(seconds=received))


@pytest.mark.parametrize(
    ("other", "is_late"),
    [
        pytest.param(heard(sequence=6), False, id="the next one"),
        pytest.param(heard(sequence=5), True, id="the same once more"),
        pytest.param(heard(sequence=4, received=5000), True, id="an earlier one, however late it comes"),
        pytest.param(heard("b", started=10, sequence=0), False, id="of a process that started later"),
        pytest.param(heard("b", started=-10, sequence=99, received=5), True, id="of a process that started earlier"),
        pytest.param(heard("b", started=-10, sequence=0, received=91), False, id="the clock was set back meanwhile"),
    ],
)
def test_which_is_late(other: Heard, is_late: bool):
    assert heard().is_late(other, stale_after=90) is is_late


def test_what_a_token_is_bound_to():
    assert AgentBinding("default", "gpu-1").covers("gpu-1")
    assert not AgentBinding("default", "gpu-1").covers("gpu-2")
    assert AgentBinding("default").covers("gpu-2")
