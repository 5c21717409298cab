"""Waiting for a workload's end, through restarts of the service, and what it means for a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.client.errors import UnreachableError
from app.client.views import ENDS

# As `timeout` has it, as a shell has it for SIGTERM, and sysexits' EX_SOFTWARE; docs/cli.md lists them.
EXIT_FAILED, EXIT_TIMEOUT, EXIT_CANCELLED = 70, 124, 143
EXIT_UNKNOWN, EXIT_DETACHED = 125, 130
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_SILENCE = 0.5, 3.0, 15.0

Look = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Waiter:
    """How one waits: where the words go, and what a pause is."""

    say: Callable[[str], None]
    sleep: Callable[[float], None]


def exit_code(workload: Mapping[str, Any]) -> int:
    """Of an ended workload: the container's own where it ended by itself."""
    match workload["status"]:
        case "COMPLETED":
            return int(workload["exitCode"])
        case "TIMEOUT":
            return EXIT_TIMEOUT
        case "CANCELLED":
            return EXIT_CANCELLED
        case _:
            return EXIT_FAILED


def progress(look: Look, waiter: Waiter, until: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
    """Look until it is so, telling each event once. While the service can't be reached it is waited for.

    Raises what `look` raises otherwise.
    """
    told: set[str] = set()
    pauses = _pauses(_LONGEST_PAUSE)
    while True:
        workload = _patiently(look, waiter)
        for event in workload["events"]:
            if event["cursor"] not in told:
                told.add(event["cursor"])
                waiter.say(f"{event['status'].lower():<9}  {event['message']}")
        if until(workload):
            return workload
        waiter.sleep(next(pauses))


def ended(workload: Mapping[str, Any]) -> bool:
    return workload["status"] in ENDS


def _patiently(look: Look, waiter: Waiter) -> Mapping[str, Any]:
    pauses, silent = _pauses(_LONGEST_SILENCE), False
    while True:
        try:
            found = look()
        except UnreachableError as error:
            if not silent:
                waiter.say(f"gpuyard: {error}; waiting for it")
            silent = True
            waiter.sleep(next(pauses))
            continue
        if silent:
            waiter.say("gpuyard: it answers again")
        return found


def _pauses(longest: float) -> Iterator[float]:
    """Growing, without an end."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 1.3, longest)
