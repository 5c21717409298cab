"""The domain's enums as the API spells them, in upper case. Import them from here, so that they are registered."""

from __future__ import annotations

from typing import TypeVar

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from agent.report import DriverState, Health, HealthReason
from app.domain.actions import DEPRECATED, Action
from app.domain.agents import Freshness
from app.domain.filters import SortField
from app.domain.metrics import MetricType as WorkloadMetricType
from app.domain.people import Role, Scope
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.tallies import TallyGroup as TelemetryGroup
from app.domain.tallies import TallyType as TelemetryType
from app.domain.usage import Period, UsageGroup
from app.domain.volumes import VolumeKind
from app.domain.workload import EventType
from app.placement.relax import Change as SuggestedChange

__all__ = [
    "Action",
    "DriverState",
    "EventType",
    "Freshness",
    "Health",
    "HealthReason",
    "Period",
    "Phase",
    "Priority",
    "Reason",
    "Role",
    "Scope",
    "SortField",
    "Status",
    "SuggestedChange",
    "TelemetryGroup",
    "TelemetryType",
    "UsageGroup",
    "VolumeKind",
    "WorkloadMetricType",
]

E = TypeVar(
    "E",
    Action,
    Status,
    Phase,
    Reason,
    EventType,
    Role,
    Scope,
    SortField,
    VolumeKind,
    Priority,
    Health,
    HealthReason,
    DriverState,
    Freshness,
    WorkloadMetricType,
    TelemetryType,
    TelemetryGroup,
    Period,
    UsageGroup,
    SuggestedChange,
)


def _register(enum: type[E], name: str, description: str) -> None:
    """Descriptions are set on the definition: the domain's members stay what they are."""
    strawberry.enum(enum, name=name, description=description)
    definition: StrawberryEnumDefinition = enum.__strawberry_definition__  # type: ignore[attr-defined]
    for value in definition.values:
        meaning = enum[value.name].meaning
        value.description = f"{meaning[0].upper()}{meaning[1:]}."


_register(Status, "WorkloadStatus", "What a caller may build on.")
_register(Phase, "WorkloadPhase", "Finer than the status; for display.")
_register(Reason, "WorkloadReason", "Why the state holds.")
_register(EventType, "WorkloadEventType", "What an event says.")
_register(Action, "WorkloadAction", "What may be asked of a workload. A mutation each.")
_register(Role, "Role", "What a person is in an organization.")
_register(Scope, "TokenScope", "What a token may be used for.")
_register(SortField, "WorkloadSortField", "What the list of workloads can be sorted by.")
_register(Priority, "WorkloadPriority", "How urgent a workload is: a higher class goes before all of a lower one.")
_register(VolumeKind, "VolumeKind", "What a volume is.")
_register(Health, "GpuHealth", "How a GPU is.")
_register(HealthReason, "GpuHealthReason", "Why a GPU is not OK.")
_register(DriverState, "DriverState", "Whether a server's agent can see GPUs at all.")
_register(Freshness, "AgentFreshness", "How long ago a server's agent was last heard.")
for _value in Action.__strawberry_definition__.values:  # type: ignore[attr-defined]
    if _instead := DEPRECATED.get(Action[_value.name]):
        _value.deprecation_reason = f"Use `WorkloadAction.{_instead.name}`. May go from 1.0.0."
_register(WorkloadMetricType, "WorkloadMetricType", "What is measured of a workload's GPUs and of its pod.")
_register(TelemetryType, "TelemetryType", "Which numbers about an organization.")
_register(TelemetryGroup, "TelemetryGroup", "By what numbers of one moment can be grouped.")
_register(Period, "Period", "Periods of the calendar.")
_register(UsageGroup, "UsageGroup", "By what usage can be grouped.")
_register(SuggestedChange, "SuggestedChange", "What could be asked for otherwise, so that a workload starts now.")
