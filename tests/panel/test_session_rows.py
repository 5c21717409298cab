"""Sessions in both databases."""

from __future__ import annotations

from datetime import timedelta

from app.store import people, sessions
from app.store.database import Database
from app.store.models import SessionRow
from tests.clock import START

LATER = START + timedelta(days=7)


async def test_a_session_lives_until_it_is_ended(database: Database):
    user = await people.add_user("ada@example.org", "hash", START)
    await sessions.add_session("a" * 64, user.id, START, LATER)
    found = await sessions.find_session("a" * 64)
    assert found is not None
    assert (found.user_id, found.email, found.last_seen_at, found.expires_at) == (user.id, user.email, START, LATER)
    await sessions.touch_session(found.id, START + timedelta(hours=1))
    touched = await sessions.find_session("a" * 64)
    assert touched is not None
    assert touched.last_seen_at == START + timedelta(hours=1)
    assert await sessions.end_session("a" * 64)
    assert not await sessions.end_session("a" * 64)
    assert await sessions.find_session("a" * 64) is None


async def test_what_is_over_by_time_is_dropped_and_nothing_else(database: Database):
    user = await people.add_user("ada@example.org", "hash", START)
    for name, seen, expires in (("a", START, START), ("b", START - timedelta(hours=13), LATER), ("c", START, LATER)):
        await sessions.add_session(name * 64, user.id, seen, expires)
    assert await sessions.drop_sessions(expired_at=START, unseen_since=START - timedelta(hours=12)) == 2
    assert [row.secret_hash for row in await SessionRow.all()] == ["c" * 64]
