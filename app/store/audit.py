"""The audit trail: who did what, and who was refused what. A refusal writes nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from app.store.mapping import storable
from app.store.models import AuditRow


async def first_noted(action: str, targets: Iterable[str]) -> dict[str, datetime]:
    """When each target was first noted with the action; who never was is missing."""
    rows = await AuditRow.filter(action=action, target__in=list(targets)).order_by("-id").values_list("target", "at")
    return {str(target): at for target, at in rows if isinstance(at, datetime)}


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
