"""Waiting for a workload's end, through restarts of the service, and what it means for a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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


class Progress:
    """A workload on its way; each of its events is told once."""

    def __init__(self, look: Look, waiter: Waiter) -> None:
        self._look, self._waiter = look, waiter
        self._told: set[str] = set()

    def until(self, enough: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
        """The workload once it is so. While the service can't be reached it is waited for.

        Raises what `look` raises otherwise.
        """
        pauses = _pauses(_LONGEST_PAUSE)
        while True:
            workload = _patiently(self._look, self._waiter)
            self._tell(workload["events"])
            if enough(workload):
                return workload
            self._waiter.sleep(next(pauses))

    def _tell(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            if event["cursor"] not in self._told:
                self._told.add(event["cursor"])
                self._waiter.say(f"{event['status'].lower():<9}  {event['message']}")


def begun(workload: Mapping[str, Any]) -> bool:
    """Whether there may be a log."""
    return workload["phase"] == "RUNNING" or ended(workload)


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
