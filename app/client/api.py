"""One request and its answer over HTTP; what goes wrong becomes a sentence."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx2
import stamina

from app.client.connection import Connection
from app.client.documents import document
from app.client.errors import ClientError, LostAnswerError, RefusedError, UnreachableError
from app.client.printable import printable

_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
_PASSING = frozenset({429, 502, 503, 504})  # throttled, or a proxy whose service is being restarted
_SHOWN = 20
_MOVED = range(300, 400)


def tls_context() -> ssl.SSLContext:
    """Whom to trust. Raises ClientError where what the environment names can't be read."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        named = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        raise ClientError(f"the certificates in {named} (SSL_CERT_FILE, SSL_CERT_DIR) can't be used: {error}") from None


class Api:
    """Asks again by itself where an answer was lost: reads and cancels may be repeated, a submission has its key."""

    def __init__(self, connection: Connection, tls: ssl.SSLContext) -> None:
        self._connection = connection
        headers = {"authorization": f"Bearer {connection.token}", "accept": "application/json"}
        try:
            self._http = httpx2.Client(timeout=_TIMEOUT, headers=headers, verify=tls)
        except ImportError:
            raise ClientError("a SOCKS proxy, as ALL_PROXY names one, can't be used; an http:// one can") from None
        self._again = stamina.RetryingCaller(attempts=4, timeout=60.0, wait_initial=0.5).on(_when_to_repeat)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def ask(self, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The data of one operation. Raises UnreachableError, RefusedError, or ClientError for a wrong address."""
        return self._again(self._ask, {"query": document(name), "variables": dict(variables)})

    def _ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            response = self._http.post(self._connection.graphql, json=body)
        except httpx2.HTTPError as error:
            raise self._without_answer(error) from None
        except UnicodeEncodeError as error:
            words = printable(error.object[max(0, error.start - _SHOWN) : error.end])
            raise ClientError(f"what was given is not UTF-8 where it says {words}") from None
        answer = self._graphql(response)
        if errors := answer.get("errors"):
            raise refusal(errors, self._connection)
        data: dict[str, Any] = answer["data"]
        return data

    def _graphql(self, response: httpx2.Response) -> dict[str, Any]:
        try:
            answer = response.json()
        except ValueError:
            raise self._no_graphql(response) from None
        if not isinstance(answer, dict) or not (answer.get("errors") or isinstance(answer.get("data"), dict)):
            raise self._no_graphql(response)
        return answer

    def _no_graphql(self, response: httpx2.Response) -> ClientError:
        here, status = self._connection.graphql, response.status_code
        if status in _PASSING:
            return LostAnswerError(f"{here} answers {status} {response.reason_phrase}; try again later")
        if status in _MOVED and (location := response.headers.get("location")):
            return ClientError(f"{here} leads on to {location}; give that server's address with --server")
        if status == httpx2.codes.UNAUTHORIZED:
            return ClientError(f"{here} answers 401: it does not take the token of {self._connection.token_told}")
        if status == httpx2.codes.CONTENT_TOO_LARGE:
            return ClientError(f"what was given is more than {here} takes in one request")
        kind = response.headers.get("content-type", "nothing readable").partition(";")[0]
        told = self._connection.server_told
        return ClientError(f"{here} answers {status} with {kind} instead of GraphQL; is {told} GPUYard's address?")

    def _without_answer(self, error: httpx2.HTTPError) -> ClientError:
        here = f"{self._connection.server} ({self._connection.server_told})"
        words = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in words:
            return ClientError(
                f"the certificate of {here} is not trusted: {words}; SSL_CERT_FILE may name the authority's file"
            )
        if "SSL" in words:
            return ClientError(f"{here} and this command find no common TLS: {words}; does it speak plain http?")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return UnreachableError(f"{here} can't be reached: {words}")
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return ClientError(f"{here} can't be asked: {words}")
        return LostAnswerError(f"{here} gave no answer: {words}")


def _when_to_repeat(error: Exception) -> bool | float:
    """Whether at all, or after how many seconds at the least."""
    return isinstance(error, LostAnswerError) and (error.wait or True)


def refusal(errors: Any, connection: Connection) -> ClientError:
    """The errors of a GraphQL answer, or of a socket's `error` message."""
    found = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    extensions = [error.get("extensions") or {} for error in found]
    code = next((str(extension["code"]) for extension in extensions if "code" in extension), "")
    if code == "UNAUTHENTICATED":
        return RefusedError([f"{found[0].get('message')} (it came from {connection.token_told})"], code)
    if code == "RATE_LIMITED":
        wait = extensions[0].get("retryAfter")
        return LostAnswerError(str(found[0].get("message")), wait if isinstance(wait, int | float) else 0)
    sentences = [
        sentence
        for error, extension in zip(found, extensions, strict=True)
        for sentence in _fields(extension) or [str(error.get("message"))]
    ]
    return RefusedError(sentences[:_SHOWN] or ["the request was refused without a reason"], code)


def _fields(extension: Mapping[str, Any]) -> list[str]:
    """One sentence for each wrong field."""
    fields = extension.get("fields")
    return [f"{it.get('field')}: {it.get('message')}" for it in fields] if isinstance(fields, list) else []
