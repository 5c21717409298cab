"""Whether a GPU may be trusted: a pure state machine over what each look at it found.

Each reason has a condition of its own, which begins, grows and ends by its row in RULES; the worst condition is the
device's health. The caller keeps the conditions between two looks and gives the time. docs/agent.md has the rules too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from agent.report import DeviceHealth, Health, HealthReason

# Faults of the program on the GPU, not of the GPU: what NVIDIA's device plugin ignores (its internal/rm/health.go).
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
# After these the GPU has to be reset; time alone cures nothing (https://docs.nvidia.com/deploy/xid-errors/).
RESET_XIDS = frozenset({48, 64, 79, 95, 119, 120})


@dataclass(frozen=True, slots=True)
class Rule:
    """How one reason comes and goes.

    `after`: its sign must have been seen for so long before it counts, in looks without a gap.
    `quiet`: how long the sign must have been away before the condition ends.
    """

    level: Health
    begins: str
    ends: str
    after: timedelta = timedelta(0)
    quiet: timedelta = timedelta(0)


RULES: Mapping[HealthReason, Rule] = MappingProxyType(
    {
        HealthReason.OFF_THE_BUS: Rule(
            Health.FAILED, "a GPU that was there is not counted any more", "it is counted again and answers"
        ),
        HealthReason.LOST: Rule(Health.FAILED, "the driver says that the GPU is lost", "it answers again"),
        HealthReason.RESET_REQUIRED: Rule(
            Health.FAILED, "the driver says that the GPU needs a reset", "it answers again"
        ),
        HealthReason.REMAP_FAILED: Rule(
            Health.FAILED, "a row of its memory could not be replaced", "the driver takes that back"
        ),
        HealthReason.ECC_DOUBLE_BIT: Rule(
            Health.FAILED,
            "its memory had uncorrectable errors since it was last reset",
            "the driver's count is zero again, after a reset",
        ),
        HealthReason.XID: Rule(
            Health.FAILED,
            "an XID event that is not the program's fault (13, 31, 43, 45, 68, 109 are)",
            "the driver was loaded anew; or, after one alone that needs no reset (48, 64, 79, 95, 119, 120 do), half "
            "an hour without another makes it a warning, and a day ends it",
            quiet=timedelta(days=1),
        ),
        HealthReason.NVML_ERROR: Rule(
            Health.WARNING,
            "the driver fails at a question that every GPU can answer; after a minute of that it is failed",
            "a minute of good answers",
            quiet=timedelta(minutes=1),
        ),
        HealthReason.REMAP_PENDING: Rule(
            Health.WARNING, "a row of its memory is replaced at the next reset", "that reset"
        ),
        HealthReason.RETIREMENT_PENDING: Rule(
            Health.WARNING, "a page of its memory is retired at the next reset", "that reset"
        ),
        HealthReason.THERMAL: Rule(
            Health.WARNING,
            "half a minute of clocks held down by heat",
            "five minutes without",
            after=timedelta(seconds=30),
            quiet=timedelta(minutes=5),
        ),
        HealthReason.POWER: Rule(
            Health.WARNING,
            "half a minute of clocks held down by the power brake (the cap in software is usual, and no sign)",
            "five minutes without",
            after=timedelta(seconds=30),
            quiet=timedelta(minutes=5),
        ),
    }
)
XID_PROBATION = timedelta(minutes=30)
NVML_PATIENCE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Signs:
    """What one look found. `gone` is why it answers nothing; then the other signs say nothing."""

    gone: HealthReason | None = None
    error: str | None = None
    double_bit_errors: int | None = None
    retirement_pending: bool = False
    remap_pending: bool = False
    remap_failed: bool = False
    thermal: bool = False
    power: bool = False
    xids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """What one reason has against a device: `since` its first sign, `seen` its last. `times` counts XID events."""

    since: datetime
    seen: datetime
    words: str
    xid: int | None = None
    times: int = 1
    needs_reset: bool = False


Conditions = Mapping[HealthReason, Condition]

_WORDS = {
    HealthReason.OFF_THE_BUS: "it has fallen off the bus: the driver does not count it any more",
    HealthReason.LOST: "it is lost: the driver cannot reach it; reset it or restart the server",
    HealthReason.RESET_REQUIRED: "it needs a reset before it can be used again",
    HealthReason.NVML_ERROR: "the driver gives no access to it",
    HealthReason.REMAP_FAILED: "a row of its memory could not be replaced: it needs repair",
    HealthReason.REMAP_PENDING: "a row of its memory will be replaced at its next reset",
    HealthReason.RETIREMENT_PENDING: "a page of its memory will be retired at its next reset",
    HealthReason.THERMAL: "its clocks are held down by heat",
    HealthReason.POWER: "its clocks are held down by the power brake",
}


def advance(before: Conditions, signs: Signs, now: datetime, *, driver_is_new: bool = False) -> Conditions:
    """The conditions after this look. `driver_is_new`: it was loaded anew since the last one."""
    found = dict(_found(signs, now))
    kept = {
        reason: condition
        for reason, condition in before.items()
        if not (driver_is_new and reason is HealthReason.XID)
        if reason in found or signs.gone is not None or not _is_over(reason, condition, now)
    }
    grown = {reason: _grown(kept[reason], new) if reason in kept else new for reason, new in found.items()}
    return {**kept, **grown}


def health_of(conditions: Conditions, now: datetime) -> DeviceHealth:
    """The worst that counts by now; among equals the first in RULES."""
    judged = [(_level(reason, conditions[reason], now), reason) for reason in RULES if reason in conditions]
    for level in (Health.FAILED, Health.WARNING):
        for reason in (reason for found, reason in judged if found is level):
            worst = conditions[reason]
            return DeviceHealth(level, reason, worst.words, worst.since, worst.xid)
    return DeviceHealth()


def _found(signs: Signs, now: datetime) -> Iterator[tuple[HealthReason, Condition]]:
    if signs.gone is not None:
        yield signs.gone, Condition(now, now, _WORDS[signs.gone])
    if serious := [xid for xid in signs.xids if xid not in APPLICATION_XIDS]:
        words = f"the driver reported XID {serious[-1]}"
        needs_reset = not RESET_XIDS.isdisjoint(serious)
        yield HealthReason.XID, Condition(now, now, words, serious[-1], len(serious), needs_reset)
    if signs.error:
        yield HealthReason.NVML_ERROR, Condition(now, now, f"the driver fails: {signs.error}")
    if errors := signs.double_bit_errors:
        words = f"its memory had {errors} uncorrectable errors since its last reset; reset it when it is idle"
        yield HealthReason.ECC_DOUBLE_BIT, Condition(now, now, words)
    for reason, is_there in (
        (HealthReason.REMAP_FAILED, signs.remap_failed),
        (HealthReason.REMAP_PENDING, signs.remap_pending),
        (HealthReason.RETIREMENT_PENDING, signs.retirement_pending),
        (HealthReason.THERMAL, signs.thermal),
        (HealthReason.POWER, signs.power),
    ):
        if is_there:
            yield reason, Condition(now, now, _WORDS[reason])


def _grown(old: Condition, new: Condition) -> Condition:
    """`since` stays; what is newest is told."""
    return replace(new, since=old.since, times=old.times + new.times, needs_reset=old.needs_reset or new.needs_reset)


def _is_over(reason: HealthReason, condition: Condition, now: datetime) -> bool:
    """Of a condition whose sign is away. One that never counted ends at once: signs that come and go do not add up."""
    if reason is HealthReason.XID and _is_lasting(condition):
        return False
    return not _counts(reason, condition) or now - condition.seen >= RULES[reason].quiet


def _counts(reason: HealthReason, condition: Condition) -> bool:
    """Whether its sign was there for long enough."""
    return condition.seen - condition.since >= RULES[reason].after


def _is_lasting(xids: Condition) -> bool:
    return xids.needs_reset or xids.times > 1


def _level(reason: HealthReason, condition: Condition, now: datetime) -> Health:
    if not _counts(reason, condition):
        return Health.OK
    if reason is HealthReason.NVML_ERROR and condition.seen - condition.since >= NVML_PATIENCE:
        return Health.FAILED
    if reason is HealthReason.XID and not _is_lasting(condition) and now - condition.seen >= XID_PROBATION:
        return Health.WARNING
    return RULES[reason].level
