"""Who fits nowhere yet is promised a place, and nobody who comes after it takes that away."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.calendar import Hold
from app.placement.plan import Outlook, Place, Plan, Planner, Waits, in_order, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.placement.builders import GI, GPU, request, server

NOW = 1_800_000_000.0
HOUR = 3600


def hold(on: str, hours: float, gpus: int, cpu: int = 0) -> tuple[ServerId, Hold]:
    return ServerId(on), Hold(NOW + hours * HOUR, GPU, gpus, cpu, 0)


def outlook(*holds: tuple[ServerId, Hold], **fields: Any) -> Outlook:
    by_server: dict[ServerId, list[Hold]] = {}
    for on, it in holds:
        by_server.setdefault(on, []).append(it)
    return Outlook(now=NOW, holds=by_server, **fields)


def lasting(number: int, gpus: int, hours: float, **fields: Any) -> Request:
    return request(number, gpus, run_seconds=int(hours * HOUR), hold_seconds=int(hours * HOUR), **fields)


def starts(found: Plan) -> dict[int, tuple[str, float]]:
    """Where, and in how many hours."""
    promises = found.reservations.items()
    return {id_.int: (it.server.name, (it.starts_by.timestamp() - NOW) / HOUR) for id_, it in promises}


def placed(found: Plan) -> dict[int, str]:
    return {id_.int: it.server for id_, it in found.placements.items()}


def test_the_first_moment_that_is_certain_is_promised():
    fleet = Snapshot((server("a", 1), server("b", 2)))
    known = outlook(hold("a", 9, 7), hold("b", 5, 2), hold("b", 3, 1), hold("b", 7, 3))
    assert starts(plan([lasting(1, 5, 1)], fleet, known)) == {1: ("b", 5.0)}


def test_what_strangers_hold_is_never_promised():
    found = plan([lasting(1, 8, 1)], Snapshot((server("a", 2),)), outlook(hold("a", 1, 5)))
    assert found.reservations == {}


def test_what_should_be_over_but_is_not_promises_nothing():
    assert plan([lasting(1, 8, 1)], Snapshot((server("a", 0),)), outlook(hold("a", -1, 8))).reservations == {}


def test_cpu_that_comes_back_counts_too():
    fleet = Snapshot((server("a", 8, cpu_free=1_000),))
    found = plan([lasting(1, 1, 1, cpu_millis=9_000)], fleet, outlook(hold("a", 2, 0, 4_000), hold("a", 4, 0, 4_000)))
    assert starts(found) == {1: ("a", 4.0)}


def test_those_who_are_gone_by_then_may_go_before():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 2, 2), lasting(3, 2, 3)]
    found = plan(queue, Snapshot((server("a", 4),)), outlook(hold("a", 2, 4)))
    assert starts(found)[1] == ("a", 2.0)
    assert placed(found) == {2: "a"}


def test_who_leaves_enough_beside_it_may_stay_longer():
    queue = [lasting(1, 6, 1, priority=1), lasting(2, 2, 9), lasting(3, 3, 9)]
    found = plan(queue, Snapshot((server("a", 4),)), outlook(hold("a", 2, 4)))
    assert placed(found) == {2: "a"}
    assert starts(found)[3] == ("a", 3.0)


def test_another_server_is_no_matter_of_the_reservation():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 2, 9)]
    found = plan(queue, Snapshot((server("a", 4), server("b", 2))), outlook(hold("a", 2, 4)))
    assert placed(found) == {2: "b"}


def test_the_words_tell_when_and_who_is_in_the_way():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 2, 3)]
    found = plan(queue, Snapshot((server("a", 4),)), outlook(hold("a", 2, 4), reservations=1)).answers
    assert found[UUID(int=1)] == Waits(
        Reason.WAITING_FOR_GPUS,
        "needs 8 GPUs on one server; the largest free block is 4, on a; "
        "it starts on a by 2027-01-15 10:00 UTC at the latest, unless something goes before it",
    )
    assert found[UUID(int=2)] == Waits(
        Reason.BEHIND_RESERVATION,
        "4 GPUs are free on a, but kept for a workload that goes before it and starts there by 2027-01-15 10:00 UTC "
        "at the latest; with limits that end before then it would start now",
    )


def test_no_more_than_so_many_are_promised_a_place():
    queue = [lasting(number, 8, 1) for number in range(5)]
    found = plan(queue, Snapshot((server("a", 0),)), outlook(hold("a", 1, 8), reservations=3))
    assert starts(found) == {0: ("a", 1.0), 1: ("a", 2.0), 2: ("a", 3.0)}


# for every situation

Situation = tuple[list[ServerCapacity], Outlook]


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[ServerCapacity], Outlook]:
    servers, holds = [], []
    for name in "abc"[: draw(st.integers(1, 3))]:
        strangers, runs = draw(st.integers(0, 2)), draw(st.lists(st.integers(1, 3), max_size=2))
        holds += [hold(name, draw(st.integers(1, 4)), gpus, 1_000) for gpus in runs]
        free = 8 - strangers - sum(runs)
        servers.append(server(name, free, cpu_free=8_000 - 1_000 * (len(runs) + strangers), cpu_total=8_000))
    return servers, outlook(*holds, reservations=draw(st.integers(0, 4)))


@st.composite
def queues(draw: st.DrawFn, most: int = 9) -> list[Request]:
    return [
        lasting(
            number,
            draw(st.sampled_from((1, 2, 4, 6, 8))),
            draw(st.sampled_from((0.5, 1, 2, 3, 9))),
            age=draw(st.integers(0, 20_000)),
            priority=draw(st.sampled_from((0, 0, 1))),
            cpu_millis=draw(st.sampled_from((500, 1_000, 3_000))),
        )
        for number in range(draw(st.integers(0, most)))
    ]


situations = given(queue=queues(), there=fleets())
often = settings(max_examples=60, deadline=None)


def most_taken(on: ServerCapacity, queue: Sequence[Request], found: Plan, known: Outlook) -> int:
    """The most GPUs taken at once, now or later, of those that are not strangers' at that moment."""
    wanted = {it.workload_id: it for it in queue}
    spans = [(NOW, it.until, it.gpus) for it in known.holds.get(on.id, ())]
    for id_, place in found.placements.items():
        if place.server == on.name:
            spans.append((NOW, NOW + wanted[id_].hold_seconds, wanted[id_].gpu_count))
    for id_, promise in found.reservations.items():
        if promise.server == on.id:
            start = promise.starts_by.timestamp()
            spans.append((start, start + wanted[id_].hold_seconds, wanted[id_].gpu_count))
    return max((sum(gpus for a, b, gpus in spans if a <= start < b) for start, _, _ in spans), default=0)


