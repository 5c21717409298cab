"""Who needs what pods of others hold can be promised nothing; after a while a server is kept for it all the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.calendar import Hold
from app.placement.plan import Outlook, Planner, Waits, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot, take_snapshot
from tests.depth import examples
from tests.placement.builders import GI, GPU, node, pod, server
from tests.placement.test_reservations import HOUR, NOW, Situation, fleets, hold, lasting, outlook, placed, queues

LONG: dict[str, Any] = {
    "keep_after": 6.0 * HOUR
}  # everybody in these tests came a year ago, where nothing else is said


def test_a_server_is_kept_where_the_fewest_gpus_of_others_are_in_the_way():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 1, 9), lasting(3, 1, 9)]
    found = plan(queue, Snapshot((server("a", 1), server("b", 5))), outlook(**LONG))
    assert placed(found) == {2: "a"}
    assert found.answers[UUID(int=1)] == Waits(
        Reason.WAITING_FOR_GPUS,
        "needs 8 GPUs on one server; the largest free block is 5, on b; "
        "b is kept for it, and it starts there once pods that are not GPUYard's give back 3 GPUs",
    )
    assert found.answers[UUID(int=3)] == Waits(
        Reason.BEHIND_RESERVATION,
        "5 GPUs are free on b, but kept for a workload that goes before it, has waited long and needs what pods of "
        "others hold there; it starts on a by 2027-01-15 17:00 UTC at the latest, unless something goes before it",
    )


def test_what_is_gone_before_all_known_ends_may_still_run_there():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 1, 2), lasting(3, 1, 3)]
    found = plan(queue, Snapshot((server("a", 4),)), outlook(hold("a", 2, 2), **LONG))
    assert placed(found) == {2: "a"}
    answer = found.answers[UUID(int=3)]
    assert isinstance(answer, Waits)
    assert answer.message.endswith("; with limits that end by 2027-01-15 10:00 UTC it would start now")


def test_who_leaves_enough_beside_it_may_stay():
    queue = [lasting(1, 6, 1, priority=1), lasting(2, 2, 4), lasting(3, 1, 9)]
    assert placed(plan(queue, Snapshot((server("a", 4),)), outlook(**LONG))) == {2: "a"}


def test_before_that_time_and_without_the_setting_nothing_is_kept():
    snapshot = Snapshot((server("a", 4),))
    old, young = lasting(1, 8, 1, priority=1), replace(lasting(1, 8, 1, priority=1), queued_at=_ago(5 * HOUR))
    small = lasting(2, 2, 9)
    assert placed(plan([old, small], snapshot, outlook())) == {2: "a"}
    assert placed(plan([young, small], snapshot, outlook(**LONG))) == {2: "a"}
    assert placed(plan([replace(young, queued_at=_ago(6 * HOUR)), small], snapshot, outlook(**LONG))) == {}


def test_one_server_is_kept_at_a_time_and_not_where_nothing_would_help():
    fleet = Snapshot((server("a", 4), server("b", 4), server("c", 4, total=4)))
    queue = [lasting(0, 9, 1, priority=3), lasting(1, 8, 1, priority=2), lasting(2, 8, 1, priority=1), lasting(3, 4, 9)]
    assert placed(plan([*queue, lasting(4, 4, 9)], fleet, outlook(**LONG))) == {3: "c", 4: "b"}


def test_those_of_one_shape_are_not_kept_from_each_other_and_a_promise_stays():
    queue = [lasting(1, 6, 1, priority=3), lasting(2, 8, 1, priority=2), lasting(3, 2, 9)]
    found = plan(queue, Snapshot((server("a", 2),)), outlook(hold("a", 2, 4), **LONG))
    assert {it.int: promise.starts_by.timestamp() - NOW for it, promise in found.reservations.items()} == {1: 2 * HOUR}
    assert placed(found) == {}  # with 2 GPUs less there would be none for the kept one even when others are gone


def test_pods_without_gpus_are_taken_to_stay():
    daemon = pod("gpu-1", cpu_millis=2_000, gpu_requests=())
    stranger = pod("gpu-1", gpus=4, cpu_millis=30_000)
    found = take_snapshot([node("gpu-1", 8)], [daemon, stranger], [], lambda it: it.pool)
    assert (found.servers[0].cpu_resident, found.servers[0].memory_resident) == (2_000, 16 * GI)
    wanted, small = lasting(1, 8, 1, priority=1, cpu_millis=63_000), lasting(2, 1, 9)
    assert placed(plan([wanted, small], found, outlook(**LONG))) == {2: "gpu-1"}
    assert placed(plan([replace(wanted, cpu_millis=62_000), small], found, outlook(**LONG))) == {}


def _ago(seconds: float) -> datetime:
    return datetime.fromtimestamp(NOW - seconds, UTC)


# the bound


@dataclass
class Yard:
    """Servers of 8 GPUs, strangers that leave all at once, and a steady stream of small ones that come later."""

    servers: dict[str, ServerCapacity]
    keep_after: float | None
    now: float = NOW
    runs: list[tuple[str, Hold]] = field(default_factory=list)
    planner: Planner = field(default_factory=Planner)

    def free(self, name: str, gpus: int) -> None:
        on = self.servers[name]
        self.servers[name] = replace(on, gpus_free={GPU: on.gpus_free[GPU] + gpus})

    def step(self, queue: dict[UUID, Request]) -> None:
        for on, it in [run for run in self.runs if run[1].until <= self.now]:
            self.runs.remove((on, it))
            self.free(on, it.gpus)
        holds: dict[ServerId, list[Hold]] = {}
        for on, it in self.runs:
            holds.setdefault(ServerId(on), []).append(it)
        known = Outlook(now=self.now, holds=holds, keep_after=self.keep_after)
        found = self.planner.plan(queue.values(), Snapshot(tuple(self.servers.values())), known)
        for id_, place in found.placements.items():
            begun = queue.pop(id_)
            self.runs.append((place.server, Hold(self.now + begun.hold_seconds, GPU, begun.gpu_count, 0, 0)))
            self.free(place.server, -begun.gpu_count)


def hours_until_it_starts(strangers: list[int], lengths: list[int], leave: int, keep_after: float | None) -> int:
    """Of one for 8 GPUs that came first; the strangers leave after so many hours."""
    ample = {"cpu_free": 10**9, "cpu_total": 10**9}
    servers = {name: server(name, 8 - count, **ample) for name, count in zip("abc", strangers, strict=False)}
    yard, large = Yard(servers, keep_after), replace(lasting(0, 8, 1, priority=1), queued_at=_ago(0))
    queue, number = {large.workload_id: large}, 0
    for hour in range(200):
        if hour == leave:
            for name, count in zip("abc", strangers, strict=False):
                yard.free(name, count)
        for _ in range(3 * 8):  # more than there is room for
            number += 1
            small = replace(lasting(number, 1, lengths[number % len(lengths)]), queued_at=_ago(-hour * HOUR))
            queue[small.workload_id] = small
        yard.step(queue)
        if large.workload_id not in queue:
            return hour
        queue = {large.workload_id: large}  # the small ones give up, others come
        yard.now += HOUR
    return 200


bounded = given(
    strangers=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    after=st.integers(0, 10),
    leave=st.integers(0, 60),
)


@settings(max_examples=examples(40), deadline=None)
@bounded
def test_whoever_waited_long_starts_when_others_leave(strangers: list[int], lengths: list[int], after: int, leave: int):
    """By the time that what ran when it had waited so long is over, nothing but pods of others is in its way."""
    drained = after + 1 + max(lengths)
    found = hours_until_it_starts(strangers, lengths, max(leave, drained), after * HOUR or 1)
    assert found <= max(leave, drained)


def test_without_it_those_who_came_later_are_in_the_way():
    assert hours_until_it_starts([4], [25, 22], 60, None) > 60
    assert hours_until_it_starts([4], [25, 22], 60, 6 * HOUR) == 60


@settings(max_examples=examples(60), deadline=None)
@given(queue=queues(), there=fleets())
def test_where_all_that_runs_tells_its_end_nothing_changes(queue: list[Request], there: Situation):
    servers, known = there
    own = []
    for on in servers:
        held = known.holds.get(on.id, ())
        free = {GPU: 8 - sum(it.gpus for it in held)}
        own.append(replace(on, gpus_free=free, cpu_free=8_000 - sum(it.cpu_millis for it in held)))
    assert plan(queue, Snapshot(tuple(own)), replace(known, keep_after=1.0)) == plan(queue, Snapshot(tuple(own)), known)
