"""Every kind of workload that the proofs send through, and the one end that each must come to."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNMADE = frozenset({"START_TIMEOUT", "JOB_NOT_CREATED"})
START_LIMIT = 8  # seconds: a cluster that is down for some must have time to say what it waits for


@dataclass(frozen=True)
class Kind:
    """What is submitted, and what must become of it. `cancel`: when it is cancelled, seconds after it was submitted."""

    name: str
    status: str
    reasons: frozenset[str]
    exit_codes: frozenset[int | None]
    executions: frozenset[int] = frozenset({1})
    attempts: frozenset[int] = frozenset({1})
    env: Mapping[str, Any] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    cancel: tuple[float, float] | None = None
    is_slow: bool = False  # half a minute of grace time: for the long form only

    def complaints(self, workload: Mapping[str, Any], executions: int) -> list[str]:
        """What is not as it must be, in words."""
        types = [event["type"] for event in workload["events"]]
        expected = {
            "status": (workload["status"], {self.status}),
            "reason": (workload["reason"], self._reasons(workload)),
            "exit code": (workload["exitCode"], self.exit_codes),
            "executions": (executions, self.executions),
            "attempts": (len(workload["attempts"]), self.attempts),
            "ENDED events": (types.count("ENDED"), {1}),
            "last event": (types[-1], {"ENDED"}),
            "status of the last event": (workload["events"][-1]["status"], {workload["status"]}),
        }
        wrong = [
            f"{what} {found}, not {sorted(right, key=str)}"
            for what, (found, right) in expected.items()
            if found not in right
        ]
        return [f"{self.name} {workload['id']}: {words} ({workload['message']})" for words in wrong]

    def _reasons(self, workload: Mapping[str, Any]) -> frozenset[str]:
        """What keeps a pod from its start can't be known where the start limit passed before there was one."""
        had_pod = all(attempt["podName"] for attempt in workload["attempts"])
        return self.reasons if had_pod or "startTimeoutSeconds" not in self.wanted else UNMADE


def _exits(name: str, code: int, **env: Any) -> Kind:
    env = {"SIM_EXIT_CODE": code, **env}
    return Kind(name, "COMPLETED", frozenset({"EXITED"}), frozenset({code}), env=env)


def _never_starts(name: str, reason: str, *, limit: int | None = START_LIMIT) -> Kind:
    wanted = {"startTimeoutSeconds": limit} if limit else {}
    codes: frozenset[int | None] = frozenset({None})
    return Kind(name, "FAILED", frozenset({reason}), codes, frozenset({0}), env={"SIM_OUTCOME": name}, wanted=wanted)


def _fails(name: str, *reasons: str, code: frozenset[int | None] = frozenset({143, 137})) -> Kind:
    """Something happens to it from outside, in time before its own end although the cluster be down for some."""
    return Kind(name, "FAILED", frozenset(reasons), code, env={"SIM_OUTCOME": name, "SIM_SECONDS": 8})


_ANY_STOP: frozenset[int | None] = frozenset({None, 137, 143})
_CANCELLED = frozenset({"CANCELLED_BY_USER"})

KINDS = (
    _exits("exit 0", 0),
    _exits("exit 7", 7),
    _exits("short", 3, SIM_SECONDS=0.2),
    _exits("long", 0, SIM_SECONDS=6),
    _exits("segfault", 139, SIM_OUTCOME="segfault"),
    Kind("oom", "FAILED", frozenset({"OUT_OF_MEMORY"}), frozenset({137}), env={"SIM_OUTCOME": "oom"}),
    Kind(
        "oom with code 0",
        "FAILED",
        frozenset({"OUT_OF_MEMORY"}),
        frozenset({0}),
        env={"SIM_OUTCOME": "oom", "SIM_EXIT_CODE": 0},
    ),
    Kind(
        "start-error",
        "FAILED",
        frozenset({"START_ERROR"}),
        frozenset({128}),
        frozenset({0}),
        env={"SIM_OUTCOME": "start-error"},
    ),
    _never_starts("image-invalid", "IMAGE_INVALID", limit=None),
    _never_starts("image-missing", "IMAGE_PULL_FAILED"),
    _never_starts("config-error", "CONFIGURATION_ERROR"),
    _never_starts("never-starts", "START_TIMEOUT"),
    Kind(
        "refused",
        "FAILED",
        frozenset({"NODE_REFUSED"}),
        frozenset({None}),
        frozenset({0}),
        frozenset({3}),
        env={"SIM_OUTCOME": "admission-error"},
    ),
    _fails("evicted", "EVICTED"),
    _fails("preempted", "PREEMPTED"),
    _fails("drain", "EVICTED"),
    _fails("pod-deleted", "POD_DELETED"),
    _fails("job-deleted", "JOB_DELETED"),
    Kind(
        "timeout",
        "TIMEOUT",
        frozenset({"RUN_TIMEOUT"}),
        frozenset({137, 143}),
        env={"SIM_SECONDS": 600},
        wanted={"timeoutSeconds": 2},
    ),
    Kind(
        "cancelled at once",
        "CANCELLED",
        _CANCELLED,
        _ANY_STOP,
        frozenset({0, 1}),
        frozenset({0, 1}),
        env={"SIM_SECONDS": 600},
        cancel=(0.0, 0.3),
    ),
    Kind(
        "cancelled",
        "CANCELLED",
        _CANCELLED,
        _ANY_STOP,
        frozenset({0, 1}),
        frozenset({0, 1}),
        env={"SIM_SECONDS": 600},
        cancel=(0.5, 6.0),
    ),
    Kind(
        "cancelled, ignores SIGTERM",
        "CANCELLED",
        _CANCELLED,
        _ANY_STOP,
        frozenset({0, 1}),
        frozenset({0, 1}),
        env={"SIM_SECONDS": 600, "SIM_IGNORE_TERM": 1},
        cancel=(1.0, 3.0),
        is_slow=True,
    ),
)


def submission(kind: Kind, chance: random.Random) -> dict[str, Any]:
    """The fields of one submission. What ends by itself does so at slightly different times."""
    env = {"SIM_SECONDS": round(chance.uniform(0.3, 2.5), 2), **kind.env}
    return {"gpuCount": chance.choice((1, 1, 1, 2, 4)), **kind.wanted, "env": env}
