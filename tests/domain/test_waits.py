"""What a workload waited for, and which changes of reason are worth an event."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.states import Phase, Reason, Status
from app.domain.waits import Told, Wait, WaitTotal, is_news, totals, waits
from app.domain.workload import Event, EventType
from tests.domain.builders import ORGANIZATION_ID, WORKLOAD_ID, at

GPUS, BEHIND = Reason.WAITING_FOR_GPUS, Reason.BEHIND_RESERVATION
DAY = 86_400


def event(seconds: float, phase: Phase, reason: Reason, message: str = "") -> Event:
    status = Status.RUNNING if phase is Phase.RUNNING else Status.PENDING
    return Event(WORKLOAD_ID, EventType.WAITING, status, phase, reason, message, at(seconds),
                 organization_id=ORGANIZATION_ID, sequence=1)  # fmt: skip


def test_a_wait_lasts_from_one_reason_to_the_next_and_to_the_placement():
    events = [
        event(0, Phase.QUEUED, Reason.SUBMITTED, "accepted"),
        event(1, Phase.QUEUED, GPUS, "none is free"),
        event(5, Phase.QUEUED, GPUS, "1 is free"),
        event(60, Phase.QUEUED, BEHIND, "kept"),
        event(90, Phase.CREATING, Reason.PLACED),
        event(95, Phase.RUNNING, Reason.EXECUTING),
    ]
    assert waits(events) == [
        Wait(Reason.SUBMITTED, "accepted", at(0), at(1)),
        Wait(GPUS, "none is free", at(1), at(60)),
        Wait(BEHIND, "kept", at(60), at(90)),
    ]


def test_a_hold_and_a_second_wait_count_and_the_last_may_go_on():
    events = [
        event(0, Phase.QUEUED, GPUS),
        event(10, Phase.SUSPENDED, Reason.HELD),
        event(30, Phase.RESUMING, GPUS),
        event(40, Phase.CREATING, Reason.PLACED),
        event(50, Phase.QUEUED, Reason.BACKING_OFF),
    ]
    found = waits(events)
    assert [(it.reason, it.lasted(at(65)).total_seconds()) for it in found] == [
        (GPUS, 10),
        (Reason.HELD, 20),
        (GPUS, 10),
        (Reason.BACKING_OFF, 15),
    ]
    assert found[-1].until is None
    assert totals(found, at(65)) == [
        WaitTotal(GPUS, timedelta(seconds=20), 2),
        WaitTotal(Reason.HELD, timedelta(seconds=20), 1),
        WaitTotal(Reason.BACKING_OFF, timedelta(seconds=15), 1),
    ]


def test_a_first_word_on_a_new_state_is_news_unless_it_is_shown_already():
    assert is_news(GPUS, Reason.SUBMITTED, Told(), at(0), at(0))
    assert not is_news(GPUS, GPUS, Told(), at(0), at(DAY))  # a row from before there were told reasons
    assert is_news(GPUS, Reason.BACKING_OFF, Told("", at(-50)), at(0), at(0))


def test_the_same_reason_is_never_news():
    assert not is_news(GPUS, BEHIND, Told(GPUS, at(1)), at(0), at(DAY))


@pytest.mark.parametrize(("now", "is_due"), [(100, False), (109, False), (110, True)])
def test_another_reason_is_news_after_a_tenth_of_the_time_waited(now: float, is_due: bool):
    assert is_news(BEHIND, BEHIND, Told(GPUS, at(100)), at(0), at(now)) is is_due


def test_reasons_that_take_turns_for_a_month_are_few_events():
    told, shown, events, now = Told(), str(Reason.SUBMITTED), 0, 0.0
    while now < 30 * DAY:
        reason = GPUS if shown == BEHIND else BEHIND
        if is_news(reason, shown, told, at(0), at(now)):
            told, events = Told(reason, at(now)), events + 1
        shown = reason
        now += 5 + now / 1000
    assert 100 < events < 200


def test_what_holds_for_longer_than_a_tenth_is_told_when_it_begins():
    told, found, now = Told(), [], 100.0
    for reason in (GPUS, BEHIND) * 5:
        if is_news(reason, Reason.SUBMITTED, told, at(0), at(now)):
            told = Told(reason, at(now))
            found.append(now)
        now *= 1.2
    assert len(found) == 10
