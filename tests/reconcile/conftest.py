"""A world on a fresh SQLite database: what differs between databases is tested in tests/store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from app.store.database import opened
from tests.clock import ManualClock
from tests.reconcile.builders import World, a_world


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged; printing a chain of exceptions with all its variables takes seconds."""
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.fixture
async def world(sqlite_url: str, clock: ManualClock) -> AsyncIterator[World]:
    async with opened(sqlite_url):
        yield await a_world(clock)
