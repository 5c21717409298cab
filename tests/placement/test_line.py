"""Whose turn it is."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.placement.line import HALVED_EVERY, HARD_BOUND, Line, loads
from app.placement.plan import in_order
from app.placement.request import Request
from app.placement.usage import Run, decayed, faded
from tests.placement.builders import request

HOUR = 3600
PROJECTS = (None, UUID(int=100), UUID(int=101), UUID(int=102))
A, B = PROJECTS[1:3]


def order(*queue: Request, used: dict[UUID | None, float] | None = None) -> list[int]:
    return [workload.int for workload in in_order(queue, used or {})]


def test_the_small_go_first():
    queue = [request(1, 8), request(2, 2), request(3, 1, run_seconds=8 * HOUR), request(4, 1)]
    assert order(*queue) == [4, 2, 1, 3]


def test_who_has_waited_six_hours_counts_as_half_as_large():
    assert order(request(1, 2, age=int(HALVED_EVERY) - 60), request(2)) == [2, 1]
    assert order(request(1, 2, age=int(HALVED_EVERY) + 60), request(2)) == [1, 2]


def test_priority_goes_before_everything_else():
    assert order(request(1), request(2, 8, priority=1)) == [2, 1]


def test_one_whose_priority_changed_has_another_place():
    line, urgent = Line(), request(3, 8, age=-HOUR, priority=90)
    queue = [request(1), request(2), request(3, 8, age=-HOUR)]
    for third, expected in ((queue[2], [1, 2, 3]), (urgent, [3, 1, 2]), (queue[2], [1, 2, 3])):
        line.renew({it.workload_id: it for it in (*queue[:2], third)})
        assert [it.workload_id.int for _, it in line.turns({})] == expected


def test_the_order_of_those_who_wait_is_the_same_later():
    queue = [request(1, 4, age=9 * HOUR), request(2, 1), request(3, 2, age=HOUR), request(4, 8, age=30 * HOUR)]
    before = order(*queue)
    later = order(request(5, 1, age=-HOUR), *queue)
    assert later != [*before, 5]
    assert [it for it in later if it != 5] == before


def test_a_project_that_used_twice_its_share_counts_as_twice_as_large():
    used: dict[UUID | None, float] = {A: 4 * HOUR, B: HOUR, None: HOUR}
    assert loads(used) == {A: 1.0, B: -1.0, None: -1.0}
    assert order(request(1, 3, project=A), request(2, 5, project=B), used=used) == [2, 1]
    assert order(request(1, 2, project=A), request(2, 16, project=B), used=used) == [1, 2]


def test_who_has_used_nothing_goes_before_those_who_have():
    assert order(request(1, project=A), request(2, 8, project=B), used={A: 1.0}) == [2, 1]


def test_without_any_use_projects_are_equal():
    assert loads({}) == loads({A: 0.0}) == {}


@given(data=st.data())
def test_nobody_goes_before_one_who_came_so_much_earlier(data: st.DataObject):
    amounts = st.sampled_from((0.0, 1.0, 1e3, 1e9))
    used = {project: data.draw(amounts) for project in data.draw(st.sets(st.sampled_from(PROJECTS)))}
    sizes = st.tuples(st.integers(1, 512), st.integers(1, 90 * 24 * HOUR), st.sampled_from(PROJECTS))
    first, later = data.draw(sizes), data.draw(sizes)
    early = request(1, first[0], age=int(HARD_BOUND) + 1, run_seconds=first[1], project=first[2])
    assert order(early, request(2, later[0], run_seconds=later[1], project=later[2]), used=used) == [1, 2]


def test_a_line_holds_what_it_is_given():
    line = Line()
    one, two, three = request(1), request(2), request(3, 8)
    line.renew({it.workload_id: it for it in (one, two, three)})
    longer = request(2, run_seconds=2 * HOUR)
    line.renew({it.workload_id: it for it in (one, longer)})
    assert [it for _, it in line.turns({})] == [one, longer]
    assert len(line) == 2
    assert three.workload_id not in line


def test_of_a_row_that_is_turned_away_nobody_else_is_asked():
    line = Line()
    queue = [request(1), request(2), request(3, 4), request(4, 4), request(5, 4, project=A)]
    line.renew({it.workload_id: it for it in queue})
    asked, turns = [], line.turns({})
    for row, turn in turns:
        asked.append(turn.workload_id.int)
        if row.shape.gpu_count == 4:
            turns.drop()
    assert asked == [1, 2, 3, 5]


@pytest.mark.parametrize(("start", "end", "weight"), [(0, 10, 10.0), (-10_000, -9_990, 0.0)])
def test_use_fades(start: float, end: float, weight: float):
    assert decayed(Run(1, start, end), 10, 100 if weight < 1 else 1e9) == pytest.approx(weight, abs=1e-6)
    assert faded(8.0, 300, 100) == 1.0
    week = timedelta(days=7).total_seconds()
    halves = decayed(Run(4, 0, HOUR), week, week), decayed(Run(4, 0, HOUR), 0, week)
    assert halves[0] == pytest.approx(4 * HOUR / 2, rel=0.01)
