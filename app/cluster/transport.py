"""One HTTP exchange with the API server, in raw JSON. Used by the adapter only.

The client library contributes connections, TLS and credentials. Its typed models are left out (three times the time for
the same list), and so is its Watch, which neither resumes a dropped connection nor waits between two tries.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.config_exception import ConfigException

from app.clock import Clock, SystemClock
from app.cluster.answers import decoded, decoded_or_none, error_of, transport_errors
from app.cluster.brake import Brakes
from app.cluster.cluster_clock import ClusterClock
from app.cluster.connection import Connection
from app.cluster.port import ClusterError, UnavailableError

READ_SECONDS = 15.0
WRITE_SECONDS = 35.0  # an admission webhook may take 30 s
CONNECT_SECONDS = 5.0
MAX_ANSWER = 64 * 1024 * 1024  # bytes; as JSON in Python some four times that
_MAX_ERROR = 64 * 1024
_CHUNK = 64 * 1024
_ERRORS_FROM = 300
_UNAUTHORIZED = 401

STRATEGIC_MERGE = "application/strategic-merge-patch+json"


class TooLongError(UnavailableError):
    """The answer was not read to its end, as it would take too much memory."""


class SilenceError(UnavailableError):
    """Nothing came for longer than the limits allow, on a connection that nobody closed."""


def limits(seconds: float, quiet: float | None = None) -> aiohttp.ClientTimeout:
    """`seconds` for the whole exchange; `quiet` for a pause inside it."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS, sock_read=quiet)


@dataclass(frozen=True)
class Request:
    """`most_bytes` bounds the answer; `is_braked`: not sent while the API fails all of its kind."""

    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    content_type: str = "application/json"
    limits: aiohttp.ClientTimeout | None = None
    most_bytes: int = MAX_ANSWER
    is_braked: bool = True

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Transport:
    """`read_seconds` and `write_seconds` are for requests that name no limits."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock | None = None,
        brakes: Brakes | None = None,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        self._connection = connection
        self._clock = clock or SystemClock()
        self.cluster_clock = ClusterClock()
        self._brakes = brakes or Brakes()
        self._read, self._write = limits(read_seconds), limits(write_seconds)

    async def call(self, request: Request) -> dict[str, Any]:
        """The decoded answer, or one of the port's errors; nothing is sent while the API answers nobody."""
        brake = self._brakes.around(request.method, request.path) if request.is_braked else nullcontext()
        with brake, transport_errors():
            async with self._opened(request) as response:
                return decoded(await _body(response, request.most_bytes))

    async def stream(self, request: Request, opened: Callable[[], None] = lambda: None) -> AsyncGenerator[bytes, None]:
        """The body as it arrives.

        Where the limits bound a pause, that is a SilenceError, and the whole time is an end. Else there is an end to be
        expected, and not to have it in the whole time is an UnavailableError.
        `opened` is called when there is an answer and it is a success.
        """
        with transport_errors():
            async with self._opened(request) as response:
                opened()
                try:
                    async for chunk in response.content.iter_any():
                        yield chunk
                except aiohttp.ServerTimeoutError:
                    quiet = self._within(request).sock_read
                    raise SilenceError(f"the cluster's API said nothing for {quiet} s") from None
                except TimeoutError:
                    if self._within(request).sock_read is None:  # it should have ended long before
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

    def _within(self, request: Request) -> aiohttp.ClientTimeout:
        return request.limits or (self._read if request.method == "GET" else self._write)

    async def _error(self, response: aiohttp.ClientResponse) -> ClusterError:
        if response.status == _UNAUTHORIZED:
            self._connection.distrust()
        try:
            payload = await _body(response, _MAX_ERROR)
        except TooLongError:  # the status says enough
            payload = b""
        return error_of(response.status, decoded_or_none(payload), response.headers)

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        api = await self._connection.api()
        headers = {"Content-Type": request.content_type}
        try:
            prepared = await api.param_serialize(
                request.method, request.url, header_params=headers, auth_settings=["BearerToken"]
            )
            answer = await api.call_api(*prepared[:3], request.body, _request_timeout=self._within(request))
        except (aiohttp.ClientSSLError, ssl.SSLError):
            self._connection.distrust()
            raise
        except (ApiException, ConfigException, ValueError) as error:  # an address or token that HTTP can't carry
            raise UnavailableError(f"the request could not be made: {error}") from error
        response: aiohttp.ClientResponse = answer.response
        return response


async def _body(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > most:
            raise TooLongError(f"the cluster's API answered with more than {most} bytes")
    return bytes(body)
