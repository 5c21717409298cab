"""Waiting for an end: every event once, patience with a service that is away, codes for scripts."""

from __future__ import annotations

from typing import Any

import pytest

from app.client.errors import ClientError, UnreachableError
from app.client.waiting import Progress, begun, ended, exit_code
from tests.client.words import Words


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
    assert Progress(look, words.waiter).until(ended)["exitCode"] == 0
    assert words == ["pending    one", "completed  two"]
    assert words.pauses == sorted(words.pauses)


def test_it_outlasts_a_service_that_is_away():
    words = Words()
    away = UnreachableError("it can't be reached")
    Progress(looking(away, away, away, seen("FAILED", "end")), words.waiter).until(ended)
    assert words == ["gpuyard: it can't be reached; waiting for it", "gpuyard: it answers again", "failed     end"]
    assert len(words.pauses) == 3


def test_a_refusal_ends_it():
    with pytest.raises(ClientError, match="no workload"):
        Progress(looking(seen("PENDING"), ClientError("there is no workload")), Words().waiter).until(ended)


def test_a_second_wait_goes_on_where_the_first_one_was():
    words = Words()
    running = seen("RUNNING", "one", "two", phase="RUNNING")
    progress = Progress(looking(running, running, seen("COMPLETED", "one", "two", "three")), words.waiter)
    progress.until(begun)
    progress.until(ended)
    assert [line.split()[1] for line in words] == ["one", "two", "three"]


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
