"""One web app for each test, in this process; where a test needs WebSockets, behind a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp

from app.store.database import opened
from tests.api.world import Api, build_api, populate
from tests.clock import ManualClock


@pytest.fixture
async def api(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Api]:
    async with opened(sqlite_url):
        built = build_api(clock)
        await populate(built)
        yield built


@pytest.fixture
async def ws_url(api: Api) -> AsyncIterator[str]:
    """Where the same app is served for as long as the test lasts."""
    async with served(api.web) as url:
        yield url


@asynccontextmanager
async def served(web: ASGIApp) -> AsyncIterator[str]:
    """The address of an app's WebSockets while it is served."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        web, log_config=None, access_log=False, lifespan="off", ws="websockets-sansio", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/graphql"
    finally:
        server.should_exit = True
        await serving
