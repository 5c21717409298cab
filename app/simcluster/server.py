"""One running simulated cluster: data folder, controllers, socket. Used by the command and by tests in-process."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from app.simcluster.api.app import Api
from app.simcluster.api.context import Context
from app.simcluster.cluster import Cluster
from app.simcluster.fleet import DEFAULT_FLEET, NodeSpec
from app.simcluster.home import Home
from app.simcluster.journal import Journal
from app.simcluster.meta import Clock
from app.simcluster.settings import Settings

CLOSE_SECONDS = 1
BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Running:
    url: str
    token: str
    kubeconfig: Path
    context: Context


class _Server(uvicorn.Server):
    """Ends open watches and followed logs before it waits for connections; they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the command's business: they end the whole cluster, not its HTTP side alone."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._context.streams.close()
        await super().shutdown(sockets)


def check_host(host: str) -> None:
    """The simulation has one token and no TLS: it must not be reachable from elsewhere."""
    if host == "localhost":
        return
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return
    raise ValueError(f"the simulated cluster serves loopback addresses only, not {host!r}")


@asynccontextmanager
async def running(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: Settings | None = None,
    fleet: Iterable[NodeSpec] = DEFAULT_FLEET,
    clock: Clock = time.time,
) -> AsyncIterator[Running]:
    """Serve from `folder` until the block is left. Port 0: the one used last here, or any."""
    check_host(host)
    home = Home.open(folder)
    settings = settings or Settings()
    journal = Journal(home.state, settings.compact_bytes)
    cluster = Cluster(settings, clock, journal, fleet)
    context = Context.of(cluster)
    listener = _listen(host, port or home.port)
    url = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    server = _Server(_config(Api(context, home.token)), context)
    engine = asyncio.create_task(cluster.engine.run(), name="simcluster-engine")
    serving = asyncio.create_task(server.serve([listener]), name="simcluster-http")
    try:
        await _until_serving(server, serving)
        home.serves_at(url, listener.getsockname()[1])
        yield Running(url, home.token, home.kubeconfig, context)
    finally:
        server.should_exit = True
        await asyncio.wait({serving})
        engine.cancel()
        await asyncio.wait({engine})
        listener.close()
        journal.close()
        home.close()


def _config(app: Api) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_SECONDS,
        timeout_keep_alive=75,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _until_serving(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    while not server.started:
        if serving.done():
            serving.result()
            raise RuntimeError("the HTTP server ended before it served")
        await asyncio.sleep(0.005)
