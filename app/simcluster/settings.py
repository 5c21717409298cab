"""Every number of the simulation, so that tests can make them small. Read once, at start."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds. A comment names the real cluster's value where this one differs."""

    # containers
    run_seconds: float = 5.0  # SIM_SECONDS, where a container doesn't say
    pull_seconds: float = 0.2  # SIM_PULL_SECONDS likewise
    start_seconds: float = 0.05  # from the image's arrival to the container's start
    term_seconds: float = 0.1  # how long a container takes to end on SIGTERM
    retry_seconds: float = 2.0  # between ErrImagePull and ImagePullBackOff (real: 10 to 300)
    finish_seconds: float = 0.02  # from the last container's end to the pod's (real: about 1)
    log_seconds: float = 60.0  # how long the log of an ended and then deleted pod stays (real: to the next minute)
    restart_seconds: float = 1.0  # before a restart with restartPolicy OnFailure (real: 10, doubling)
    log_lines: int = 5  # SIM_LOG_LINES, where a container doesn't say
    max_log_lines: int = 100_000

    # nodes
    lease_seconds: float = 10.0
    heartbeat_seconds: float = 60.0  # node status without a change (real: 300)
    node_grace_seconds: float = 3.0  # without heartbeats until NotReady and its taints (real: 50)
    toleration_seconds: int = 3  # put into pods for not-ready and unreachable (real: 300)
    vanished_node_seconds: float = 3.0  # until pods of a deleted node are removed (real: 40)
    pod_gc_seconds: float = 1.0  # until a deleted pod without a node is called failed (real: 20)

    # controllers
    pod_retry_seconds: float = 1.0  # before a failed Job's next pod; doubles (real: 10)
    pod_retry_max_seconds: float = 60.0  # (real: 600)
    reschedule_seconds: float = 0.2  # between two tries to place the pods that fit nowhere
    sweep_seconds: float = 30.0  # between two looks for old events and surplus finished pods
    event_ttl_seconds: float = 3600.0
    max_events: int = 20_000
    max_terminated_pods: int = 12_500

    # the API server
    history: int = 10_000  # changes of one kind that a watch can go back
    bookmark_seconds: float = 60.0
    watch_seconds: float = 1800.0  # where the client names no timeout
    pages: int = 64  # paged lists kept at a time
    page_seconds: float = 300.0  # and for how long
    compact_bytes: int = 64 * 1024 * 1024  # journal size that is written anew

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Settings:
        known = {field.name: type(getattr(cls(), field.name)) for field in fields(cls)}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"unknown settings {', '.join(unknown)}; known are {', '.join(known)}")
        converted: dict[str, Any] = {name: known[name](value) for name, value in values.items()}
        return cls(**converted)