@often
@situations
def test_neither_now_nor_later_is_more_given_than_there_is(queue: list[Request], there: Situation):
    servers, known = there
    found = plan(queue, Snapshot(tuple(servers)), known)
    for on in servers:
        ours = on.gpus_free[GPU] + sum(it.gpus for it in known.holds.get(on.id, ()))
        assert most_taken(on, queue, found, known) <= ours


@often
@situations
def test_nobody_behind_delays_a_reservation(queue: list[Request], there: Situation):
    servers, known = there
    snapshot = Snapshot(tuple(servers))
    found = plan(queue, snapshot, known)
    turns = in_order(queue, {})
    for id_, promise in found.reservations.items():
        before = turns[: turns.index(id_) + 1]
        alone = plan([it for it in queue if it.workload_id in before], snapshot, known)
        assert alone.reservations[id_] == promise


@often
@situations
def test_the_order_of_listing_changes_no_promise(queue: list[Request], there: Situation):
    servers, known = there
    assert plan(queue, Snapshot(tuple(servers)), known) == plan(queue[::-1], Snapshot(tuple(servers[::-1])), known)


@often
@given(queue=queues(), there=fleets(), data=st.data())
def test_other_names_change_nothing_but_the_names(queue: list[Request], there: Situation, data: st.DataObject):
    servers, known = there[0], replace(there[1], reservations=0)
    names = dict(zip((it.name for it in servers), data.draw(st.permutations("xyz")), strict=False))
    renamed = [replace(it, name=names[it.name]) for it in servers]
    holds = {ServerId(names[on.name]): it for on, it in known.holds.items()}
    found = plan(queue, Snapshot(tuple(servers)), known)
    other = plan(queue, Snapshot(tuple(renamed)), replace(known, holds=holds))
    assert set(placed(found)) == set(placed(other))
    assert left(servers, queue, found) == left(renamed, queue, other)


def left(servers: list[ServerCapacity], queue: list[Request], found: Plan) -> Counter[tuple[int, int]]:
    wanted = {it.workload_id: it for it in queue}
    rooms = {it.name: (it.gpus_free[GPU], it.cpu_free) for it in servers}
    for id_, place in found.placements.items():
        gpus, cpu = rooms[place.server]
        rooms[place.server] = gpus - wanted[id_].gpu_count, cpu - wanted[id_].cpu_millis
    return Counter(rooms.values())


def test_a_plan_made_from_the_last_one_is_the_plan_made_anew():
    rng, planner = random.Random(5), Planner()  # noqa: S311
    servers = {name: server(name, 8, cpu_free=16_000, memory_free=64 * GI) for name in "abcd"}
    queue: dict[int, Request] = {}
    holds: list[tuple[ServerId, Hold]] = []
    for step in range(80):
        for number in range(step * 3, step * 3 + rng.randint(0, 3)):
            queue[number] = lasting(number, rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 8)), age=rng.randrange(9_000))
        if holds and rng.random() < 0.4:
            on, over = holds.pop(rng.randrange(len(holds)))
            servers[on.name] = _with(servers[on.name], over.gpus)
        if step == 40:
            servers["a"] = replace(servers["a"], unusable="cordoned")
        snapshot, known = Snapshot(tuple(servers.values())), outlook(*holds)
        found = planner.plan(queue.values(), snapshot, known)
        assert found == plan(queue.values(), snapshot, known)
        for id_, place in found.placements.items():
            if rng.random() < 0.9:  # else another writer was first
                taken = queue.pop(id_.int)
                holds.append(hold(place.server, taken.hold_seconds / HOUR, taken.gpu_count))
                servers[place.server] = _with(servers[place.server], -taken.gpu_count)
    assert any(isinstance(it, Place) for it in found.answers.values()) or len(queue) > 9


def _with(on: ServerCapacity, gpus: int) -> ServerCapacity:
    return replace(on, gpus_free={GPU: on.gpus_free[GPU] + gpus})
