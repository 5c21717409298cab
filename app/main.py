"""The composition root: settings in, a running process out. The only place that knows every part."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import structlog
import uvicorn
from starlette.applications import Starlette

from app.bus import Bus
from app.clock import Clock, SystemClock
from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from app.cluster.manifest import ManifestSettings, PodSecurity
from app.cluster.observer import Observer
from app.cluster.projection import Projection
from app.commands.context import CommandContext
from app.config import PREFIX, Settings
from app.graphql.context import Services
from app.graphql.rates import Rates
from app.graphql.streams import OpenStreams
from app.panel.streams import Streams
from app.reconcile.background import Background
from app.reconcile.cluster_loops import Pace
from app.reconcile.clusters import Cluster
from app.reconcile.logs import LogReader
from app.store import clusters
from app.store.database import opened
from app.store.installation import installation_id
from app.store.locks import LOOPS, open_lock
from app.web import build_web

_log = structlog.get_logger(__name__)

_SHUTDOWN_SECONDS = 3


@dataclass(frozen=True)
class Application:
    web: Starlette
    background: Background
    streams: Streams


def build(settings: Settings, clock: Clock, ports: Mapping[str, KubernetesPort], installation: str) -> Application:
    """Put the parts together. `ports` are by the clusters' names. Nothing is opened or sent yet."""
    bus = Bus()
    everywhere = settings.namespace_per_organization
    named = {
        name: Cluster(name, port, Projection(settings.namespace, everywhere=everywhere)) for name, port in ports.items()
    }
    pace = Pace(
        settings.resync,
        settings.cluster_lost_after,
        settings.reconcilers,
        settings.fair_share_half_life,
        settings.keep_server_after,
    )
    background = Background(
        tuple(named.values()),
        bus,
        clock,
        settings.policy,
        pace,
        settings.tolerations,
        installation,
        PREFIX + "CLUSTERS",
        settings.namespaces,
        settings.inventory,
        settings.agents,
        settings.samples,
    )
    logs = LogReader(named, settings.policy.log_retention_seconds)
    commands = CommandContext(clock, bus, settings.defaults)
    rates, open_streams = Rates(settings.rate_limit), OpenStreams(settings.stream_limit)
    services = Services(
        commands,
        background.board,
        logs,
        background.forecaster,
        rates,
        open_streams,
        settings.introspection,
        settings.agents,
    )
    streams = Streams()
    return Application(build_web(services, background, streams), background, streams)


@asynccontextmanager
async def closing_ports(settings: Settings) -> AsyncIterator[dict[str, KubernetesPort]]:
    """The way to each cluster of the settings, by its name; connections are opened at first use."""
    observer = Observer(settings.gpu_resources, settings.pool_label)
    port_settings = PortSettings(
        settings.namespace, settings.namespace_per_organization, observer=observer, manifest=_manifest(settings)
    )
    ports = {
        cluster.name: open_port(ConnectionSettings(cluster.kubeconfig, cluster.context), port_settings)
        for cluster in settings.all_clusters
    }
    try:
        yield ports
    finally:
        for port in ports.values():
            await port.close()


def _manifest(settings: Settings) -> ManifestSettings:
    return ManifestSettings(
        termination_grace_seconds=settings.termination_grace,
        tolerations=settings.tolerations,
        runtime_class=settings.runtime_class,
        image_pull_secrets=settings.image_pull_secrets,
        pod_security=PodSecurity(settings.pod_security),
        shared_memory_bytes_per_gpu=settings.defaults.shared_memory_bytes_per_gpu,
    )


@asynccontextmanager
async def running(settings: Settings, clock: Clock) -> AsyncIterator[tuple[Application, asyncio.Task[None]]]:
    """The database open and migrated, the loops at work in the task, or standing by; all ended at the end.

    What serves requests must be started inside: its tasks inherit the open database from this context.
    """
    async with opened(settings.database_url) as database, closing_ports(settings) as ports:
        await clusters.name_rows(settings.oldest_cluster)
        application = build(settings, clock, ports, await installation_id(clock.now()))
        run = application.background.run(lambda: open_lock(database.url, LOOPS))
        loops = asyncio.create_task(run, name="background")
        try:
            yield application, loops
        finally:
            loops.cancel()
            await _ended(loops)


async def _ended(loops: asyncio.Task[None]) -> None:
    """Wait for the loops; that they were cancelled is as it should be, anything else is a defect to be told."""
    try:
        await loops
    except asyncio.CancelledError:
        return
    except Exception as error:  # noqa: BLE001 — the process ends; nobody else would hear of it
        _log.error("the background has ended by itself", exc_info=error)


async def serve(
    settings: Settings, announce: Callable[[str], None], *, start_agents: Callable[[str], None] | None = None
) -> None:
    """Run until a signal. `announce` is told the address when requests are answered there.

    With `start_agents` that is told first, once the cluster's servers are on record, and `announce` only when their
    agents have reported as well, so that a first submission finds GPUs.
    """
    listener = _listen(settings.host, settings.port)
    async with running(settings, SystemClock()) as (application, loops):
        config = uvicorn.Config(
            application.web,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=2**20,
            ws_per_message_deflate=False,  # messages are small; a compressor for each socket is not
            server_header=False,
            forwarded_allow_ips=settings.trusted_proxies,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )

        async def tell() -> None:
            address = _address(settings.host, listener)
            if start_agents:
                await application.background.servers_recorded()
                start_agents(address)
                await application.background.agents_heard()
            announce(address)

        server = _Server(config, tell, application.streams)
        loops.add_done_callback(server.stop)  # without its loops the process would only pretend to work
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it answers, and ends the panel's streams when it stops: uvicorn itself would wait for them."""

    def __init__(
        self, config: uvicorn.Config, tell: Callable[[], Coroutine[None, None, None]], streams: Streams
    ) -> None:
        super().__init__(config)
        self._tell = tell
        self._streams = streams
        self._telling: asyncio.Task[None] | None = None

    def stop(self, _: object) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but for raising the signal again at the end: that would kill us before we have tidied up."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._telling = asyncio.create_task(self._tell())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.end_all()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    """Bound before anything else starts, so that a taken port is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise OSError(f"can't listen on {host}:{port}: {error.strerror}; choose another port") from error
    return listener


def _address(host: str, listener: socket.socket) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{listener.getsockname()[1]}"
