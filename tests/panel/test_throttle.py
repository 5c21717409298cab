"""How often a password may be tried."""

from __future__ import annotations

import pytest

from app.auth import throttle
from app.auth.throttle import ACCOUNT_TRIES, ADDRESS_TRIES, WINDOW_SECONDS, Throttle
from tests.clock import ManualClock


@pytest.fixture
def made(clock: ManualClock) -> Throttle:
    return Throttle(clock.monotonic)


def test_an_account_from_anywhere(made: Throttle, clock: ManualClock):
    for i in range(ACCOUNT_TRIES):
        assert made.take("ada", f"10.0.0.{i}") == 0
    assert made.take("ada", "10.0.1.1") == WINDOW_SECONDS
    assert made.take("grace", "10.0.1.1") == 0
    clock.advance(WINDOW_SECONDS)
    assert made.take("ada", "10.0.1.1") == 0


def test_an_address_with_many_accounts(made: Throttle):
    for i in range(ADDRESS_TRIES):
        assert made.take(f"user{i}", "10.0.0.1") == 0
    assert made.take("another", "10.0.0.1") > 0
    assert made.take("another", "10.0.0.2") == 0


def test_the_window_slides(made: Throttle, clock: ManualClock):
    for _ in range(ACCOUNT_TRIES):
        made.take("ada", "10.0.0.1")
        clock.advance(10)
    assert made.take("ada", "10.0.0.1") == WINDOW_SECONDS - 10 * ACCOUNT_TRIES
    clock.advance(WINDOW_SECONDS - 10 * ACCOUNT_TRIES)
    assert made.take("ada", "10.0.0.1") == 0
    assert made.take("ada", "10.0.0.1") == 10


def test_being_refused_does_not_prolong_the_wait(made: Throttle, clock: ManualClock):
    for _ in range(ACCOUNT_TRIES + 50):
        made.take("ada", "10.0.0.1")
    clock.advance(WINDOW_SECONDS)
    assert made.take("ada", "10.0.0.1") == 0


def test_a_right_password_is_no_try(made: Throttle):
    for _ in range(5 * ADDRESS_TRIES):
        assert made.take("ada", "10.0.0.1") == 0
        made.give_back("ada", "10.0.0.1")


def test_one_ipv6_network_is_one_address(made: Throttle):
    for i in range(ADDRESS_TRIES):
        assert made.take(f"user{i}", f"2001:db8::{i:x}") == 0
    assert made.take("another", "2001:db8::ffff") > 0
    assert made.take("another", "2001:db8:1::1") == 0


def test_memory_is_bounded(made: Throttle):
    for i in range(throttle._MOST_KEYS + 10):
        made.take(f"user{i}", f"odd address {i}")
    assert len(made._tries) == throttle._MOST_KEYS
