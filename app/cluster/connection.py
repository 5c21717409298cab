"""One client for everybody, kept in step with the credentials: what `transport` sends with.

The client library loads credentials once. Here they are loaded anew when a file they came from has changed, before they
expire, and after the cluster refused them or its certificate wasn't accepted. A new token goes over open connections; a
new address or authority gets new ones, and those of before are closed a little later.
"""

from __future__ import annotations

import asyncio
import math
import socket
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import structlog
from kubernetes.aio.client import ApiClient
from kubernetes.aio.client.rest import RESTClientObject

from app.cluster.credentials import Access, ConnectionSettings, load
from app.cluster.port import UnavailableError

__all__ = ["Connection", "ConnectionSettings"]

log = structlog.get_logger(__name__)

RENEWAL_SECONDS = 30.0  # credentials that are simply wrong shall not be loaded with every call
LOOK_SECONDS = 5.0  # between two looks at the files
EXPIRY_SECONDS = 60.0  # before which a credential is renewed
RETIRE_SECONDS = 60.0  # for what was begun on a client that has a successor
USER_AGENT = "gpuyard"

_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 30_000))


class Connection:
    def __init__(
        self,
        settings: ConnectionSettings,
        renewal_seconds: float = RENEWAL_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._renewal_seconds = renewal_seconds
        self._look_seconds = look_seconds
        self._clock = clock
        self._lock = asyncio.Lock()
        self._api: ApiClient | None = None
        self._access: Access | None = None
        self._failure: UnavailableError | None = None
        self._is_refused = False
        self._loaded_at = self._looked_at = -math.inf
        self._retiring: set[asyncio.Task[None]] = set()

    async def api(self) -> ApiClient:
        """Raises UnavailableError where there is no way to the cluster."""
        async with self._lock:
            if self._must_load():
                await self._load()
            if self._api is None or (self._is_refused and self._failure):
                raise self._failure or UnavailableError("no way to the cluster")
            return self._api

    def distrust(self) -> None:
        """The cluster did not accept our credentials, or we not its certificate: load them before the next call."""
        if self._failure or self._clock() - self._loaded_at > self._renewal_seconds:
            self._is_refused = True

    async def close(self) -> None:
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        if self._api is not None:
            await _close(self._api)
            self._api = None

    def _must_load(self) -> bool:
        """A failure is remembered for a while: a plugin that fails shall not be run with every call."""
        now, access = self._clock(), self._access
        waited = now - self._loaded_at
        if self._failure or access is None:
            return waited >= self._look_seconds
        if self._is_refused:
            return True
        if access.expires_at is not None and _seconds_until(access.expires_at) < EXPIRY_SECONDS:
            return waited > self._renewal_seconds
        if now - self._looked_at < self._look_seconds:
            return False
        self._looked_at = now
        return access.has_changed

    async def _load(self) -> None:
        try:
            access = await load(self._settings)
        except UnavailableError as error:
            if self._failure is None:
                log.warning("cluster.credentials.failed", error=error.message)
            self._failure = error  # what is at hand may be good for a while yet
            return
        finally:
            self._loaded_at = self._looked_at = self._clock()
        self._failure, self._is_refused = None, False
        if self._api is not None and self._access is not None and self._access.identity == access.identity:
            self._api.configuration.api_key = access.tokens
        else:
            self._replace(access)
        self._access = access

    def _replace(self, access: Access) -> None:
        if self._api is not None:
            self._retire(self._api)
        try:
            api = _client(access)
        except (OSError, ValueError) as error:  # an authority or certificate that TLS can't read
            self._failure = UnavailableError(f"the cluster's certificates can't be used: {error}")
            self._api = None
            return
        api.user_agent = USER_AGENT
        self._api = api
        log.info("cluster.connected", host=access.configuration.host)

    def _retire(self, api: ApiClient) -> None:
        async def close_later() -> None:
            try:
                await asyncio.sleep(RETIRE_SECONDS)
            finally:
                await _close(api)

        self._retiring.add(task := asyncio.create_task(close_later()))
        task.add_done_callback(self._retiring.discard)


def _client(access: Access) -> ApiClient:
    """TLS takes a certificate from files only, and reads them here; the key is gone from there at once."""
    configuration = access.configuration
    with tempfile.TemporaryDirectory() as folder:
        if access.certificate:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_text(access.certificate)
            key.write_text(access.key)
            configuration.cert_file, configuration.key_file = str(certificate), str(key)
        api = ApiClient(configuration)
        api.rest_client = _Rest(configuration)
    return api


class _Rest(RESTClientObject):
    """Notices within half a minute when the way to the cluster is gone without a word."""

    def _create_connector(self) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(limit=self.maxsize, ssl=self.ssl_context, socket_factory=_socket)


def _socket(address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # Linux has them all
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


async def _close(api: ApiClient) -> None:
    await api.close()  # type: ignore[no-untyped-call]


def _seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()
