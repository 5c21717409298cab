"""The state tables: complete, closed, and in agreement with each other."""

from __future__ import annotations

from itertools import product

import pytest

from app.domain.states import (
    TERMINAL_PHASES,
    TERMINAL_STATUSES,
    TRANSITIONS,
    WAITING_PHASES,
    InvalidTransitionError,
    Phase,
    Reason,
    Status,
    check_transition,
)

LIVE_PHASES = frozenset(Phase) - frozenset(TERMINAL_PHASES.values())


def test_the_six_statuses_are_the_specifications() -> None:
    assert [s.value for s in Status] == ["pending", "running", "completed", "failed", "cancelled", "timeout"]
    assert {s for s in Status if s.is_terminal} == set(Status) - {Status.PENDING, Status.RUNNING}


def test_every_phase_has_its_rows_in_every_table() -> None:
    assert set(TRANSITIONS) == set(Phase)
    assert all(phase.meaning and phase.statuses for phase in Phase)
    assert all(status.meaning for status in Status)


def test_every_phase_is_reachable_from_acceptance() -> None:
    reached = {Phase.QUEUED}
    while new := {after for phase in reached for after in TRANSITIONS[phase]} - reached:
        reached |= new
    assert reached == set(Phase)


def test_from_every_live_phase_an_end_is_reachable_by_cancelling() -> None:
    for phase in LIVE_PHASES:
        assert Phase.CANCELLED in TRANSITIONS[phase]


@pytest.mark.parametrize("status", sorted(TERMINAL_STATUSES))
def test_terminal_phases_have_no_followers_and_one_status(status: Status) -> None:
    phase = TERMINAL_PHASES[status]
    assert TRANSITIONS[phase] == frozenset()
    assert phase.statuses == {status}


@pytest.mark.parametrize("phase", sorted(LIVE_PHASES))
def test_live_phases_have_live_statuses(phase: Phase) -> None:
    assert phase.statuses <= {Status.PENDING, Status.RUNNING}


def test_only_a_retry_or_a_hold_leads_from_running_back_to_pending() -> None:
    """A running workload keeps `running` until it ends, unless a new attempt starts from the queue."""
    pending_only = {p for p in Phase if p.statuses == {Status.PENDING}}
    assert TRANSITIONS[Phase.RUNNING] & pending_only == {Phase.QUEUED}
    assert TRANSITIONS[Phase.STOPPING] & pending_only == {Phase.QUEUED, Phase.SUSPENDED}


def test_a_workload_without_an_attempt_neither_completes_nor_times_out() -> None:
    for phase in WAITING_PHASES | {Phase.SUSPENDED}:
        assert not TRANSITIONS[phase] & {Phase.COMPLETED, Phase.TIMED_OUT}


def test_only_waiting_workloads_are_placed() -> None:
    """UNKNOWN goes back to CREATING where contact was lost before the Job was made."""
    assert {p for p in Phase if Phase.CREATING in TRANSITIONS[p]} == WAITING_PHASES | {Phase.UNKNOWN}


def test_a_silent_server_comes_back_to_what_it_was() -> None:
    assert {Phase.INITIALIZING, Phase.RUNNING} <= TRANSITIONS[Phase.UNKNOWN]


@pytest.mark.parametrize(("old", "new"), list(product(Phase, Phase)))
def test_a_transition_passes_exactly_when_the_table_has_it(old: Phase, new: Phase) -> None:
    if new == old or new in TRANSITIONS[old]:
        check_transition(old, new)
    else:
        with pytest.raises(InvalidTransitionError, match=f"phase {new} may not follow {old}"):
            check_transition(old, new)


def test_infrastructure_reasons_are_the_cluster_s_faults_only() -> None:
    assert {r for r in Reason if r.is_infrastructure} == {
        Reason.EVICTED,
        Reason.PREEMPTED,
        Reason.NODE_LOST,
        Reason.NODE_REFUSED,
    }


def test_values_are_distinct_words_for_filters_and_columns() -> None:
    for members in (Status, Phase, Reason):
        values = [str(m) for m in members]
        assert len(set(values)) == len(values)
        assert all(value.replace("_", "").isalpha() and value.islower() for value in values)
