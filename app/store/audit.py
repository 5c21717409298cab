"""The audit trail: who did what, and who was refused what. A refusal writes nothing else."""

from __future__ import annotations

from datetime import datetime

from app.store.models import AuditRow


async def record(
    *, at: datetime, actor: str, action: str, organization: str, outcome: str, target: str = "", detail: str = ""
) -> None:
    """`outcome` is `done`, or the code of the refusal."""
    await AuditRow.create(
        at=at,
        actor=actor[:254],
        action=action,
        organization_slug=organization[:80],
        outcome=outcome,
        target=target[:80],
        detail=detail[:2000],
    )
