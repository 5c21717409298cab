"""All calls of a kind fail: few are sent. One answers: all are."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from app.cluster.brake import LONGEST_PAUSE, PATIENCE, Brakes, HeldBackError
from app.cluster.port import RefusedError, UnavailableError
from tests.clock import ManualClock

JOBS, JOB = "/apis/batch/v1/namespaces/x/jobs", "/apis/batch/v1/namespaces/x/jobs/one"


def brakes(clock: ManualClock) -> Brakes:
    return Brakes(clock.monotonic, random.Random(1))  # noqa: S311 - jitter


def call(given: Brakes, result: Callable[[], None] = lambda: None, method: str = "POST", path: str = JOBS) -> None:
    with given.around(method, path):
        result()


def unavailable(retry_after: float | None = None) -> Callable[[], None]:
    def fail() -> None:
        raise UnavailableError("500: something about a Job of another", retry_after, 500)

    return fail


def fails(given: Brakes, times: int, retry_after: float | None = None) -> None:
    for _ in range(times):
        with pytest.raises(UnavailableError):
            call(given, unavailable(retry_after))


def sent_in(given: Brakes, clock: ManualClock, seconds: int) -> int:
    """How many of those that try again every tenth of a second are sent."""
    sent = 0

    def count() -> None:
        nonlocal sent
        sent += 1
        unavailable()()

    for _ in range(seconds * 10):
        clock.advance(0.1)
        with pytest.raises(UnavailableError):
            call(given, count)
    return sent


def test_after_some_failures_nothing_is_sent_for_a_while():
    given = brakes(ManualClock())
    fails(given, PATIENCE)
    with pytest.raises(HeldBackError, match="answers everything of this kind with 500") as caught:
        call(given, lambda: pytest.fail("it was sent"))
    assert 0 < (caught.value.retry_after or 0) < 1
    assert "of another" not in caught.value.message


def test_what_is_sent_to_see_becomes_rarer_to_a_cap():
    clock = ManualClock()
    given = brakes(clock)
    fails(given, PATIENCE)
    assert sent_in(given, clock, 20) <= 10
    assert 60 / LONGEST_PAUSE * 0.7 <= sent_in(given, clock, 60) <= 60 / LONGEST_PAUSE * 1.4


@pytest.mark.parametrize("verdict", [None, RefusedError(404, "NotFound", "not there")])
def test_one_answer_sets_all_free(verdict: Exception | None):
    clock = ManualClock()
    given = brakes(clock)
    fails(given, PATIENCE)
    clock.advance(1)

    def answer() -> None:
        if verdict:
            raise verdict

    if verdict:
        with pytest.raises(RefusedError):
            call(given, answer)
    else:
        call(given, answer)
    fails(given, PATIENCE - 1)
    call(given)


def test_only_one_is_sent_to_see():
    clock = ManualClock()
    given = brakes(clock)
    fails(given, PATIENCE)
    clock.advance(1)
    with given.around("POST", JOBS), pytest.raises(HeldBackError):
        call(given)


def test_those_that_were_under_way_together_count_once():
    clock = ManualClock()
    given = brakes(clock)
    under_way = [given.around("POST", JOBS) for _ in range(16)]
    for one in under_way:
        one.__enter__()
    for one in under_way:
        error = UnavailableError("down")
        assert not one.__exit__(UnavailableError, error, None)
    clock.advance(0.5)
    call(given)


def test_a_server_that_asks_for_a_pause_gets_it():
    clock = ManualClock()
    given = brakes(clock)
    fails(given, PATIENCE, retry_after=30)
    clock.advance(29)
    with pytest.raises(HeldBackError):
        call(given)
    clock.advance(2)
    call(given)


def test_some_failures_among_answers_change_nothing():
    given = brakes(ManualClock())
    for _ in range(100):
        fails(given, PATIENCE - 1)
        call(given)


def test_kinds_of_calls_are_apart():
    given = brakes(ManualClock())
    fails(given, PATIENCE)
    others = JOBS.replace("/x/", "/y/")
    for method, path in (
        ("GET", JOBS),
        ("POST", others),
        ("POST", "/version"),
        ("PATCH", "/api/v1/namespaces/x/pods/p"),
    ):
        call(given, method=method, path=path)
    with pytest.raises(HeldBackError):
        call(given, path=JOB)
