"""Filters of events: every field of the table is one of an event, and what is left passes all conditions."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.domain.errors import InvalidInputError
from app.domain.event_filters import EVENT_FIELDS, parse_event_conditions, passes
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Event, EventType
from tests.clock import START

EVENT = Event(
    workload_id=UUID(int=7),
    type=EventType.ENDED,
    status=Status.COMPLETED,
    phase=Phase.COMPLETED,
    reason=Reason.EXITED,
    message="ended with exit code 3",
    at=START,
    attempt=1,
    exit_code=3,
    server="gpu-1",
    organization_id=UUID(int=1),
    sequence=5,
)


@pytest.mark.parametrize(
    ("expressions", "is_let_through"),
    [
        ([], True),
        (["type==ENDED"], True),
        (["type!=ended"], False),
        (["status==completed", "reason==EXITED", "phase==COMPLETED"], True),
        (["exitCode>=1", "exitCode<=2"], False),
        (["server=^gpu-", "message=@code 3"], True),
        ([f"workloadId=={UUID(int=7)}"], True),
        ([f"workloadId=={UUID(int=8)}"], False),
        ([f"at>={START.isoformat()}", "attempt==1"], True),
        (["server=="], False),
    ],
)
def test_what_passes(expressions: list[str], is_let_through: bool):
    assert passes(EVENT, parse_event_conditions(expressions)) is is_let_through


@pytest.mark.parametrize("name", EVENT_FIELDS)
def test_every_field_can_be_asked_for(name: str):
    assert passes(EVENT, parse_event_conditions([f"{name}!="]))


def test_a_field_of_workloads_is_none_of_events():
    with pytest.raises(InvalidInputError, match="there is no field 'gpuCount'; there are workloadId, type"):
        parse_event_conditions(["gpuCount>=1"])
