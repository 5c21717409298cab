"""Every end that a workload can come to: how it is brought about, how a cluster shows it, what GPUYard makes of it.

`test_every_end` brings them all about at once; docs/ends.md is printed from here: `python -m tests.e2e.every_end`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

START_LIMIT = {"startTimeoutSeconds": 6}
ENDLESS = {"SIM_SECONDS": 600}
BRIEF = {"SIM_SECONDS": 0.4}


@dataclass(frozen=True)
class End:
    """`shows` is the cluster's own word. `act` names what somebody does to it once it runs (see `test_every_end`).

    `signal` follows from the exit code; `executed` says whether there is a startedAt; `tries` counts the attempts.
    """

    what: str
    shows: str
    status: str
    reason: str
    exit_code: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    words: str = ""
    executed: bool = True
    tries: int = 1
    more: dict[str, Any] = field(default_factory=dict)
    act: str = ""

    @property
    def signal(self) -> int | None:
        return self.exit_code - 128 if self.exit_code is not None and self.exit_code > 128 else None


def sim(outcome: str, **more: Any) -> dict[str, Any]:
    return {"SIM_OUTCOME": outcome, **BRIEF, **more}


def upset(outcome: str, **more: Any) -> dict[str, Any]:
    """Something from outside, late enough to be over long before the container ends by itself."""
    return sim(outcome, **{"SIM_SECONDS": 3, **more})


OWN = [
    End("it ends with 0", "Completed", "COMPLETED", "EXITED", 0, BRIEF, "exit code 0"),
    End("it ends with another code", "Error", "COMPLETED", "EXITED", 3, {**BRIEF, "SIM_EXIT_CODE": 3}, "exit code 3"),
    End("it is killed", "Error", "COMPLETED", "EXITED", 137, sim("sigkill"), "SIGKILL"),
    End("it is asked to end", "Error", "COMPLETED", "EXITED", 143, sim("sigterm"), "SIGTERM"),
    End("it breaks", "Error", "COMPLETED", "EXITED", 139, sim("segfault"), "SIGSEGV"),
    End("it needs too much memory", "OOMKilled", "FAILED", "OUT_OF_MEMORY", 137, sim("oom"), "memory limit of"),
    End(
        "a child of it needs too much memory",
        "OOMKilled",
        "FAILED",
        "OUT_OF_MEMORY",
        0,
        sim("oom", SIM_EXIT_CODE=0),
        "memory limit of",
    ),
    End(
        "its run limit passes",
        "DeadlineExceeded",
        "TIMEOUT",
        "RUN_TIMEOUT",
        143,
        ENDLESS,
        "run limit of 2 s",
        more={"timeoutSeconds": 2},
    ),
    End(
        "a sidecar runs beside it",
        "Error",
        "COMPLETED",
        "EXITED",
        5,
        {**BRIEF, "SIM_EXIT_CODE": 5, "SIM_INJECT": "init,sidecar"},
    ),
]

NEVER_STARTED = [
    End(
        "its program does not exist",
        "StartError",
        "FAILED",
        "START_ERROR",
        128,
        sim("start-error"),
        "executable file not found",
        False,
    ),
    End(
        "its image does not exist",
        "ErrImagePull, ImagePullBackOff",
        "FAILED",
        "IMAGE_PULL_FAILED",
        None,
        sim("image-missing"),
        "not found",
        False,
        more=START_LIMIT,
    ),
    End(
        "its image is not for us",
        "ErrImagePull, ImagePullBackOff",
        "FAILED",
        "IMAGE_PULL_FAILED",
        None,
        sim("image-unauthorized"),
        "401 Unauthorized",
        False,
        more=START_LIMIT,
    ),
    End(
        "the registry is down",
        "ErrImagePull, ImagePullBackOff",
        "FAILED",
        "IMAGE_PULL_FAILED",
        None,
        sim("registry-down"),
        "connection refused",
        False,
        more=START_LIMIT,
    ),
    End(
        "its image's name is malformed",
        "InvalidImageName",
        "FAILED",
        "IMAGE_INVALID",
        None,
        sim("image-invalid"),
        "invalid reference format",
        False,
    ),
    End(
        "a secret that it needs is missing",
        "CreateContainerConfigError",
        "FAILED",
        "CONFIGURATION_ERROR",
        None,
        sim("config-error"),
        'secret "simulated" not found',
        False,
        more=START_LIMIT,
    ),
    End(
        "its container is never created",
        "ContainerCreating",
        "FAILED",
        "START_TIMEOUT",
        None,
        sim("never-starts"),
        "within 6 s of being placed",
        False,
        more=START_LIMIT,
    ),
    End(
        "an init container put in by a webhook fails",
        "PodInitializing",
        "FAILED",
        "CONFIGURATION_ERROR",
        None,
        {"SIM_INJECT": "init-fails"},
        "init container agent-init ended with exit code 7",
        False,
    ),
    End(
        "an init container put in by a webhook has no image",
        "PodInitializing",
        "FAILED",
        "IMAGE_PULL_FAILED",
        None,
        {"SIM_INJECT": "init-missing"},
        "init container agent-init",
        False,
        more=START_LIMIT,
    ),
]

REFUSED = [
    End(
        "a webhook denies its Job",
        "403",
        "FAILED",
        "JOB_REFUSED",
        None,
        sim("webhook-denied"),
        "images must come from",
        False,
    ),
    End(
        "a policy denies its Job",
        "422",
        "FAILED",
        "JOB_REFUSED",
        None,
        sim("policy-denied"),
        "images must come from",
        False,
    ),
    End(
        "a webhook that judges Jobs is down",
        "500",
        "FAILED",
        "JOB_NOT_CREATED",
        None,
        sim("webhook-down"),
        "failed calling webhook",
        False,
        more=START_LIMIT,
    ),
    End(
        "a policy denies its pod",
        "FailedCreate",
        "FAILED",
        "JOB_NOT_CREATED",
        None,
        sim("pod-denied"),
        "images must come from",
        False,
        more=START_LIMIT,
    ),
    End(
        "its servers' device plugins refuse",
        "UnexpectedAdmissionError",
        "FAILED",
        "NODE_REFUSED",
        None,
        sim("admission-error"),
        "given up after 3 tries",
        False,
        3,
    ),
    End(
        "its servers lack what was free",
        "OutOfcpu",
        "FAILED",
        "NODE_REFUSED",
        None,
        sim("out-of-cpu"),
        "OutOfcpu",
        False,
        3,
    ),
    End(
        "its servers shut down before it starts",
        "NodeShutdown",
        "FAILED",
        "NODE_REFUSED",
        None,
        sim("shutting-down"),
        "NodeShutdown",
        False,
        3,
    ),
]

DISTURBED = [
    End(
        "its server runs out of something",
        "Evicted",
        "FAILED",
        "EVICTED",
        137,
        upset("evicted"),
        "The node was low on resource",
    ),
    End(
        "the same, and it may be run again",
        "Evicted",
        "FAILED",
        "EVICTED",
        137,
        upset("evicted"),
        "given up after 2 tries",
        tries=2,
        more={"maxRetries": 1},
    ),
    End("a critical pod takes its place", "Preempting", "FAILED", "PREEMPTED", 143, upset("preempted"), "critical pod"),
    End("its server shuts down", "Terminated", "FAILED", "EVICTED", 143, upset("node-shutdown"), "node shutdown"),
    End(
        "its server is drained",
        "EvictionByEvictionAPI",
        "FAILED",
        "EVICTED",
        143,
        upset("drain"),
        "EvictionByEvictionAPI",
    ),
    End(
        "its server is tainted",
        "DeletionByTaintManager",
        "FAILED",
        "EVICTED",
        143,
        ENDLESS,
        "DeletionByTaintManager",
        act="taint",
    ),
    End(
        "its server is silent for a while",
        "NotReady, then Ready",
        "COMPLETED",
        "EXITED",
        0,
        ENDLESS,
        act="silence",
    ),
    End(
        "its server is silent for too long, and back",
        "DeletionByTaintManager",
        "FAILED",
        "EVICTED",
        143,
        ENDLESS,
        "DeletionByTaintManager",
        act="long_silence",
    ),
    End(
        "its server is removed",
        "DeletionByPodGC",
        "FAILED",
        "NODE_LOST",
        None,
        ENDLESS,
        "DeletionByPodGC",
        act="remove_node",
    ),
    End(
        "somebody deletes its pod",
        "a deletion stamp",
        "FAILED",
        "POD_DELETED",
        143,
        upset("pod-deleted"),
        "its pod was deleted by somebody",
    ),
    End(
        "somebody forces its pod's deletion",
        "a deletion stamp",
        "FAILED",
        "POD_DELETED",
        143,
        ENDLESS,
        "its pod was deleted by somebody",
        act="force_delete",
    ),
    End(
        "somebody deletes its Job",
        "no Job",
        "FAILED",
        "JOB_DELETED",
        143,
        upset("job-deleted"),
        "its Job was deleted by somebody",
    ),
    End(
        "it is cancelled",
        "a deletion stamp",
        "CANCELLED",
        "CANCELLED_BY_USER",
        143,
        ENDLESS,
        "cancelled by",
        act="cancel",
    ),
]

# These need the whole namespace, or a server that is full, and are brought about one after another.
ALONE = [
    End(
        "the quota of its namespace is used up",
        "403",
        "FAILED",
        "JOB_NOT_CREATED",
        None,
        BRIEF,
        "exceeded quota",
        False,
        more=START_LIMIT,
    ),
    End("its namespace is removed", "a deletion stamp", "FAILED", "POD_DELETED", 143, ENDLESS, "deleted by somebody"),
    End("its namespace is gone", "404", "FAILED", "JOB_NOT_CREATED", None, BRIEF, "not found", False, more=START_LIMIT),
    End(
        "it finds no server in time",
        "no Job",
        "FAILED",
        "QUEUE_TIMEOUT",
        None,
        BRIEF,
        "found no server within 2 s",
        False,
        0,
        {"gpuCount": 2, "queueTimeoutSeconds": 2},
    ),
    End(
        "it is cancelled before it is placed",
        "no Job",
        "CANCELLED",
        "CANCELLED_BY_USER",
        None,
        BRIEF,
        "before it was started",
        False,
        0,
        {"gpuCount": 2},
        "cancel",
    ),
]

AT_ONCE = [*OWN, *NEVER_STARTED, *REFUSED, *DISTURBED]
GROUPS = (
    ("It ends by itself, or at its limit", OWN),
    ("It never starts", NEVER_STARTED),
    ("The cluster or a server refuses it", REFUSED),
    ("Somebody or something disturbs it", DISTURBED),
    ("The namespace or the queue", ALONE),
)

_INTRODUCTION = """\
# Every end

This page is printed from the table that `tests/e2e/test_every_end.py` brings about on the simulated cluster
(`python -m tests.e2e.every_end`); what a real Kubernetes showed for them is recorded in `tests/cluster/samples/ends`.
The rules behind it are in [lifecycle.md](lifecycle.md).

The exit code is the container's, with any end where the cluster tells it; above 128 it is a signal's number plus 128.
"Tries" counts attempts: what never executed is tried on three servers, what had executed again while `maxRetries` last.
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, *(line for title, ends in GROUPS for line in _section(title, ends))])


def _section(title: str, ends: list[End]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| what happens | the cluster says | status | reason | exit code | executed | tries |"
    yield "|---|---|---|---|---|---|---|"
    for end in ends:
        code = "" if end.exit_code is None else str(end.exit_code)
        facts = (f"`{end.status}`", f"`{end.reason}`", code, "yes" if end.executed else "no", str(end.tries or ""))
        yield f"| {' | '.join((end.what, end.shows, *facts))} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
