"""When reports go out, and how failures are waited out; on a clock that the test moves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from agent.backoff import pause_after
from agent.courier import Courier, Post
from agent.outbox import SAMPLES_PER_REPORT, Outbox
from agent.report import Receipt, Report
from agent.service import DeliveryError
from tests.agent.looks import IDENTITY, look
from tests.clock import ManualClock

Answer = Receipt | DeliveryError


class Service:
    """Answers as `next` says, else takes the report."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.skew: float | None = 0.0
        self.reports: list[Report] = []
        self.next: Callable[[], Answer] = lambda: Receipt(clock.now())

    def deliver(self, report: Report) -> Receipt:
        self.reports.append(report)
        answer = self.next()
        if isinstance(answer, DeliveryError):
            raise answer
        return answer


@pytest.fixture
def service(clock: ManualClock) -> Service:
    return Service(clock)


@pytest.fixture
def post() -> Post:
    return Post(Outbox(IDENTITY, most_samples=10_000))


@pytest.fixture
def courier(post: Post, service: Service, clock: ManualClock) -> Courier:
    return Courier([post], service, clock, interval=15)


def test_nothing_is_sent_before_the_first_look_and_then_at_once(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    courier.step()
    assert service.reports == []
    post.add(look(), clock.monotonic())
    assert courier.step() == 30
    assert len(service.reports) == 1


def test_who_is_hushed_says_nothing_until_there_is_a_look_again(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    post.add(look(), clock.monotonic())
    courier.step()
    post.hush()
    clock.advance(3600)
    courier.step()
    assert len(service.reports) == 1
    post.add(look(), clock.monotonic())
    courier.step()
    assert len(service.reports) == 2


def test_each_look_is_told_and_silence_is_broken_after_two_intervals(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    post.add(look(), clock.monotonic())
    courier.step()
    clock.advance(15)
    assert courier.step() == 15
    post.add(look(), clock.monotonic())
    assert courier.step() == 30
    clock.advance(30)
    courier.step()
    assert [(report.sequence, len(report.samples)) for report in service.reports] == [(1, 1), (2, 1), (3, 0)]


def test_failures_are_waited_out_longer_each_time_and_looks_do_not_shorten_that(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: DeliveryError("away")
    post.add(look(), clock.monotonic())
    pauses = []
    for _ in range(7):
        pauses.append(courier.step())
        post.add(look(), clock.monotonic())
        assert courier.step() == pauses[-1]
        clock.advance(pauses[-1])
    for pause, most in zip(pauses, (2, 4, 8, 16, 32, 60, 60), strict=True):
        assert most / 2 <= pause <= most
    assert post.failed == 7


def test_after_an_outage_the_buffer_goes_out_in_parts_without_a_pause(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: DeliveryError("away")
    for _ in range(1200):
        post.add(look(clock.now()), clock.monotonic())
    courier.step()
    clock.advance(2)
    service.next = lambda: Receipt(clock.now())
    service.reports.clear()
    assert [courier.step(), courier.step(), courier.step()] == [0, 0, 30]
    assert [len(report.samples) for report in service.reports] == [SAMPLES_PER_REPORT, SAMPLES_PER_REPORT, 200]


def test_a_service_that_asks_for_a_pause_gets_it(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: DeliveryError("too many requests", "RATE_LIMITED", pause=120)
    post.add(look(), clock.monotonic())
    assert courier.step() == 120


def test_no_service_silences_an_agent_for_good(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: DeliveryError("away", pause=float("inf"))
    post.add(look(), clock.monotonic())
    assert courier.step() == 300


def test_the_pods_that_the_service_names_are_remembered(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: Receipt(clock.now(), pod_uids=("uid-1",))
    post.add(look(), clock.monotonic())
    courier.step()
    before = post.pod_uids
    clock.advance(15)
    service.next = lambda: Receipt(clock.now())
    post.add(look(), clock.monotonic())
    courier.step()
    assert (before, post.pod_uids) == (("uid-1",), ())


def test_the_service_may_ask_for_another_interval(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: Receipt(clock.now(), interval_seconds=45)
    post.add(look(), clock.monotonic())
    assert courier.step() == 90
    assert post.interval == 45


def test_a_late_report_is_not_repeated_without_a_pause(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: Receipt(clock.now(), is_late=True)
    post.add(look(), clock.monotonic())
    assert courier.step() == 30


def test_who_wants_everything_gets_it_at_once(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    post.add(look(), clock.monotonic())
    courier.step()
    clock.advance(15)
    answers = iter([Receipt(clock.now(), wants_everything=True), Receipt(clock.now())])
    service.next = lambda: next(answers)
    post.add(look(), clock.monotonic())
    assert courier.step() == 0
    assert courier.step() == 30
    assert [report.inventory is not None for report in service.reports] == [True, False, True]


@pytest.mark.parametrize("code", ["UNAUTHENTICATED", "FORBIDDEN", "NOT_FOUND", ""])
def test_a_refusal_of_the_agent_itself_loses_nothing(
    courier: Courier, post: Post, service: Service, clock: ManualClock, code: str
) -> None:
    """Somebody may give it its right, or put the server on record."""
    service.next = lambda: DeliveryError("no", code)
    post.add(look(), clock.monotonic())
    clock.advance(courier.step())
    service.next = lambda: Receipt(clock.now())
    courier.step()
    assert [len(report.samples) for report in service.reports] == [1, 1]
    assert service.reports[1].inventory is not None


def test_samples_that_are_refused_do_not_stand_in_the_way(
    courier: Courier, post: Post, service: Service, clock: ManualClock
) -> None:
    service.next = lambda: DeliveryError("too much", "BAD_USER_INPUT")
    post.add(look(), clock.monotonic())
    clock.advance(courier.step())
    service.next = lambda: Receipt(clock.now())
    post.add(look(clock.now()), clock.monotonic())
    courier.step()
    assert [sample.at for sample in service.reports[-1].samples] == [clock.now()]


def test_an_outage_is_two_lines_in_the_log(
    courier: Courier, post: Post, service: Service, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    service.next = lambda: DeliveryError("away")
    post.add(look(), clock.monotonic())
    for _ in range(5):
        clock.advance(courier.step())
    service.next = lambda: Receipt(clock.now())
    courier.step()
    assert [record.message for record in caplog.records] == [
        "the report of gpu-1 did not arrive: away",
        "reports of gpu-1 arrive again, after 5 that did not",
    ]


def test_a_wrong_clock_is_told_once(
    courier: Courier, post: Post, service: Service, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    service.skew = -42.0
    for _ in range(3):
        post.add(look(), clock.monotonic())
        courier.step()
    (record,) = caplog.records
    assert record.message == "this machine's clock differs from the service's by -42.0 s"


def test_pauses_differ_by_chance() -> None:
    chance = Random(1)  # noqa: S311
    assert pause_after(0, chance) == 0
    assert len({pause_after(5, chance) for _ in range(20)}) == 20
    assert pause_after(10_000, chance) <= timedelta(minutes=1).total_seconds()
