"""A person's session: begun at sign-in, looked up at every request, ended by time, by the person, or by disabling.

The cookie holds a random secret; the database holds its hash. Form tokens are derived from the secret, so nothing
else has to be kept for them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from app.auth.secrets import hash_token
from app.domain.people import Principal
from app.store import people, sessions

IDLE_LIMIT = timedelta(hours=12)
ABSOLUTE_LIMIT = timedelta(days=7)
_TOUCH_EVERY = timedelta(minutes=1)  # a write for each request would be one too many
_LONGEST_SECRET = 200


@dataclass(frozen=True)
class Session:
    """Who is signed in, and the token that this session's forms carry. The secret stays out of the repr."""

    principal: Principal
    secret: str = field(repr=False)

    @property
    def form_token(self) -> str:
        return form_token(self.secret)


def new_secret() -> str:
    """256 random bits for a cookie."""
    return secrets.token_urlsafe(32)


async def begin(user_id: UUID, now: datetime, *, instead_of: str = "") -> str:
    """A new session's secret. What the browser had before ends: a planted or stolen one is worth nothing then."""
    await end(instead_of)
    await sessions.drop_sessions(expired_at=now, unseen_since=now - IDLE_LIMIT)
    secret = new_secret()
    await sessions.add_session(hash_token(secret), user_id, now, now + ABSOLUTE_LIMIT)
    return secret


async def resume(secret: str, now: datetime, *, by_person: bool = True) -> Session | None:
    """The session of a cookie, with the roles of this moment; None once it has ended.

    `by_person` is False for what a page asks by itself: an open tab alone must not keep a session from idling out.
    """
    if not secret or len(secret) > _LONGEST_SECRET:
        return None
    found = await sessions.find_session(hash_token(secret))
    if found is None or now >= found.expires_at or now >= found.last_seen_at + IDLE_LIMIT:
        return None
    if by_person and now >= found.last_seen_at + _TOUCH_EVERY:
        await sessions.touch_session(found.id, now)
    roles = await people.roles_of(found.user_id)
    return Session(Principal(found.email, roles, user_id=found.user_id, email=found.email), secret)


async def end(secret: str) -> None:
    """Over at once, streams included: each looks its session up again every few seconds."""
    if secret:
        await sessions.end_session(hash_token(secret))


def form_token(secret: str) -> str:
    """What a form must carry. Whoever can't read the cookie can't make it."""
    return hmac.new(secret.encode(), b"form token", hashlib.sha256).hexdigest()


def is_form_token(secret: str, given: str) -> bool:
    return bool(secret) and hmac.compare_digest(form_token(secret).encode(), given.encode())
