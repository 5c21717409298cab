"""Where a request goes when it is known what usually comes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from app.placement.demand import Demand, counted
from app.placement.packing import Packing
from app.placement.plan import Outlook, Place, plan
from app.placement.room import Ask, Room
from app.placement.rooms import Rooms
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.placement.builders import GI, GPU, answer, request, server

ONE, TWO, EIGHT = Ask(1, 8_000, 64 * GI), Ask(2, 16_000, 128 * GI), Ask(8, 64_000, 512 * GI)


def chosen(history: dict[Ask, int], gpus: int, *servers: ServerCapacity, **fields: Any) -> str:
    wanted = request(gpus=gpus, **fields)
    found = plan([wanted], Snapshot(servers), Outlook(histories={"acme": history})).placements
    return found[wanted.workload_id].server


def demand(*asks: Ask, **gpus: int) -> Demand:
    return Demand(counted(asks), gpus)


def test_cpu_beside_free_gpus_is_left_to_those_who_need_it():
    servers = [server("rich", 4, cpu_free=60_000), server("poor", 4, cpu_free=33_000)]
    assert chosen({ONE: 10}, 1, *servers, cpu_millis=20_000) == "rich"
    assert chosen({}, 1, *servers, cpu_millis=20_000) == "poor"


def test_gpus_whose_cpu_is_gone_anyway_are_taken_first():
    servers = [server("whole", 2, cpu_free=64_000), server("stranded", 6, cpu_free=4_000)]
    assert chosen({ONE: 10}, 1, *servers) == "stranded"


def test_a_block_that_large_requests_want_is_kept():
    ample = {"cpu_free": 80_000, "memory_free": 1024 * GI}
    servers = [server("just", 8, 16, **ample), server("more", 9, 16, **ample)]
    assert chosen({EIGHT: 1, TWO: 1}, 1, *servers) == "more"
    assert chosen({TWO: 1}, 1, *servers) == "just"


def test_a_small_request_does_not_break_the_last_pair():
    servers = [server("pair", 2, cpu_free=17_000), server("odd", 3, cpu_free=25_000)]
    assert chosen({TWO: 10}, 1, *servers) == "odd"


def test_a_model_that_others_insist_on_is_left_to_them():
    picky = Ask(1, 8_000, 64 * GI, models=frozenset({"T4"}))
    servers = [server("a", 2, product="T4"), server("b", 8, product="G2")]
    assert chosen({picky: 5, ONE: 5}, 1, *servers) == "b"
    assert chosen({ONE: 10}, 1, *servers) == "a"


def test_the_cheaper_gpu_is_taken_first():
    servers = [server("a", 1, gpu_memory_mib=81_920), server("b", 8, gpu_memory_mib=16_384)]
    assert answer(request(), *servers) == Place("b", GPU)


def test_scarce_is_what_is_wanted_by_name_beside_what_there_is():
    some = demand(ONE, Ask(1, 1, 1, models=frozenset({"T4"})), T4=10, G2=30)
    assert (some.scarcity("T4"), some.scarcity("G2"), some.scarcity("unknown")) == (2.0, 0.0, 0.0)
    both = demand(Ask(1, 1, 1, models=frozenset({"T4", "G2", "gone"})), T4=10, G2=30)
    assert both.scarcity("T4") == both.scarcity("G2") == 1.0


@pytest.mark.parametrize(
    ("room", "wasted"),
    [
        ("all of it can be used", (Room(4, 64_000, 512 * GI), 0.0)),
        ("nobody asks for so little", (Room(1, 64_000, 512 * GI), 1.0 + 12.0)),
        ("without CPU it is a fragment, and stranded", (Room(2, 0, 512 * GI), 2 * 14.0)),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_waste(room: str, wasted: tuple[Room, float]):
    assert demand(TWO, TWO).wasted(wasted[0]) == pytest.approx(wasted[1])


def test_without_a_history_nothing_counts_as_wasted():
    assert demand().wasted(Room(3, 0, 0)) == 0.0


def test_a_share_goes_to_a_gpu_of_which_a_part_is_taken():
    rooms = Rooms([Room(1, 9, 9, (300, 600))], Packing(demand(Ask(1, 1, 1))).key)
    best = rooms.best(Ask(1, 1, 1, share=500))
    assert best is not None
    assert best.left == Room(1, 8, 8, (100, 300))


def test_a_request_that_comes_again_sees_what_changed():
    rng = random.Random(3)  # noqa: S311
    asks = [ONE, TWO, EIGHT, Ask(1, 500, GI, share=250)]
    packing = Packing(demand(ONE, ONE, TWO, EIGHT))
    rooms = Rooms([Room(8, 64_000, 512 * GI) for _ in range(6)], packing.key)
    for _ in range(60):
        ask = rng.choice(asks)
        best = rooms.best(ask)
        assert best == Rooms(rooms.rooms, packing.key).best(ask)
        if best is not None:
            rooms.put(best.number, best.left)
