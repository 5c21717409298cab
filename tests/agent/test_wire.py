"""The report as it travels."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent.report import (
    Device,
    DeviceHealth,
    DriverState,
    Health,
    HealthReason,
    Holder,
    Inventory,
    MigInstance,
    PodSample,
    Receipt,
    Report,
    Sample,
)
from agent.wire import AnswerError, plain, receipt_of, request_of
from tests.clock import START

REPORT = Report(
    node="gpu-1",
    boot_id="b",
    agent_version="1.0",
    agent_id="a",
    started_at=START,
    sequence=7,
    sent_at=START,
    inventory=Inventory(
        DriverState.OK,
        driver_version="580.95.05",
        cuda_version="13.0",
        devices=(
            Device(
                "GPU-0",
                0,
                memory_mib=81559,
                mig_enabled=True,
                mig_instances=(MigInstance("MIG-0", "1g.10gb", 9984),),
                nvlink_peers=("GPU-1",),
                health=DeviceHealth(Health.FAILED, HealthReason.XID, "the driver reported XID 79", START, 79),
            ),
        ),
    ),
    holders=(Holder("MIG-0", "team-a", "train-0", container="main"),),
    samples=(Sample("GPU-0", START, memory_used_mib=12, power_watts=512.3),),
    pod_samples=(PodSample("uid-1", START, 1.5),),
)


def test_names_are_in_camel_case_and_what_is_unknown_is_left_out() -> None:
    sent = request_of(REPORT)["variables"]["input"]
    assert (sent["bootId"], sent["startedAt"], sent["sequence"]) == ("b", "2026-11-30T12:00:00+00:00", 7)
    assert sent["samples"] == [
        {"device": "GPU-0", "at": "2026-11-30T12:00:00+00:00", "memoryUsedMib": 12, "powerWatts": 512.3}
    ]
    assert sent["podSamples"] == [{"podUid": "uid-1", "at": "2026-11-30T12:00:00+00:00", "cpuCores": 1.5}]
    (device,) = sent["inventory"]["devices"]
    assert device["migInstances"] == [{"uuid": "MIG-0", "profile": "1g.10gb", "memoryMib": 9984}]
    assert (device["health"]["health"], device["health"]["reason"], device["health"]["xid"]) == ("FAILED", "XID", 79)
    assert "serial" not in device


def test_unchanged_parts_are_left_out() -> None:
    sent = plain(Report("n", "b", "1", "a", START, 1, START))
    assert not {"inventory", "holders"} & sent.keys()


@pytest.mark.parametrize(("told", "uids"), [({}, ()), ({"podUids": ["uid-1", None]}, ("uid-1",))])
def test_a_receipt_is_read(told: dict[str, object], uids: tuple[str, ...]) -> None:
    answer = {"receivedAt": "2026-11-30T12:00:01Z", "wantsEverything": True, "isLate": False, "intervalSeconds": 30}
    assert receipt_of({"data": {"reportServer": answer | told}}) == Receipt(
        datetime(2026, 11, 30, 12, 0, 1, tzinfo=UTC), wants_everything=True, interval_seconds=30, pod_uids=uids
    )


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"data": None, "errors": [{"message": "no", "extensions": {"code": "FORBIDDEN"}}]}, "FORBIDDEN"),
        ({"errors": [{"message": "no"}]}, ""),
        ({"errors": [{"message": "no", "extensions": None}]}, ""),
        ({"data": {"reportServer": {"receivedAt": "yesterday"}}}, ""),
        ({"data": {"reportServer": None}}, ""),
        ([], ""),
        ("<html>", ""),
    ],
)
def test_other_answers_are_errors(answer: object, code: str) -> None:
    with pytest.raises(AnswerError) as caught:
        receipt_of(answer)
    assert caught.value.code == code
