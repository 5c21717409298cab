"""The server stops although pages are open, and their streams end with a word."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from app.main import _Server
from tests.panel.reader import reading
from tests.panel.world import LIST, Panel


async def test_open_streams_do_not_hold_the_server(panel: Panel):
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(panel.web, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=90)
    started = asyncio.Event()

    async def tell() -> None:
        started.set()

    server = _Server(config, tell, panel.streams)
    serving = asyncio.create_task(server._serve([listener]))
    await started.wait()
    async with reading(panel, f"http://127.0.0.1:{listener.getsockname()[1]}", f"{LIST}/live") as stream:
        await stream.next()
        server.should_exit = True
        assert (await stream.rest())[-1].event == "restart"
    async with asyncio.timeout(60):
        await serving
