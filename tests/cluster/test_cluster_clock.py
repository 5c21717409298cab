"""How far the cluster's clock is ahead, from the Date of its answers."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest

from app.cluster.cluster_clock import ClusterClock
from tests.clock import START


def dated(moment: datetime) -> str:
    return format_datetime(moment.replace(microsecond=0), usegmt=True)


def heard(ahead: float, took: float = 0.1, clock: ClusterClock | None = None) -> ClusterClock:
    clock = clock or ClusterClock()
    middle = START + timedelta(seconds=took / 2)
    clock.heard(dated(middle + timedelta(seconds=ahead)), START, START + timedelta(seconds=took))
    return clock


@pytest.mark.parametrize("seconds", [600.0, -600.0, 30.0, -4.0, 86_400.0])
def test_it_is_told_to_the_second(seconds: float) -> None:
    assert abs(heard(seconds).ahead.total_seconds() - seconds) <= 1


@pytest.mark.parametrize("seconds", [0.0, 0.9, -0.9, 1.4, -1.4])
def test_what_can_not_be_told_is_nothing(seconds: float) -> None:
    assert heard(seconds).ahead == timedelta(0)


def test_the_last_answer_counts() -> None:
    clock = heard(600)
    assert heard(0, clock=clock).ahead == timedelta(0)


@pytest.mark.parametrize("took", [2.5, 3600.0, -600.0], ids=["slow", "we slept", "our clock was set back"])
def test_an_exchange_that_tells_nothing_is_left_out(took: float) -> None:
    clock = heard(600)
    known = clock.ahead
    clock.heard(dated(START), START, START + timedelta(seconds=took))
    assert clock.ahead == known


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 30 Nov 2026 12:00:00 -0000", "0"])
def test_a_date_that_is_none_changes_nothing(date: str) -> None:
    clock = heard(600)
    known = clock.ahead
    clock.heard(date, START, START)
    assert clock.ahead == known
