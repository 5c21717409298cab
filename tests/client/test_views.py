"""What is shown of a workload: columns, facts, ages."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.client import views
from app.client.screen import Screen
from app.client.tables import Table, lines

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ID = "f8f85945-219f-4b9e-ac70-805900bab392"


def workload(**changed: Any) -> dict[str, Any]:
    fresh: dict[str, Any] = {
        "id": ID,
        "name": "train",
        "jobName": "gw-f8f85945219f4b9eac70805900bab392-1",
        "status": "PENDING",
        "phase": "QUEUED",
        "reason": "WAITING_FOR_GPUS",
        "message": "needs 8 GPUs on one server",
        "succeeded": None,
        "exitCode": None,
        "signal": None,
        "imageReference": "busybox:1.36",
        "command": [],
        "args": ["sh", "-c", "echo hi"],
        "envVars": [{"name": "A", "value": "secret"}, {"name": "B", "value": "x"}],
        "gpuCount": 8,
        "cpu": "4",
        "memoryBytes": 16 * 2**30,
        "timeoutSeconds": 3600,
        "startTimeoutSeconds": 1800,
        "queueTimeoutSeconds": None,
        "maxRetries": 2,
        "priority": "VERY_HIGH",
        "preemptible": False,
        "cuda": None,
        "labels": [],
        "mounts": [],
        "sharedMemoryBytes": None,
        "gpuRequirements": None,
        "server": None,
        "cluster": None,
        "gpus": [],
        "project": None,
        "submittedBy": "owner@example.org",
        "retryOf": None,
        "createdAt": (NOW - timedelta(seconds=192)).isoformat(),
        "startedAt": None,
        "completedAt": None,
        "cancelRequestedAt": None,
        "queue": None,
        "waitTotals": [],
        "attempts": [],
        "events": [],
    }
    return fresh | changed


ENDED = workload(
    status="COMPLETED",
    phase="COMPLETED",
    exitCode=139,
    signal=11,
    server="gpu-2",
    cluster="east",
    startedAt=(NOW - timedelta(seconds=90)).isoformat(),
    completedAt=(NOW - timedelta(seconds=30)).isoformat(),
    project={"slug": "vision", "name": "Computer vision"},
    message="ended with exit code 139 (signal 11, SIGSEGV)",
)


def test_the_list():
    assert lines(views.workloads_table([workload(), ENDED], NOW, wide=False)) == [
        f"{'ID':<36}   NAME    STATUS      EXIT   GPUS   SERVER   AGE     MESSAGE",
        f"{ID}   train   pending     -      8      -        3m12s   needs 8 GPUs on one server",
        f"{ID}   train   completed   139    8      gpu-2    3m12s   ended with exit code 139 (signal 11, SIGSEGV)",
    ]


def test_the_wide_list_has_more():
    header, row = lines(views.workloads_table([ENDED], NOW, wide=True))
    assert (
        " ".join(header.split()) == "ID NAME STATUS EXIT GPUS SERVER AGE CLUSTER PRIORITY RAN PROJECT BY IMAGE MESSAGE"
    )
    assert row.split()[6:14] == ["3m12s", "east", "very", "high", "1m", "vision", "owner@example.org", "busybox:1.36"]


@pytest.mark.parametrize(
    ("status", "phase", "shown"),
    [
        ("RUNNING", "RUNNING", "running"),
        ("PENDING", "INITIALIZING", "pending"),
        ("RUNNING", "STOPPING", "running (stopping)"),
        ("RUNNING", "UNKNOWN", "running (unknown)"),
        ("TIMEOUT", "TIMED_OUT", "timeout"),
    ],
)
def test_the_phase_where_it_says_more(status: str, phase: str, shown: str):
    assert views.status(workload(status=status, phase=phase)) == shown


def test_details_name_variables_without_their_values():
    facts = dict(views.details(workload(), NOW))
    assert facts["environment"] == "A, B"
    assert "secret" not in str(facts)
    assert facts["args"] == "sh -c 'echo hi'"
    assert facts["GPUs"] == "8: not known yet"
    assert facts["CPU, memory"] == "4, 16Gi"
    assert facts["priority"] == "very high"
    assert facts["limits"] == "run 1h, start 30m, waiting none, 2 retries"
    assert facts["submitted"] == "2026-11-30 11:56:48 UTC, 3m12s ago by owner@example.org"
    assert {"server", "cluster", "exit code", "started", "ended", "ran", "project", "command"}.isdisjoint(facts)


def test_details_of_what_was_asked_for():
    mounts = [{"name": "data", "path": "/data", "readOnly": True}, {"name": "out", "path": "/out", "readOnly": False}]
    labels = [{"key": "team", "value": "a"}, {"key": "empty", "value": ""}]
    asked = workload(cuda="12.4", sharedMemoryBytes=8 * 2**30, mounts=mounts, labels=labels)
    facts = dict(views.details(asked, NOW))
    assert facts["mounts"] == "data:/data:ro, out:/out"
    assert facts["labels"] == "team=a, empty="
    assert dict(views.details(workload(preemptible=True), NOW))["priority"] == "very high, preemptible"
    assert (facts["CUDA"], facts["shared memory"]) == ("12.4", "8Gi")


def test_details_of_what_the_gpus_must_be():
    nothing: dict[str, Any] = {
        "products": [],
        "memoryBytes": None,
        "computeCapability": None,
        "migProfile": None,
        "shared": False,
    }
    whole = {**nothing, "products": ["H100", "A100"], "memoryBytes": 40 * 10**9, "computeCapability": "8.0"}
    words = "H100 or A100, memory 40G or more, compute capability 8.0 or higher"
    assert dict(views.details(workload(gpuRequirements=whole), NOW))["GPUs must be"] == words
    part = {**nothing, "migProfile": "1g.10gb", "shared": True}
    assert dict(views.details(workload(gpuRequirements=part), NOW))["GPUs must be"] == "shared, MIG slices 1g.10gb"


def test_where_it_stands():
    promised = (NOW + timedelta(minutes=90)).isoformat()
    suggestion = {"message": "fits now on gpu-3 with cpu <= 30"}
    queue = {"position": 3, "total": 17, "promisedStart": None, "promisedServer": None, "couldStartNow": [suggestion]}
    found = dict(views.details(workload(queue=queue), NOW))
    assert (found["queue"], found["sooner"]) == ("no. 3 of 17", "fits now on gpu-3 with cpu <= 30")
    found = dict(views.details(workload(queue=queue | {"promisedStart": promised, "promisedServer": "gpu-1"}), NOW))
    assert found["queue"] == "no. 3 of 17; starts on gpu-1 by 2026-11-30 13:30:00 UTC at the latest, in 1h30m"
    assert (
        dict(views.details(workload(queue=queue | {"position": None}), NOW))["queue"] == "outside the line for a while"
    )


def test_what_would_become_of_a_request():
    assert views.dry_run_lines({"startsNow": True, "message": "would start now, on gpu-1"}, NOW) == [
        "would start now, on gpu-1"
    ]
    suggestion = {"message": "fits now on gpu-3 with 2 GPUs"}
    queue = {"position": 3, "total": 17, "promisedStart": None, "promisedServer": None, "couldStartNow": [suggestion]}
    assert views.dry_run_lines({"startsNow": False, "message": "needs 4 GPUs", "queue": queue}, NOW) == [
        "would wait: needs 4 GPUs",
        "in the queue: no. 3 of 17",
        "fits now on gpu-3 with 2 GPUs",
    ]


def test_what_it_waited_for():
    totals = [{"words": "for GPUs", "seconds": 7_200}, {"words": "behind a reservation", "seconds": 4_260}]
    found = workload(waitTotals=[*totals, {"words": "to be looked at", "seconds": 0}])
    assert dict(views.details(found, NOW))["waited"] == "2h for GPUs, 1h11m behind a reservation"


def test_details_of_an_end():
    facts = dict(views.details(ENDED, NOW))
    assert facts["exit code"] == "139 (signal 11)"
    assert facts["ran"] == "1m"
    assert facts["ended"] == "2026-11-30 11:59:30 UTC, 30s ago"
    assert facts["project"] == "vision (Computer vision)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO, table: Table) -> str:
    Screen(out, io.StringIO()).table(table)
    return out.getvalue()


def test_colour_is_a_terminals_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = Table(("STATUS", "MESSAGE"), (("failed", "\x1b[2J" + "x" * 100),))
    assert "\x1b[31m" in shown(Terminal(), table)
    assert "\x1b[2J" not in shown(Terminal(), table)
    assert "\x1b" not in shown(io.StringIO(), table)
    assert "x" * 100 in shown(io.StringIO(), table)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = shown(Terminal(), table)
    assert "\x1b[31m" not in plain
    assert max(map(len, plain.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())) <= 40
