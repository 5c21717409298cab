"""Filters of an organization's events: `filterBy: ["type==ENDED", "server=^gpu-"]`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.filters import Condition, Kind, ListField, Value, choice_field, parse_conditions
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Event, EventType

EVENT_FIELDS: Mapping[str, ListField] = {
    field.name: field
    for field in (
        ListField("workloadId", Kind.ID),
        choice_field("type", EventType),
        choice_field("status", Status),
        choice_field("phase", Phase),
        choice_field("reason", Reason),
        ListField("message", Kind.TEXT),
        ListField("at", Kind.MOMENT),
        ListField("attempt", Kind.NUMBER),
        ListField("exitCode", Kind.NUMBER),
        ListField("server", Kind.TEXT),
    )
}


def parse_event_conditions(expressions: Sequence[str]) -> tuple[Condition, ...]:
    """As `parse_conditions`, for the fields of events."""
    return parse_conditions(expressions, EVENT_FIELDS)


def passes(event: Event, conditions: Sequence[Condition]) -> bool:
    """Whether all conditions hold for the event."""
    return all(condition.holds(_value(event, condition.field.name)) for condition in conditions)


def _value(event: Event, name: str) -> Value | None:
    values: dict[str, Value | None] = {
        "workloadId": event.workload_id,
        "type": event.type.value,
        "status": event.status.value,
        "phase": event.phase.value,
        "reason": event.reason.value,
        "message": event.message,
        "at": event.at,
        "attempt": event.attempt,
        "exitCode": event.exit_code,
        "server": event.server or None,
    }
    return values[name]
