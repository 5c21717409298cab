"""What goes into the next report, whatever became of the last ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.outbox import SAMPLES_PER_REPORT, Outbox
from agent.report import MOST_DEVICES, OLDEST_SAMPLE_SECONDS, DriverState, Receipt
from tests.agent.looks import HOLDER, IDENTITY, inventory, look
from tests.clock import START

TAKEN = Receipt(START)
LATE = Receipt(START, is_late=True)
WANTS_ALL = Receipt(START, wants_everything=True)


@pytest.fixture
def box() -> Outbox:
    return Outbox(IDENTITY, most_samples=100)


def test_the_first_report_is_whole_and_the_next_has_what_changed(box: Outbox) -> None:
    box.add(look(holders=(HOLDER,)))
    first = box.next(START)
    assert (first.inventory, first.holders, len(first.samples)) == (inventory("GPU-0"), (HOLDER,), 1)
    assert (first.node, first.agent_id, first.sequence, first.sent_at) == ("gpu-1", "agent", 1, START)
    box.delivered(first, TAKEN)
    box.add(look(holders=(HOLDER,)))
    second = box.next(START)
    assert (second.inventory, second.holders, len(second.samples), second.sequence) == (None, None, 1, 2)
    box.delivered(second, TAKEN)
    box.add(look(START, "GPU-0", "GPU-1", holders=()))
    third = box.next(START)
    assert (third.inventory, third.holders) == (inventory("GPU-0", "GPU-1"), ())


def test_holders_that_nobody_could_tell_are_not_none(box: Outbox) -> None:
    box.add(look(holders=(HOLDER,)))
    box.delivered(box.next(START), TAKEN)
    box.add(look(holders=None))
    assert box.next(START).holders is None
    assert not box.is_news


def test_what_did_not_arrive_is_in_the_next_report_with_a_higher_number(box: Outbox) -> None:
    box.add(look(holders=(HOLDER,)))
    lost = box.next(START)
    box.failed(lost)
    box.add(look(START + timedelta(seconds=15)))
    report = box.next(START)
    assert (report.sequence, report.inventory, report.holders) == (2, inventory("GPU-0"), (HOLDER,))
    assert [sample.at for sample in report.samples] == [START, START + timedelta(seconds=15)]


def test_a_service_without_an_inventory_gets_it(box: Outbox) -> None:
    box.add(look(holders=(HOLDER,)))
    box.delivered(box.next(START), TAKEN)
    box.add(look())
    box.delivered(box.next(START), WANTS_ALL)
    assert box.is_news
    report = box.next(START)
    assert (report.inventory, report.holders) == (inventory("GPU-0"), (HOLDER,))


def test_of_a_late_report_only_the_samples_count(box: Outbox) -> None:
    box.add(look(holders=(HOLDER,)))
    box.delivered(box.next(START), LATE)
    report = box.next(START)
    assert (report.inventory, report.holders, report.samples) == (inventory("GPU-0"), (HOLDER,), ())


def test_what_changed_while_a_report_was_under_way_is_told_next(box: Outbox) -> None:
    box.add(look())
    report = box.next(START)
    box.add(look(found=inventory("GPU-0", state=DriverState.ERROR)))
    box.delivered(report, TAKEN)
    told = box.next(START).inventory
    assert told is not None
    assert told.state is DriverState.ERROR


def test_the_buffer_has_an_end_and_the_oldest_samples_go(box: Outbox) -> None:
    for number in range(130):
        box.add(look(START + timedelta(seconds=number)))
    assert (box.buffered, box.dropped) == (100, 30)
    report = box.next(START)
    box.add(look(START + timedelta(seconds=130)))
    box.failed(report)
    assert (box.buffered, box.dropped) == (100, 31)
    assert box.next(START).samples[0].at == START + timedelta(seconds=31)


def test_samples_of_pods_travel_wait_and_go_as_those_of_devices(box: Outbox) -> None:
    box.add(look(START, pods=("uid-1", "uid-2")))
    box.add(look(START + timedelta(seconds=15), pods=("uid-1",)))
    report = box.next(START)
    assert (len(report.samples), [each.pod_uid for each in report.pod_samples]) == (2, ["uid-1", "uid-2", "uid-1"])
    box.failed(report)
    assert (box.buffered, box.dropped) == (5, 0)
    again = box.next(START + timedelta(seconds=OLDEST_SAMPLE_SECONDS + 10))
    later = START + timedelta(seconds=15)
    assert ([it.at for it in again.samples], [it.at for it in again.pod_samples]) == ([later], [later])
    assert box.dropped == 3
    box.refused(again)
    assert (box.buffered, box.dropped) == (0, 5)


def test_samples_that_the_service_would_not_keep_are_not_sent(box: Outbox) -> None:
    box.add(look(START))
    box.add(look(START + timedelta(seconds=60)))
    report = box.next(START + timedelta(seconds=OLDEST_SAMPLE_SECONDS + 30))
    assert [sample.at for sample in report.samples] == [START + timedelta(seconds=60)]


def test_a_report_that_is_refused_for_what_it_holds_is_not_sent_again(box: Outbox) -> None:
    box.add(look())
    box.refused(box.next(START))
    assert (box.next(START).samples, box.dropped) == ((), 1)


def test_more_gpus_than_a_report_may_hold_are_told_of(box: Outbox) -> None:
    box.add(look(START, *(f"GPU-{number}" for number in range(MOST_DEVICES + 6))))
    told = box.next(START).inventory
    assert told is not None
    assert (len(told.devices), told.message) == (MOST_DEVICES, "70 GPUs were found, 64 are told")


@given(st.lists(st.sampled_from(["look", "arrives", "fails", "late"]), max_size=60))
def test_no_sample_is_lost_or_doubled_while_there_is_room(steps: list[str]) -> None:
    box = Outbox(IDENTITY, most_samples=1000)
    added, arrived = 0, []
    for step in [*steps, "arrives"]:
        if step == "look":
            box.add(look(START + timedelta(seconds=added)))
            added += 1
            continue
        report = box.next(START)
        if step == "fails":
            box.failed(report)
        else:
            box.delivered(report, LATE if step == "late" else TAKEN)
            arrived += [sample.at for sample in report.samples]
    assert added <= SAMPLES_PER_REPORT
    assert arrived == [START + timedelta(seconds=number) for number in range(added)]
