"""Looks one after the other, and a look that does not end; on a clock that the test moves."""

from __future__ import annotations

import threading
import time

import pytest

from agent.collector import Collector
from agent.look import Look
from agent.report import DriverState
from tests.agent.looks import inventory, look
from tests.clock import ManualClock


class Source:
    """Looks take as long as `taking` says."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.taking = 0.0
        self.during = lambda: None
        self.is_closed = False
        self.next = look()

    def look(self) -> Look:
        self.clock.advance(self.taking)
        self.during()
        return self.next

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def source(clock: ManualClock) -> Source:
    return Source(clock)


@pytest.fixture
def told() -> list[Look]:
    return []


@pytest.fixture
def collector(source: Source, clock: ManualClock, told: list[Look]) -> Collector:
    return Collector(source, clock, lambda: 0.001, told.append, threading.Event())


def test_each_look_is_told(collector: Collector, source: Source, told: list[Look]) -> None:
    collector.look()
    source.next = look(found=inventory(state=DriverState.NO_GPU))
    collector.look()
    assert [each.inventory.state for each in told] == [DriverState.OK, DriverState.NO_GPU]


def test_it_looks_until_it_is_stopped_and_closes_its_source(
    collector: Collector, source: Source, told: list[Look]
) -> None:
    source.during = lambda: collector.stop() if len(told) == 3 else None
    collector.run()
    assert len(told) == 4
    assert source.is_closed


def test_a_storm_of_events_makes_no_storm_of_looks(source: Source, clock: ManualClock, told: list[Look]) -> None:
    woken = threading.Event()
    collector = Collector(source, clock, lambda: 300, told.append, woken, shortest=0.02)

    def during() -> None:
        woken.set()
        if len(told) == 5:
            collector.stop()

    source.during = during
    began = time.monotonic()
    collector.run()
    assert time.monotonic() - began >= 5 * 0.02
    assert len(told) == 6


def test_a_look_that_does_not_end_is_said_in_the_sources_place_and_once(
    collector: Collector, source: Source, told: list[Look]
) -> None:
    def watched() -> None:
        for _ in range(3):
            collector.watch_over()

    source.taking, source.during = 61.0, watched
    collector.look()
    hanging, after = told
    assert hanging.inventory.state is DriverState.ERROR
    assert hanging.inventory.message.startswith("the driver has not answered for 61 s")
    assert (hanging.samples, hanging.holders) == ((), None)
    assert after.inventory.state is DriverState.OK
    assert collector.stuck_seconds() == 0


def test_a_slow_look_is_no_hanging_one(collector: Collector, source: Source, told: list[Look]) -> None:
    source.taking, source.during = 59.0, collector.watch_over
    collector.look()
    assert len(told) == 1
