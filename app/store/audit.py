"""The audit trail: who did what, and who was refused what. A refusal writes nothing else."""

from __future__ import annotations

from datetime import datetime

from app.store.mapping import storable
from app.store.models import AuditRow


async def record(
    *, at: datetime, actor: str, action: str, organization: str, outcome: str, target: str = "", detail: str = ""
) -> None:
    """`outcome` is `done`, or the code of the refusal."""
    await AuditRow.create(
        at=at,
        actor=storable(actor[:254]),
        action=storable(action),
        organization_slug=storable(organization[:80]),
        outcome=storable(outcome),
        target=storable(target[:80]),
        detail=storable(detail[:2000]),
    )
