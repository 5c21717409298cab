"""Where a container stands: spec and stamps in, state out. No time passes here."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.inside.behaviour import Behaviour, Outcome
from app.simcluster.inside.timeline import UNKNOWN, Ended, Running, Stop, View, Waiting, container_at
from app.simcluster.settings import Settings

SETTINGS = Settings(start_seconds=0.5, term_seconds=1, retry_seconds=10)
PLAIN = Behaviour(seconds=10, pull_seconds=2, log_lines=0)
STARTED, OWN_END = 102.5, 112.5


def at(now: float, stop: Stop | None = None, since: float = 100.0, **changes: Any) -> View:
    behaviour = Behaviour(**{"seconds": 10, "pull_seconds": 2, "log_lines": 0, **changes})
    return container_at({"image": "i:1"}, behaviour, since, stop, now, SETTINGS)


def test_a_life_without_trouble():
    assert at(100) == View(Waiting("ContainerCreating"), 102)
    assert at(102) == View(Waiting("ContainerCreating"), STARTED)
    assert at(STARTED) == View(Running(STARTED), OWN_END)
    assert at(OWN_END) == View(Ended(0, "Completed", "", STARTED, OWN_END), None)


def test_long_afterwards_the_stamps_are_the_same():
    assert at(10_000) == at(OWN_END)


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        ({"exit_code": 3}, 3, "Error"),
        ({"outcome": Outcome.OOM}, 137, "OOMKilled"),
        ({"outcome": Outcome.OOM, "exit_code": 0}, 0, "OOMKilled"),
        ({"outcome": Outcome.SEGFAULT}, 139, "Error"),
        ({"outcome": Outcome.SIGKILL}, 137, "Error"),
        ({"outcome": Outcome.SIGTERM}, 143, "Error"),
    ],
)
def test_ends(changes: dict[str, Any], code: int, reason: str):
    state = at(OWN_END, **changes).state
    assert isinstance(state, Ended)
    assert (state.code, state.reason) == (code, reason)


def test_a_stop_ends_it_quickly():
    stop = Stop(105, 135)
    assert at(105, stop) == View(Running(STARTED), 106)
    assert at(106, stop).state == Ended(143, "Error", "", STARTED, 106)


def test_one_that_ignores_sigterm_is_killed_after_the_grace_period():
    stop = Stop(105, 108)
    assert at(107, stop, ignore_term=True).state == Running(STARTED)
    assert at(108, stop, ignore_term=True).state == Ended(137, "Error", "", STARTED, 108)


def test_no_grace_is_sigkill():
    assert at(105, Stop(105, 105)).state == Ended(137, "Error", "", STARTED, 105)


def test_its_own_end_comes_first_when_it_is_nearer():
    assert at(113, Stop(112, 142)).state == Ended(0, "Completed", "", STARTED, OWN_END)


@pytest.mark.parametrize("outcome", [Outcome.EXIT, Outcome.NEVER_STARTS, Outcome.IMAGE_MISSING, Outcome.CONFIG_ERROR])
def test_what_never_started_cannot_be_located(outcome: Outcome):
    assert at(101, Stop(101, 131), outcome=outcome).state == UNKNOWN


def test_an_image_that_is_missing_is_asked_for_again_and_again():
    reasons = [at(now, outcome=Outcome.IMAGE_MISSING).state for now in (101, 102, 112, 122)]
    words = [state.reason for state in reasons if isinstance(state, Waiting)]
    assert words == ["ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull"]
    assert at(102, outcome=Outcome.IMAGE_MISSING).next_at == 112


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.IMAGE_UNAUTHORIZED, "ErrImagePull"),
        (Outcome.REGISTRY_DOWN, "ErrImagePull"),
        (Outcome.IMAGE_INVALID, "InvalidImageName"),
        (Outcome.CONFIG_ERROR, "CreateContainerConfigError"),
        (Outcome.NEVER_STARTS, "ContainerCreating"),
    ],
)
def test_waits_without_an_end(outcome: Outcome, reason: str):
    state = at(105, outcome=outcome).state
    assert isinstance(state, Waiting)
    assert state.reason == reason


def test_a_start_that_fails():
    state = at(STARTED, outcome=Outcome.START_ERROR).state
    assert isinstance(state, Ended)
    assert (state.code, state.reason, state.started, state.finished) == (128, "StartError", 0.0, STARTED)


def test_a_setting_that_cannot_be_read_is_a_start_that_fails():
    state = at(STARTED, problem="no such thing").state
    assert isinstance(state, Ended)
    assert state.message.endswith("no such thing")


def test_what_waits_for_an_outsider_goes_on_twice_as_long():
    assert at(STARTED + 19, outcome=Outcome.DRAIN).state == Running(STARTED)
    assert at(STARTED + 20, outcome=Outcome.DRAIN).state == Ended(0, "Completed", "", STARTED, STARTED + 20)
