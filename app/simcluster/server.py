"""One running simulated cluster: data folder, controllers, socket. Used by the command and by tests in-process."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from app.simcluster.api.app import Api
from app.simcluster.api.context import Context
from app.simcluster.certificate import ADDRESSES, NAMES
from app.simcluster.cluster import Cluster
from app.simcluster.fleet import DEFAULT_FLEET, NodeSpec
from app.simcluster.home import Home
from app.simcluster.journal import Journal
from app.simcluster.meta import Clock
from app.simcluster.settings import Settings

CLOSE_SECONDS = 1
STOP_SECONDS = 3  # past this nobody is waited for
FAREWELL_SECONDS = 0.3
BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Running:
    url: str
    token: str
    kubeconfig: Path
    ca: Path
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
        hanging_up = asyncio.get_running_loop().call_later(FAREWELL_SECONDS, self._hang_up)
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()

    def _hang_up(self) -> None:
        """TLS says goodbye, and waits half a minute for a peer that doesn't answer."""
        for connection in tuple(self.server_state.connections):
            if connection.transport.is_closing():
                connection.transport.abort()


def check_host(host: str) -> None:
    """The simulation must not be reachable from elsewhere, and its certificate is for these alone."""
    known = (*NAMES, *ADDRESSES)
    if host not in known:
        raise ValueError(f"the simulated cluster serves loopback addresses only ({', '.join(known)}), not {host!r}")


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
    url = f"https://{_shown(host)}:{listener.getsockname()[1]}"
    server = _Server(_config(Api(context, home.token), home.server_pem), context)
    engine = asyncio.create_task(cluster.engine.run(), name="simcluster-engine")
    serving = asyncio.create_task(server.serve([listener]), name="simcluster-http")
    try:
        await _until_serving(server, serving)
        home.serves_at(url, listener.getsockname()[1])
        yield Running(url, home.token, home.kubeconfig, home.ca_pem, context)
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=STOP_SECONDS)
        for task in (serving, engine):  # a peer in the middle of a TLS handshake would hold up the server for ever
            task.cancel()
        await asyncio.wait({serving, engine}, timeout=STOP_SECONDS)
        listener.close()
        journal.close()
        home.close()


def _config(app: Api, certificate: Path) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ssl_certfile=certificate,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,  # the API says the cluster's own time
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
