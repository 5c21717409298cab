"""What is offered is what the rules of each action take, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from app.domain import requests
from app.domain.actions import Action, actions_supported
from app.domain.errors import ConflictError
from app.domain.lifecycle import request_cancel
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from tests.domain.builders import a_running_workload, a_workload, at

NOW = at(100)


def cancel(workload: Workload) -> Workload:
    if workload.status.is_terminal:
        raise requests.has_ended(workload)
    return request_cancel(workload, "ada", NOW).workload


RULES: dict[Action, Callable[[Workload], Workload]] = {
    Action.CANCEL: cancel,
    Action.SUSPEND: lambda workload: requests.suspend(workload, "ada", NOW),
    Action.RESUME: lambda workload: requests.resume(workload, "ada", NOW),
    Action.HOLD: lambda workload: requests.hold(workload, "ada", NOW),
    Action.RELEASE: lambda workload: requests.resume(workload, "ada", NOW),
    Action.PRIORITIZE: lambda workload: requests.prioritize(workload, Priority.LOW),
    Action.RETRY: lambda workload: requests.retry(workload, UUID(int=7), "ada", workload.spec, NOW),
    Action.DELETE: lambda workload: requests.delete(workload, NOW),
    Action.RESTORE: requests.restore,
}
HELD = a_workload(phase=Phase.SUSPENDED, reason=Reason.HELD, held_at=at(0))
ENDED = replace(a_running_workload(), status=Status.COMPLETED, phase=Phase.COMPLETED, completed_at=at(90), exit_code=0)
LIVE = {Action.CANCEL, Action.SUSPEND, Action.PRIORITIZE}
WAITING, SUSPENDED = LIVE | {Action.HOLD}, {Action.CANCEL, Action.RESUME, Action.RELEASE, Action.PRIORITIZE}
STOPPING = replace(a_running_workload(), phase=Phase.STOPPING)
STATES = {
    "waiting": (a_workload(), WAITING),
    "released": (a_workload(phase=Phase.RESUMING), WAITING),
    "held": (HELD, SUSPENDED),
    "starting": (replace(a_running_workload(), status=Status.PENDING, phase=Phase.INITIALIZING), LIVE),
    "running": (a_running_workload(), LIVE),
    "out of contact": (a_running_workload(phase=Phase.UNKNOWN), LIVE),
    "cancelling": (replace(STOPPING, cancel_requested_at=at(80)), {Action.PRIORITIZE}),
    "suspending": (replace(STOPPING, held_at=at(80)), {Action.CANCEL, Action.PRIORITIZE}),
    "at its limit": (replace(STOPPING, reason=Reason.RUN_TIMEOUT), {Action.CANCEL, Action.PRIORITIZE}),
    "ended": (ENDED, {Action.RETRY, Action.DELETE}),
    "deleted": (replace(ENDED, deleted_at=at(95)), {Action.RETRY, Action.RESTORE}),
}


@pytest.mark.parametrize("name", STATES)
def test_what_each_state_supports(name: str):
    workload, supported = STATES[name]
    assert set(actions_supported(workload)) == supported


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("name", STATES)
def test_what_is_supported_changes_something_and_nothing_else_does(name: str, action: Action):
    workload, supported = STATES[name]
    try:
        changes = RULES[action](workload) != workload
    except ConflictError:
        changes = False
    assert changes is (action in supported)
