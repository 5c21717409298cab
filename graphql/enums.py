"""The domain's enums as the API spells them, in upper case. Import them from here, so that they are registered."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from app.domain.people import Role, Scope
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType

__all__ = ["EventType", "Phase", "Reason", "Role", "Scope", "Status"]

E = TypeVar("E", bound=StrEnum)

_REASONS = {
    Reason.SUBMITTED: "accepted; not yet looked at",
    Reason.WAITING_FOR_GPUS: "no server has enough free GPUs",
    Reason.WAITING_FOR_CPU_OR_MEMORY: "a server has the GPUs free, but not the CPU or memory",
    Reason.NO_USABLE_SERVER: "every server that is large enough is closed to new work",
    Reason.DRIVER_TOO_OLD: "no server's driver runs the CUDA version of the image",
    Reason.NEVER_FITS: "no server is large enough, free or not",
    Reason.BACKING_OFF: "an attempt failed for no fault of its own; another server is tried after a pause",
    Reason.CLUSTER_REFUSED: "the cluster did not take its Job; it is tried again",
    Reason.PLACED: "a server is chosen; its Job is being created",
    Reason.STARTING: "its pod is being started",
    Reason.PULLING_IMAGE: "its server is fetching the image",
    Reason.EXECUTING: "its container is executing",
    Reason.CANCEL_REQUESTED: "a cancel was asked for; the cluster has not confirmed it yet",
    Reason.SERVER_UNREACHABLE: "its server does not answer",
    Reason.EXITED: "its container ended by itself",
    Reason.CANCELLED_BY_USER: "it was cancelled",
    Reason.RUN_TIMEOUT: "it ran longer than `timeoutSeconds`",
    Reason.START_TIMEOUT: "it did not execute within `startTimeoutSeconds`",
    Reason.QUEUE_TIMEOUT: "it found no server within `queueTimeoutSeconds`",
    Reason.OUT_OF_MEMORY: "it was killed for using more memory than its limit",
    Reason.IMAGE_INVALID: "the image's name can't be used",
    Reason.IMAGE_PULL_FAILED: "the image could not be fetched",
    Reason.CONFIGURATION_ERROR: "its container could not be set up",
    Reason.START_ERROR: "its command could not be started",
    Reason.EVICTED: "its server put it out",
    Reason.PREEMPTED: "it made room for something of higher priority",
    Reason.NODE_LOST: "its server was lost",
    Reason.NODE_REFUSED: "its server did not admit it",
    Reason.POD_DELETED: "its pod was deleted by somebody",
    Reason.JOB_DELETED: "its Job was deleted by somebody",
    Reason.JOB_REFUSED: "its Job failed before it had a pod",
}
_EVENT_TYPES = {
    EventType.SUBMITTED: "it was accepted",
    EventType.WAITING: "why it waits is another reason than before",
    EventType.PLACED: "a server was chosen",
    EventType.PROGRESSED: "it came nearer to its start, or its server's state changed",
    EventType.STARTED: "its container executes",
    EventType.CANCEL_REQUESTED: "someone asked to cancel it",
    EventType.STOPPING: "it is being stopped",
    EventType.RETRYING: "an attempt is over; another one is made",
    EventType.ENDED: "it reached its end; the last event of every workload, and there is one",
}
_ROLES = {
    Role.OWNER: "uses GPU workloads and manages the organization",
    Role.ADMIN: "uses GPU workloads",
    Role.MEMBER: "belongs to the organization; GPU workloads are not for members",
    Role.VIEWER: "sees the organization; GPU workloads are not for viewers",
}
_SCOPES = {
    Scope.WORKLOADS_READ: "read workloads, servers and events",
    Scope.WORKLOADS_WRITE: "submit and cancel workloads, and read them",
    Scope.ORGANIZATION_ADMIN: "manage the organization",
}


def _register(enum: type[E], name: str, description: str, meanings: Mapping[E, str]) -> None:
    """Descriptions are set on the definition: the domain's members stay what they are."""
    strawberry.enum(enum, name=name, description=description)
    definition: StrawberryEnumDefinition = enum.__strawberry_definition__  # type: ignore[attr-defined]
    for value in definition.values:
        meaning = meanings[enum[value.name]]
        value.description = f"{meaning[0].upper()}{meaning[1:]}."


_register(Status, "WorkloadStatus", "What a caller may build on.", {s: s.meaning for s in Status})
_register(Phase, "WorkloadPhase", "Finer than the status; for display.", {p: p.meaning for p in Phase})
_register(Reason, "WorkloadReason", "Why the state holds.", _REASONS)
_register(EventType, "WorkloadEventType", "What an event says.", _EVENT_TYPES)
_register(Role, "Role", "What a person is in an organization.", _ROLES)
_register(Scope, "TokenScope", "What a token may be used for.", _SCOPES)
