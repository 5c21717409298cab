"""The domain's enums as the API spells them, in upper case. Import them from here, so that they are registered."""

from __future__ import annotations

import strawberry

from app.domain.people import Role, Scope
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType

__all__ = ["EventType", "Phase", "Reason", "Role", "Scope", "Status"]

strawberry.enum(Status, name="WorkloadStatus", description="What a caller may build on.")
strawberry.enum(Phase, name="WorkloadPhase", description="Finer than the status; for display.")
strawberry.enum(Reason, name="WorkloadReason", description="Why the state holds.")
strawberry.enum(EventType, name="WorkloadEventType", description="What an event says.")
strawberry.enum(Role, description="What a person is in an organization.")
strawberry.enum(Scope, name="TokenScope", description="What a token may be used for.")
