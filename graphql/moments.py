"""Moments as they come in: with a zone, or in UTC without one, and within what clocks show."""

from __future__ import annotations

from datetime import UTC, datetime

from app.domain.errors import InvalidInputError

_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def moment(field: str, at: datetime) -> datetime:
    """In UTC. Raises InvalidInputError, about `field`, for one that no clock shows."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    if not _EARLIEST <= aware <= _LATEST:
        raise InvalidInputError.of(field, f"{at.isoformat()[:40]} is no time that a clock would show")
    return aware.astimezone(UTC)
