"""What holds for every fleet and queue: generated small, so that everything is scarce and collides often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.cuda import CudaVersion
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.plan import Never, Place, Plan, Waits, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.depth import examples
from tests.placement.builders import GPU, capacity, request
from tests.placement.naive import Room, could_ever_fit, fits, naive_plan

SERVERS = ("x/a", "x/b", "y/a", "y/c", "x/c", "d")
KINDS = (GPU, "amd.com/gpu")


@st.composite
def servers(draw: st.DrawFn, which: str) -> ServerCapacity:
    name, cluster = ServerId.parse(which)
    memory_total = draw(st.sampled_from((2, 6, 6)))
    total = draw(st.dictionaries(st.sampled_from(KINDS), st.integers(1, 6), max_size=2))
    allocatable = {kind: count - draw(st.sampled_from((0, 0, 1))) for kind, count in total.items()}
    return capacity(
        name,
        cluster=cluster,
        free={kind: draw(st.integers(-1, count)) for kind, count in allocatable.items()},
        total=total,
        gpus_allocatable=allocatable,
        organization=draw(st.sampled_from(("acme", "acme", "acme", "other"))),
        cpu_free=draw(st.integers(-1, 6)),
        cpu_total=6,
        memory_free=draw(st.integers(-1, memory_total)),
        memory_total=memory_total,
        driver=draw(st.sampled_from((None, (470, 42), (525, 60, 13), (580, 65, 6)))),
        unusable=draw(st.sampled_from(("", "", "", "", "", "cordoned"))),
    )


@st.composite
def requests(draw: st.DrawFn, number: int) -> Request:
    return request(
        number,
        draw(st.sampled_from((1, 1, 1, 2, 2, 3, 6, 7))),
        age=draw(st.integers(0, 2)),
        priority=draw(st.integers(0, 1)),
        organization=draw(st.sampled_from(("acme", "acme", "acme", "acme", "other", "none"))),
        cpu_millis=draw(st.integers(0, 3)),
        memory_bytes=draw(st.integers(0, 3)),
        cuda=draw(st.sampled_from((None, None, CudaVersion(12, 2), CudaVersion(13, 0)))),
        avoid=draw(st.sampled_from(((), (), ("x/a",), ("x/b", "y/c")))),
    )


fleets = st.sampled_from((0, 1, 3, 6, 6)).flatmap(lambda count: st.tuples(*map(servers, SERVERS[:count])))
queues = st.sampled_from((0, 1, 6, 12, 12)).flatmap(lambda count: st.tuples(*map(requests, range(count))))
situations = given(queue=queues, fleet=fleets)
often = settings(max_examples=examples(100), deadline=None)

Queue = Sequence[Request]
Fleet = tuple[ServerCapacity, ...]


def where(place: Place) -> ServerId:
    return ServerId(place.server, place.cluster)


def after(found: Plan, queue: Queue, fleet: Fleet) -> dict[ServerId, Room]:
    """The servers once every placement of the plan is subtracted."""
    rooms = {server.id: Room(server) for server in fleet}
    wanted = {each.workload_id: each for each in queue}
    for workload, place in found.placements.items():
        rooms[where(place)].take(wanted[workload], place.gpu_resource)
    return rooms


@often
@situations
def test_the_index_and_the_grouping_change_no_placement(queue: Queue, fleet: Fleet):
    found = plan(queue, Snapshot(fleet)).answers
    places = {
        workload: (where(it), it.gpu_resource) if isinstance(it, Place) else None for workload, it in found.items()
    }
    assert places == naive_plan(queue, fleet)


@often
@situations
def test_every_waiting_workload_gets_one_answer(queue: Queue, fleet: Fleet):
    found = plan(queue, Snapshot(fleet)).answers
    assert sorted(found) == [wanted.workload_id for wanted in queue]
    assert all(isinstance(it, Place | Waits | Never) for it in found.values())


@often
@situations
def test_nothing_is_given_out_that_is_not_free(queue: Queue, fleet: Fleet):
    for room in after(plan(queue, Snapshot(fleet)), queue, fleet).values():
        server = room.server
        free = {"cpu": (room.cpu, server.cpu_free), "memory": (room.memory, server.memory_free)}
        free |= {kind: (room.gpus[kind], server.gpus_free[kind]) for kind in room.gpus}
        assert all(now == before or now >= 0 for now, before in free.values())


@often
@situations
def test_a_workload_lands_on_a_usable_server_of_its_own_pool(queue: Queue, fleet: Fleet):
    by_id = {server.id: server for server in fleet}
    wanted = {each.workload_id: each for each in queue}
    for workload, place in plan(queue, Snapshot(fleet)).placements.items():
        server = by_id[where(place)]
        assert (server.organization, server.unusable) == (wanted[workload].organization, "")


@often
@situations
def test_who_waits_fits_nowhere_on_what_is_left(queue: Queue, fleet: Fleet):
    found = plan(queue, Snapshot(fleet))
    rooms = after(found, queue, fleet).values()
    for wanted in queue:
        if not isinstance(found.answers[wanted.workload_id], Place):
            open_rooms = [room for room in rooms if room.server.id not in wanted.avoid]
            assert not any(fits(wanted, room, kind) for room in open_rooms for kind in room.gpus)


@often
@given(queue=queues, fleet=fleets, data=st.data())
def test_the_order_in_which_things_are_listed_changes_nothing(queue: Queue, fleet: Fleet, data: Any):
    shuffled = data.draw(st.permutations(queue)), Snapshot(tuple(data.draw(st.permutations(fleet))))
    first, second = plan(queue, Snapshot(fleet)), plan(*shuffled)
    assert list(first.answers.items()) == list(second.answers.items())


@often
@situations
def test_never_is_said_of_what_no_server_is_large_enough_for(queue: Queue, fleet: Fleet):
    found = plan(queue, Snapshot(fleet)).answers
    for wanted in queue:
        any_driver = replace(wanted, cuda=None, avoid=frozenset())
        possible = any(could_ever_fit(any_driver, server) for server in fleet)
        assert isinstance(found[wanted.workload_id], Never) != possible


@often
@situations
def test_an_answer_has_a_sentence_and_one_of_five_reasons(queue: Queue, fleet: Fleet):
    allowed = {
        Reason.NO_USABLE_SERVER,
        Reason.DRIVER_TOO_OLD,
        Reason.WAITING_FOR_GPUS,
        Reason.WAITING_FOR_CPU_OR_MEMORY,
    }
    for found in plan(queue, Snapshot(fleet)).answers.values():
        if isinstance(found, Waits):
            assert found.reason in allowed
            assert found.message.startswith("needs ") or " free on " in found.message
            assert "-" not in found.message


def test_ids_decide_between_equals_as_the_naive_plan_has_it():
    queue = [request(number) for number in (3, 1, 2)]
    assert list(plan(queue, Snapshot()).answers) == [UUID(int=number) for number in (1, 2, 3)]
