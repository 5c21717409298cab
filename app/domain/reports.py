"""What of a report may be taken: its size, its names, its moments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from agent.report import (
    LONGEST_TEXT,
    MOST_DEVICES,
    MOST_HOLDERS,
    MOST_SAMPLES,
    OLDEST_SAMPLE_SECONDS,
    PodSample,
    Report,
    Sample,
)
from app.domain.errors import InvalidInputError, Problem
from app.domain.samples import PodReading, Reading

S = TypeVar("S", Sample, PodSample)

MOST_INSTANCES = 64  # MIG instances of one device; there are seven at most today
_LONGEST_ID = 100
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9/_.:-]{0,99}")
_CLOCKS_AGREE = timedelta(seconds=5)  # below it, the difference is the way of the report
_AHEAD = timedelta(minutes=1)


def check_report(report: Report) -> None:
    """Raises InvalidInputError that names everything wrong."""
    problems = [*_counts(report), *_devices(report), *_ids(report)]
    if not problems:
        problems = [*_long_texts("", report)]
    if problems:
        raise InvalidInputError(tuple(problems[:20]))


def _counts(report: Report) -> Iterator[Problem]:
    devices = report.inventory.devices if report.inventory else ()
    found = (
        ("inventory.devices", len(devices), MOST_DEVICES),
        ("inventory.devices.migInstances", max((len(it.mig_instances) for it in devices), default=0), MOST_INSTANCES),
        ("inventory.devices.nvlinkPeers", max((len(it.nvlink_peers) for it in devices), default=0), MOST_DEVICES),
        ("holders", len(report.holders or ()), MOST_HOLDERS),
        ("samples", len(report.samples) + len(report.pod_samples), MOST_SAMPLES),
    )
    for field, count, most in found:
        if count > most:
            yield Problem(field, f"{count} are too many for one report, which may hold {most}")


def _devices(report: Report) -> Iterator[Problem]:
    devices = report.inventory.devices if report.inventory else ()
    uuids = [it.uuid for it in devices] + [instance.uuid for it in devices for instance in it.mig_instances]
    wrong = next((uuid for uuid in uuids if not _DEVICE.fullmatch(uuid)), None)
    if wrong is not None:
        yield Problem("inventory.devices", f"{wrong[:80]!r} is no UUID of a GPU or of a MIG instance")
    if len(set(uuids)) != len(uuids):
        yield Problem("inventory.devices", "the same UUID is there more than once")


def _ids(report: Report) -> Iterator[Problem]:
    for field, text in (
        ("agentId", report.agent_id),
        ("bootId", report.boot_id),
        ("agentVersion", report.agent_version),
    ):
        if len(text) > _LONGEST_ID:
            yield Problem(field, f"must have at most {_LONGEST_ID} characters; it has {len(text)}")
    if not report.agent_id:
        yield Problem("agentId", "must not be empty: late reports are told by it")
    if report.sequence < 0:
        yield Problem("sequence", f"must not be negative; it is {report.sequence}")


def _long_texts(path: str, part: object) -> Iterator[Problem]:
    """Every text anywhere in it."""
    if isinstance(part, str):
        if len(part) > LONGEST_TEXT:
            yield Problem(path.lstrip("."), f"must have at most {LONGEST_TEXT} characters; it has {len(part)}")
    elif isinstance(part, tuple):
        for index, item in enumerate(part):
            yield from _long_texts(f"{path}[{index}]", item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _long_texts(f"{path}.{field.name}", getattr(part, field.name))


def clock_difference(sent_at: datetime, received_at: datetime) -> timedelta:
    """How far our clock is ahead of the agent's; zero where the difference may be the way that the report took."""
    ahead = received_at - sent_at
    return ahead if abs(ahead) >= _CLOCKS_AGREE else timedelta(0)


def readings_of(report: Report, received_at: datetime) -> dict[str, list[Reading]]:
    """By device, at moments of our clock. What is too old to be kept, or still to come, is left out."""
    found: dict[str, list[Reading]] = {}
    for sample, at in _kept(report.samples, report, received_at):
        found.setdefault(sample.device, []).append(Reading.of(sample, at))
    return found


def pod_readings_of(report: Report, received_at: datetime) -> dict[str, list[PodReading]]:
    """By the pod's uid, as those of devices."""
    found: dict[str, list[PodReading]] = {}
    for sample, at in _kept(report.pod_samples, report, received_at):
        found.setdefault(sample.pod_uid, []).append(PodReading.of(sample, at))
    return found


def _kept(samples: Sequence[S], report: Report, received_at: datetime) -> Iterator[tuple[S, datetime]]:
    ahead = clock_difference(report.sent_at, received_at)
    oldest, newest = received_at - timedelta(seconds=OLDEST_SAMPLE_SECONDS), received_at + _AHEAD
    for sample in samples:
        at = sample.at + ahead
        if oldest <= at <= newest:
            yield sample, at
