"""A cluster that can't be asked, and one that answers again: nothing is decided in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.contact import lose_contact, regain_contact
from app.domain.lifecycle import Decision
from app.domain.server import ServerId
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from tests.domain.builders import (
    a_created_attempt,
    a_placed_workload,
    a_running_pod,
    a_running_workload,
    a_starting_workload,
    an_attempt,
    an_executing_attempt,
    cancelled_at,
    decided,
    seen,
    without_job,
)

WHY = "the cluster x has not answered since 2026-11-30 12:00:00 UTC; what the workload does there is unknown"


@pytest.mark.parametrize(
    "live", [a_placed_workload(), a_starting_workload(), a_running_workload()], ids=lambda w: w.phase
)
def test_a_live_workload_keeps_its_status_and_is_unknown(live: Workload) -> None:
    lost = lose_contact(live, a_created_attempt(), WHY)
    expected = replace(live, phase=Phase.UNKNOWN, reason=Reason.CLUSTER_UNREACHABLE, message=WHY)
    assert lost == Decision(expected, a_created_attempt())
    assert lose_contact(lost.workload, a_created_attempt(), WHY).workload == lost.workload


def test_what_is_being_stopped_stays_so() -> None:
    stopping = decided(cancelled_at(650, a_running_workload()), an_executing_attempt(), seen(a_running_pod()), 660)
    assert stopping.attempt is not None
    lost = lose_contact(stopping.workload, stopping.attempt, WHY).workload
    assert (lost.status, lost.phase, lost.reason) == (Status.RUNNING, Phase.STOPPING, Reason.CANCEL_REQUESTED)
    assert lost.message == f"it is to be stopped, but {WHY}"


def test_what_runs_is_running_again() -> None:
    lost = lose_contact(a_running_workload(), an_executing_attempt(), WHY).workload
    again = regain_contact(decided(lost, an_executing_attempt(), seen(a_running_pod()), 700)).workload
    assert (again.phase, again.reason) == (Phase.RUNNING, Reason.EXECUTING)


def test_what_has_no_job_yet_is_about_to_get_one() -> None:
    lost = lose_contact(a_placed_workload(), an_attempt(), WHY).workload
    decision = decided(lost, an_attempt(), without_job(), 30)
    again = regain_contact(decision)
    assert (again.workload.phase, again.workload.reason) == (Phase.CREATING, Reason.PLACED)
    assert again.actions == decision.actions


def test_without_a_loss_nothing_is_changed() -> None:
    decision = decided(a_placed_workload(), an_attempt(), without_job(), 30)
    assert regain_contact(decision) == decision


@pytest.mark.parametrize(("server", "text"), [(ServerId("a", "x"), "x/a"), (ServerId("a"), "a")])
def test_a_server_is_written_with_its_cluster(server: ServerId, text: str) -> None:
    assert (str(server), ServerId.parse(text)) == (text, server)
