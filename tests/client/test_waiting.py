"""Waiting for an end: every event once, patience with a service that is away, codes for scripts."""

from __future__ import annotations

from typing import Any

import pytest

from app.client.errors import ClientError, UnreachableError
from app.client.waiting import Waiter, ended, exit_code, progress


class Words(list[str]):
    """What was said; pauses are noted instead of slept."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self.waiter = Waiter(self.append, self.pauses.append)


def seen(status: str, *messages: str, **more: Any) -> dict[str, Any]:
    events = [{"cursor": str(n), "status": status, "message": message} for n, message in enumerate(messages)]
    return {"status": status, "events": events, **more}


def looking(*answers: dict[str, Any] | ClientError) -> Any:
    left = iter(answers)

    def look() -> dict[str, Any]:
        answer = next(left)
        if isinstance(answer, ClientError):
            raise answer
        return answer

    return look


def test_each_event_is_told_once():
    words = Words()
    look = looking(seen("PENDING", "one"), seen("PENDING", "one"), seen("COMPLETED", "one", "two", exitCode=0))
    assert progress(look, words.waiter, ended)["exitCode"] == 0
    assert words == ["pending    one", "completed  two"]
    assert words.pauses == sorted(words.pauses)


def test_it_outlasts_a_service_that_is_away():
    words = Words()
    away = UnreachableError("it can't be reached")
    progress(looking(away, away, away, seen("FAILED", "end")), words.waiter, ended)
    assert words == ["gpuyard: it can't be reached; waiting for it", "gpuyard: it answers again", "failed     end"]
    assert len(words.pauses) == 3


def test_a_refusal_ends_it():
    with pytest.raises(ClientError, match="no workload"):
        progress(looking(seen("PENDING"), ClientError("there is no workload")), Words().waiter, ended)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("COMPLETED", 0, 0),
        ("COMPLETED", 3, 3),
        ("COMPLETED", 139, 139),
        ("FAILED", 137, 70),
        ("FAILED", None, 70),
        ("TIMEOUT", 143, 124),
        ("CANCELLED", None, 143),
    ],
)
def test_exit_codes(status: str, code: int | None, expected: int):
    assert exit_code({"status": status, "exitCode": code}) == expected
