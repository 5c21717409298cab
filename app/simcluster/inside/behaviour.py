"""What a simulated container does: read from its own environment variables. Pure.

The table of SIM_* variables is in docs/simulated-cluster.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from app.simcluster.meta import Json
from app.simcluster.settings import Settings


class Outcome(StrEnum):
    EXIT = "exit"
    OOM = "oom"
    SEGFAULT = "segfault"
    SIGKILL = "sigkill"
    SIGTERM = "sigterm"
    START_ERROR = "start-error"
    NEVER_STARTS = "never-starts"
    IMAGE_MISSING = "image-missing"
    IMAGE_UNAUTHORIZED = "image-unauthorized"
    IMAGE_INVALID = "image-invalid"
    REGISTRY_DOWN = "registry-down"
    CONFIG_ERROR = "config-error"
    ADMISSION_ERROR = "admission-error"
    OUT_OF_CPU = "out-of-cpu"
    SHUTTING_DOWN = "shutting-down"
    WEBHOOK_DENIED = "webhook-denied"
    WEBHOOK_DOWN = "webhook-down"
    POLICY_DENIED = "policy-denied"
    POD_DENIED = "pod-denied"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_SHUTDOWN = "node-shutdown"
    NODE_LOST = "node-lost"
    DRAIN = "drain"
    POD_DELETED = "pod-deleted"
    JOB_DELETED = "job-deleted"


# What happens to a running container from outside, SIM_SECONDS after its start. Left alone it would have
# gone on for as long again.
FROM_OUTSIDE = frozenset(
    {
        Outcome.EVICTED,
        Outcome.PREEMPTED,
        Outcome.NODE_SHUTDOWN,
        Outcome.NODE_LOST,
        Outcome.DRAIN,
        Outcome.POD_DELETED,
        Outcome.JOB_DELETED,
    }
)


@dataclass(frozen=True, slots=True)
class Exit:
    """Somebody has the container end: at `at`, with exit code `code`."""

    at: float
    code: int


@dataclass(frozen=True, slots=True)
class Behaviour:
    seconds: float
    pull_seconds: float
    log_lines: int
    log_text: str = ""
    exit_code: int | None = None  # None: the outcome's own
    ignore_term: bool = False
    outcome: Outcome = Outcome.EXIT
    node_back_seconds: float | None = None
    told: Exit | None = None  # not by its environment, but while it runs
    problem: str = ""  # a setting that can't be read; the container fails to start and says so


def behaviour_of(container: Json, settings: Settings) -> Behaviour:
    env = container_env(container)
    default = Behaviour(settings.run_seconds, settings.pull_seconds, settings.log_lines)
    try:
        return _read(env, default, settings)
    except ValueError as error:
        return Behaviour(0.0, settings.pull_seconds, 0, problem=str(error))


def _read(env: dict[str, str], default: Behaviour, settings: Settings) -> Behaviour:
    code = _number(env, "SIM_EXIT_CODE", None)
    lines = _number(env, "SIM_LOG_LINES", 0.0 if "SIM_LOG_TEXT" in env else float(default.log_lines)) or 0
    return Behaviour(
        seconds=_number(env, "SIM_SECONDS", default.seconds) or 0.0,
        pull_seconds=_number(env, "SIM_PULL_SECONDS", default.pull_seconds) or 0.0,
        log_lines=min(int(lines), settings.max_log_lines),
        log_text=env.get("SIM_LOG_TEXT", ""),
        exit_code=None if code is None else int(code) % 256,
        ignore_term=env.get("SIM_IGNORE_TERM", "") in {"1", "true"},
        outcome=_outcome(env.get("SIM_OUTCOME") or Outcome.EXIT),
        node_back_seconds=_number(env, "SIM_NODE_BACK_SECONDS", None),
    )


def _number(env: dict[str, str], name: str, default: float | None) -> float | None:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} must be a number of at least 0, not {text!r}")
    return value


def _outcome(text: str) -> Outcome:
    try:
        return Outcome(text)
    except ValueError:
        allowed = ", ".join(Outcome)
        raise ValueError(f"SIM_OUTCOME {text!r} is not known; allowed are {allowed}") from None


def container_env(container: Json) -> dict[str, str]:
    """The variables as the container would see them. Values from elsewhere (valueFrom) are left out."""
    env: dict[str, str] = {}
    for item in container.get("env") or []:
        if "valueFrom" not in item:
            env[item["name"]] = expand(item.get("value") or "", env)
    return env


_REFERENCE = re.compile(r"\$(\$|\(([^)]*)\))")


def expand(text: str, env: dict[str, str]) -> str:
    """Kubernetes' expansion: `$(NAME)` of an earlier variable, `$$` for `$`, unknown names stay."""

    def replace(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return env.get(match[2], match[0])

    return _REFERENCE.sub(replace, text)
