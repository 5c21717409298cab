"""How conditions of a GPU begin, last and end: the rules of agent/health.py, one test for each."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.health import APPLICATION_XIDS, RESET_XIDS, RULES, Conditions, Signs, advance, health_of
from agent.report import DeviceHealth, Health, HealthReason
from tests.clock import START

Step = tuple[float, Signs]  # seconds since the start, what was seen then
FINE = Signs()


def after(*steps: Step, driver_is_new_at: float | None = None) -> DeviceHealth:
    """The health as of the last step."""
    conditions: Conditions = {}
    for seconds, signs in steps:
        now = START + timedelta(seconds=seconds)
        conditions = advance(conditions, signs, now, driver_is_new=seconds == driver_is_new_at)
    return health_of(conditions, now)


def every(seconds: float, until: float, signs: Signs, since: float = 0) -> list[Step]:
    return [(since + seconds * step, signs) for step in range(int((until - since) / seconds) + 1)]


def test_every_reason_has_a_rule() -> None:
    assert set(RULES) == set(HealthReason)


def test_a_device_without_signs_is_ok() -> None:
    assert after((0, FINE), (15, FINE)) == DeviceHealth()


@pytest.mark.parametrize(
    ("signs", "level", "reason"),
    [
        (Signs(gone=HealthReason.OFF_THE_BUS), Health.FAILED, HealthReason.OFF_THE_BUS),
        (Signs(gone=HealthReason.LOST), Health.FAILED, HealthReason.LOST),
        (Signs(gone=HealthReason.RESET_REQUIRED), Health.FAILED, HealthReason.RESET_REQUIRED),
        (Signs(double_bit_errors=1), Health.FAILED, HealthReason.ECC_DOUBLE_BIT),
        (Signs(remap_failed=True), Health.FAILED, HealthReason.REMAP_FAILED),
        (Signs(remap_pending=True), Health.WARNING, HealthReason.REMAP_PENDING),
        (Signs(retirement_pending=True), Health.WARNING, HealthReason.RETIREMENT_PENDING),
        (Signs(error="unknown error"), Health.WARNING, HealthReason.NVML_ERROR),
    ],
)
def test_what_a_driver_states_holds_from_the_first_look_to_the_last(
    signs: Signs, level: Health, reason: HealthReason
) -> None:
    health = after((0, FINE), (15, signs), (30, signs))
    assert (health.health, health.reason) == (level, reason)
    assert health.since == START + timedelta(seconds=15)
    assert after((0, signs), (15, FINE), (75, FINE)).health is Health.OK


@pytest.mark.parametrize("xid", sorted(APPLICATION_XIDS))
def test_xids_of_programs_are_ignored(xid: int) -> None:
    assert after((0, Signs(xids=(xid,)))).health is Health.OK


def test_another_xid_fails_the_device_and_tells_its_number() -> None:
    health = after((0, Signs(xids=(31, 74, 13))), (15, FINE))
    assert (health.health, health.reason, health.xid, health.since) == (Health.FAILED, HealthReason.XID, 74, START)


def test_a_single_xid_becomes_a_warning_and_ends_after_a_day() -> None:
    once = (0, Signs(xids=(74,)))
    assert after(once, (1799, FINE)).health is Health.FAILED
    assert after(once, (1800, FINE)).health is Health.WARNING
    assert after(once, (86399, FINE)).health is Health.WARNING
    assert after(once, (86400, FINE)).health is Health.OK


def test_a_second_xid_lasts_until_the_driver_is_loaded_anew() -> None:
    twice = [(0, Signs(xids=(74,))), (3600, Signs(xids=(74,)))]
    assert after(*twice, (900_000, FINE)).health is Health.FAILED
    assert after(*twice, (900_000, FINE), driver_is_new_at=900_000).health is Health.OK


@pytest.mark.parametrize("xid", sorted(RESET_XIDS))
def test_xids_that_need_a_reset_last(xid: int) -> None:
    assert after((0, Signs(xids=(xid,))), (900_000, FINE)).health is Health.FAILED


@pytest.mark.parametrize(
    ("signs", "reason"), [(Signs(thermal=True), HealthReason.THERMAL), (Signs(power=True), HealthReason.POWER)]
)
def test_held_down_clocks_count_after_half_a_minute_and_for_five_more(signs: Signs, reason: HealthReason) -> None:
    hot = every(15, 30, signs)
    assert after(*hot[:2]).health is Health.OK
    assert after(*hot) == health_warning(reason)
    assert after(*hot, *every(15, 315, FINE, since=45)) == health_warning(reason)
    assert after(*hot, *every(15, 330, FINE, since=45)).health is Health.OK


def health_warning(reason: HealthReason) -> DeviceHealth:
    cause = {HealthReason.THERMAL: "heat", HealthReason.POWER: "the power brake"}[reason]
    return DeviceHealth(Health.WARNING, reason, f"its clocks are held down by {cause}", START)


def test_clocks_that_are_held_down_now_and_then_do_not_count() -> None:
    flickering = [(15.0 * step, Signs(thermal=step % 2 == 0)) for step in range(20)]
    assert after(*flickering).health is Health.OK


def test_heat_that_comes_back_within_five_minutes_is_the_same_heat() -> None:
    steps = [*every(15, 45, Signs(thermal=True)), (60, FINE), (300, Signs(thermal=True)), (315, FINE)]
    assert after(*steps).since == START


def test_errors_of_the_driver_fail_the_device_after_a_minute() -> None:
    error = Signs(error="unknown error")
    assert after(*every(15, 45, error)).health is Health.WARNING
    assert after(*every(15, 60, error)).health is Health.FAILED
    assert after(*every(15, 60, error), (75, FINE)).health is Health.FAILED  # not over yet
    assert after(*every(15, 60, error), (120, FINE)).health is Health.OK


def test_a_device_that_is_gone_recovers_from_nothing_meanwhile() -> None:
    gone = Signs(gone=HealthReason.LOST)
    health = after((0, Signs(remap_pending=True)), (15, gone), (30, FINE))
    assert health.health is Health.OK
    assert after((0, Signs(double_bit_errors=1)), (15, gone)).reason is HealthReason.LOST
    assert after((0, Signs(xids=(74,))), (86400, gone)).reason is HealthReason.LOST


def test_the_worst_is_told() -> None:
    both = Signs(remap_pending=True, double_bit_errors=4)
    assert after((0, both)).reason is HealthReason.ECC_DOUBLE_BIT
    assert "4 uncorrectable errors" in after((0, both)).message
