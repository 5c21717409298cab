"""What a GPU is to those who look at it."""

from __future__ import annotations

from uuid import UUID

import pytest

from agent.report import DriverState, Health
from app.domain.agents import Freshness
from app.domain.gpu_map import GpuState, Whose, counted, doubt, state_of, whose

US, THEM = UUID(int=1), UUID(int=2)
FREE, OURS, IN_USE, CLOSED, FAILED = (
    GpuState.FREE,
    GpuState.OURS,
    GpuState.IN_USE,
    GpuState.CLOSED,
    GpuState.FAILED,
)


def test_of_another_organization_nobody_is_told():
    assert [whose(owner, US) for owner in (US, THEM, None)] == [Whose.OURS, Whose.HIDDEN, Whose.FOREIGN]


@pytest.mark.parametrize(
    ("health", "users", "takes_work", "state"),
    [
        (Health.OK, (), True, FREE),
        (Health.OK, (), False, CLOSED),
        (Health.OK, (Whose.FOREIGN,), False, GpuState.FOREIGN),
        (Health.OK, (Whose.HIDDEN,), True, IN_USE),
        (Health.OK, (Whose.HIDDEN, Whose.FOREIGN, Whose.OURS), True, OURS),
        (Health.WARNING, (Whose.OURS,), True, GpuState.WARNING),
        (Health.FAILED, (), True, FAILED),
        (Health.FAILED, (Whose.OURS,), False, FAILED),
    ],
)
def test_what_is_wrong_with_it_comes_first(health: Health, users: tuple[Whose, ...], takes_work: bool, state: GpuState):
    assert state_of(health, users, takes_work=takes_work) is state


@pytest.mark.parametrize(
    ("freshness", "driver", "wanted"),
    [
        (Freshness.FRESH, DriverState.OK, None),
        (Freshness.FRESH, DriverState.NO_GPU, None),
        (Freshness.FRESH, DriverState.MISMATCH, GpuState.UNKNOWN),
        (Freshness.STALE, DriverState.OK, GpuState.STALE),
        (Freshness.LOST, DriverState.MISMATCH, GpuState.STALE),
    ],
)
def test_an_agent_that_is_silent_or_blind_is_not_relied_on(
    freshness: Freshness, driver: DriverState, wanted: GpuState | None
):
    assert doubt(freshness, driver) is wanted


@pytest.mark.parametrize(
    ("healthy", "free", "takes_work", "wanted"),
    [
        (4, 4, True, [FREE] * 4),
        (4, 1, True, [IN_USE] * 3 + [FREE]),
        (3, 1, False, [IN_USE] * 2 + [CLOSED, FAILED]),
        (3, -2, True, [IN_USE] * 3 + [FAILED]),
        (9, 9, True, [FREE] * 4),
        (None, 0, False, [GpuState.UNKNOWN] * 4),
        (4, None, True, [GpuState.UNKNOWN] * 4),
    ],
)
def test_gpus_that_are_only_counted(healthy: int | None, free: int | None, takes_work: bool, wanted: list[GpuState]):
    assert counted(4, healthy, free, takes_work=takes_work) == wanted


def test_every_state_has_words():
    assert all(state.meaning and "_" not in state.words for state in GpuState)
