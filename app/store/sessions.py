"""Sessions of people in a browser. Of the secret in the cookie only the hash is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.store.models import SessionRow


@dataclass(frozen=True)
class StoredSession:
    """A session of a person who is not disabled. When it ends by time is `app.auth.sessions`' business."""

    id: UUID
    user_id: UUID
    email: str
    last_seen_at: datetime
    expires_at: datetime


async def add_session(secret_hash: str, user_id: UUID, at: datetime, expires_at: datetime) -> UUID:
    row = await SessionRow.create(
        secret_hash=secret_hash, user_id=user_id, created_at=at, last_seen_at=at, expires_at=expires_at
    )
    return row.id


async def find_session(secret_hash: str) -> StoredSession | None:
    row = await SessionRow.get_or_none(secret_hash=secret_hash).select_related("user")
    if row is None or row.user.disabled_at is not None:
        return None
    return StoredSession(row.id, row.user.id, row.user.email, row.last_seen_at, row.expires_at)


async def touch_session(session_id: UUID, at: datetime) -> None:
    await SessionRow.filter(id=session_id).update(last_seen_at=at)


async def end_session(secret_hash: str) -> bool:
    return await SessionRow.filter(secret_hash=secret_hash).delete() == 1


async def drop_sessions(*, expired_at: datetime, unseen_since: datetime) -> int:
    """Forget what is over by time anyway, so that the table stays small."""
    expired = await SessionRow.filter(expires_at__lte=expired_at).delete()
    return expired + await SessionRow.filter(last_seen_at__lte=unseen_since).delete()
