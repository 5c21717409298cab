"""One report over HTTP: what arrives, and what each kind of answer means."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.clock import SystemClock
from agent.report import Report
from agent.service import DeliveryError, Service, skew_of
from tests.agent.service import Answer, FakeService, receipt, refusal
from tests.clock import START

REPORT = Report("gpu-1", "b", "1", "a", START, 1, START)


@pytest.fixture
def desk() -> Iterator[FakeService]:
    desk = FakeService()
    yield desk
    desk.close()


@pytest.fixture
def service(desk: FakeService) -> Iterator[Service]:
    service = Service(desk.url, lambda: "secret", SystemClock())
    yield service
    service.close()


def test_a_report_is_posted_with_its_token(desk: FakeService, service: Service) -> None:
    desk.answer = lambda _: receipt(intervalSeconds=20)
    assert service.deliver(REPORT).interval_seconds == 20
    assert (desk.tokens, desk.reports[0]["node"]) == (["Bearer secret"], "gpu-1")
    assert service.skew is not None
    assert abs(service.skew) < 10


@pytest.mark.parametrize(
    ("answer", "code", "pause", "words"),
    [
        (refusal("FORBIDDEN", "this token is another node's"), "FORBIDDEN", 0, "this token is another node's"),
        (refusal("RATE_LIMITED", Retry_After="30"), "RATE_LIMITED", 30, "no"),
        ((503, b"<html>away</html>", {"Retry-After": "7"}), "", 7, "answered 503 Service Unavailable, and no JSON"),
        ((404, b"{}", {}), "", 0, "not that of a GPUYard service"),
        ((200, b"\xff\xfe", {}), "", 0, "and no JSON"),
        ((302, b"", {"Location": "http://other.example/"}), "", 0, "answered 302"),
    ],
)
def test_what_is_no_receipt_is_an_error(
    desk: FakeService, service: Service, answer: Answer, code: str, pause: float, words: str
) -> None:
    desk.answer = lambda _: answer
    with pytest.raises(DeliveryError, match=words) as caught:
        service.deliver(REPORT)
    assert (caught.value.code, caught.value.pause) == (code, pause)


def test_nobody_there_is_an_error_with_the_address(desk: FakeService) -> None:
    service = Service("http://127.0.0.1:1", lambda: "secret", SystemClock())
    with pytest.raises(DeliveryError, match="1/graphql cannot be reached"):
        service.deliver(REPORT)
    service.close()


def test_a_token_that_cannot_be_read_is_an_error(desk: FakeService) -> None:
    def no_token() -> str:
        raise FileNotFoundError("token")

    service = Service(desk.url, no_token, SystemClock())
    with pytest.raises(DeliveryError, match="token"):
        service.deliver(REPORT)
    service.close()


def test_skew_is_measured_from_the_middle_of_the_exchange() -> None:
    assert skew_of(START, 2.0, START + timedelta(seconds=31)) == 30
    assert skew_of(START, 2.0, START + timedelta(seconds=1)) == 0
