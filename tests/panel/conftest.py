"""One web app for each test, in this process; where a stream is read, behind a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn

from app.auth.secrets import hash_password
from app.store.database import opened
from tests.clock import ManualClock
from tests.panel.world import Panel, build_panel, populate

PASSWORD = "correct horse battery"


@pytest.fixture
async def panel(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Panel]:
    async with opened(sqlite_url):
        built = build_panel(clock)
        await populate(built)
        yield built


@pytest.fixture(scope="session")
def password_hash() -> str:
    """Hashing is slow on purpose: once is enough."""
    return asyncio.run(hash_password(PASSWORD))


@pytest.fixture
async def served(panel: Panel) -> AsyncIterator[str]:
    """Where the same app is served for as long as the test lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(panel.web, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        panel.streams.end_all()
        server.should_exit = True
        await serving
