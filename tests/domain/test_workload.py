"""What the nouns know of themselves, the sentences about them, and which event a change is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import wording
from app.domain.events import event_between
from app.domain.states import TERMINAL_PHASES, Phase, Reason, Status
from app.domain.workload import EventType, Workload, job_name, signal_of
from tests.domain.builders import (
    SERVER,
    WORKLOAD_ID,
    a_placed_workload,
    a_running_workload,
    a_starting_workload,
    a_workload,
    an_attempt,
    at,
    cancelled_at,
)


def test_a_job_is_named_after_workload_and_attempt() -> None:
    assert an_attempt(number=2).job_name == "gw-0123456789abcdef0123456789abcdef-2"


def test_a_job_name_leaves_room_for_the_pod_s_own_ending() -> None:
    """The API cuts `<job>-` to 58 characters before it adds five; label values end at 63."""
    assert len(job_name(WORKLOAD_ID, 999_999)) + 1 <= 58


@pytest.mark.parametrize(
    ("code", "signal"),
    [
        (None, None),
        (0, None),
        (1, None),
        (128, None),
        (129, 1),
        (137, 9),
        (143, 15),
        (192, 64),
        (193, None),
        (255, None),
    ],
)
def test_a_signal_is_derived_from_the_code(code: int | None, signal: int | None) -> None:
    assert signal_of(code) == signal
    assert a_workload(exit_code=code).signal == signal


@pytest.mark.parametrize(
    ("status", "code", "succeeded"),
    [
        (Status.PENDING, None, None),
        (Status.RUNNING, None, None),
        (Status.COMPLETED, 0, True),
        (Status.COMPLETED, 1, False),
        (Status.FAILED, 0, False),
        (Status.CANCELLED, 0, False),
        (Status.TIMEOUT, None, False),
    ],
)
def test_succeeded_means_ended_by_itself_with_code_zero(
    status: Status, code: int | None, succeeded: bool | None
) -> None:
    assert a_workload(status=status, exit_code=code).succeeded is succeeded


def test_the_queue_clock_runs_from_acceptance_or_the_return_to_the_queue() -> None:
    assert a_workload().queue_deadline is None
    assert a_workload(queue_limit=100).queue_deadline == at(-60 + 100)
    assert a_workload(queue_limit=100, queued_at=at(500)).queue_deadline == at(600)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_workload_waits_only_without_an_attempt_or_a_hold(phase: Phase) -> None:
    assert a_workload(phase=phase).waits is (phase in {Phase.QUEUED, Phase.RESUMING})


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        pytest.param(wording.submitted(1), "1 free GPU on", id="one GPU"),
        pytest.param(wording.submitted(4), "4 free GPUs on", id="several GPUs"),
        pytest.param(wording.placed("gpu-1", 2), "gpu-1 with 2 GPUs", id="placed"),
        pytest.param(wording.exited(0), "exit code 0", id="success"),
        pytest.param(wording.exited(1), "exit code 1", id="an ordinary code"),
        pytest.param(wording.exited(137), "exit code 137 (signal 9, SIGKILL)", id="a named signal"),
        pytest.param(wording.exited(150), "exit code 150 (signal 22)", id="a signal without a name"),
        pytest.param(wording.cancelled("bob", None), "cancelled by bob", id="cancelled without a code"),
        pytest.param(wording.cancelled("bob", 143), "bob; the container ended with exit code 143", id="with a code"),
        pytest.param(wording.run_timeout(3600), "3600 s", id="run limit"),
        pytest.param(
            wording.start_timeout(1800, "ErrImagePull: no\nsuch tag"), "ErrImagePull: no such tag", id="start"
        ),
        pytest.param(wording.retrying("gpu-1", "evicted", at(10)), "after 12:00:10 UTC", id="retry"),
        pytest.param(wording.because("  "), "", id="nothing said, nothing added"),
    ],
)
def test_sentences_carry_their_numbers(said: str, wanted: str) -> None:
    assert wanted in said
    assert not said.endswith((".", ":", " "))


def test_gpus_are_counted_in_the_singular_and_the_plural() -> None:
    assert [wording.gpus(count) for count in (0, 1, 2)] == ["0 GPUs", "1 GPU", "2 GPUs"]


def test_foreign_text_is_one_short_line() -> None:
    clipped = wording.clip("x\n\t y " * 1000)
    assert "\n" not in clipped
    assert len(clipped) == 400
    assert clipped.endswith("…")


CHANGES: list[tuple[str, Workload, Workload, EventType | None]] = [
    ("nothing changed", a_workload(), a_workload(), None),
    ("only the sentence", a_workload(), a_workload(message="3 before it"), None),
    ("another reason to wait", a_workload(), a_workload(reason=Reason.WAITING_FOR_GPUS), EventType.WAITING),
    ("placed", a_workload(), a_placed_workload(), EventType.PLACED),
    ("the pod exists", a_placed_workload(), a_starting_workload(), EventType.PROGRESSED),
    ("executes", a_starting_workload(), a_running_workload(), EventType.STARTED),
    ("executes at once", a_placed_workload(), a_running_workload(), EventType.STARTED),
    (
        "executes, first seen on a silent server",
        a_starting_workload(),
        a_running_workload(phase=Phase.UNKNOWN, reason=Reason.SERVER_UNREACHABLE),
        EventType.STARTED,
    ),
    ("its server is silent", a_running_workload(), a_running_workload(phase=Phase.UNKNOWN), EventType.PROGRESSED),
    ("its server is back", a_running_workload(phase=Phase.UNKNOWN), a_running_workload(), EventType.PROGRESSED),
    ("cancel asked", a_running_workload(), cancelled_at(9, a_running_workload()), EventType.CANCEL_REQUESTED),
    ("being stopped", a_running_workload(), a_running_workload(phase=Phase.STOPPING), EventType.STOPPING),
    ("another try", a_running_workload(), a_workload(attempt=1, reason=Reason.BACKING_OFF), EventType.RETRYING),
    ("placed again", a_workload(attempt=1), a_placed_workload(attempt=2), EventType.PLACED),
    *(
        (status, a_running_workload(), a_running_workload(status=status, phase=phase), EventType.ENDED)
        for status, phase in TERMINAL_PHASES.items()
    ),
]


@pytest.mark.parametrize(("before", "after", "wanted"), [pytest.param(*row[1:], id=row[0]) for row in CHANGES])
def test_a_change_is_one_event(before: Workload, after: Workload, wanted: EventType | None) -> None:
    event = event_between(before, after, at(700))
    assert (event.type if event else None) == wanted


def test_an_event_shows_the_workload_as_it_became() -> None:
    ended = replace(
        a_running_workload(), status=Status.COMPLETED, phase=Phase.COMPLETED, reason=Reason.EXITED, exit_code=3
    )
    event = event_between(a_running_workload(), ended, at(700))
    assert event is not None
    assert (event.status, event.phase, event.reason) == (Status.COMPLETED, Phase.COMPLETED, Reason.EXITED)
    assert (event.exit_code, event.attempt, event.server, event.at) == (3, 1, SERVER, at(700))
