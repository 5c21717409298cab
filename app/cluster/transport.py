"""One HTTP exchange with the API server, in raw JSON. Used by the adapter only.

The client library contributes connections, TLS and credentials. Its typed models are left out (three times the time for
the same list), and so is its Watch, which neither resumes a dropped connection nor waits between two tries.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.config_exception import ConfigException

from app.clock import Clock, SystemClock
from app.cluster.answers import decoded, decoded_or_none, error_of, transport_errors
from app.cluster.cluster_clock import ClusterClock
from app.cluster.connection import Connection
from app.cluster.port import ClusterError, UnavailableError

CALL_SECONDS = 10.0
CONNECT_SECONDS = 5.0
_ERRORS_FROM = 300
_UNAUTHORIZED = 401

STRATEGIC_MERGE = "application/strategic-merge-patch+json"


def limits(seconds: float = CALL_SECONDS, quiet: float | None = None) -> aiohttp.ClientTimeout:
    """`seconds` for the whole exchange; `quiet` for a pause inside it."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS, sock_read=quiet)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    content_type: str = "application/json"
    limits: aiohttp.ClientTimeout = field(default_factory=limits)

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Transport:
    def __init__(self, connection: Connection, clock: Clock | None = None) -> None:
        self._connection = connection
        self._clock = clock or SystemClock()
        self.cluster_clock = ClusterClock()

    async def call(self, request: Request) -> Any:
        """The decoded answer, or one of the port's errors."""
        async with self._opened(request) as response:
            with transport_errors():
                payload = await response.read()
            return decoded(payload)

    async def stream(self, request: Request, *, quiet_is_end: bool = False) -> AsyncGenerator[bytes, None]:
        """The body as it arrives. With `quiet_is_end` a pause longer than the limits is an end and not an error."""
        async with self._opened(request) as response:
            with transport_errors():
                try:
                    async for chunk in response.content.iter_any():
                        yield chunk
                except TimeoutError:
                    if not quiet_is_end:
                        raise

    async def close(self) -> None:
        await self._connection.close()

    @asynccontextmanager
    async def _opened(self, request: Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that is a success, its body still to be read."""
        asked = self._clock.now()
        response = await self._send(request)
        self.cluster_clock.heard(response.headers.get("Date", ""), asked, self._clock.now())
        try:
            if response.status >= _ERRORS_FROM:
                raise await self._error(response)
            yield response
        finally:
            response.release()

    async def _error(self, response: aiohttp.ClientResponse) -> ClusterError:
        with transport_errors():
            payload = await response.read()
        if response.status == _UNAUTHORIZED:
            self._connection.distrust()
        return error_of(response.status, decoded_or_none(payload), response.headers)

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        api = await self._connection.api()
        headers = {"Content-Type": request.content_type}
        try:
            with transport_errors():
                prepared = await api.param_serialize(
                    request.method, request.url, header_params=headers, auth_settings=["BearerToken"]
                )
                answer = await api.call_api(*prepared[:3], request.body, _request_timeout=request.limits)
        except (ApiException, ConfigException) as error:
            raise UnavailableError(f"the request could not be made: {error}") from error
        response: aiohttp.ClientResponse = answer.response
        return response
