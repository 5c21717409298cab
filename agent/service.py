"""The app as the agent sees it: one POST for each report, over a connection that is kept."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import httpx2

from agent.clock import Clock
from agent.report import Receipt, Report
from agent.wire import AnswerError, receipt_of, request_of

TIMEOUT_SECONDS = 10.0
_LONGEST_WORDS = 300


class DeliveryError(Exception):
    """The report did not get through. `code` is GraphQL's, or empty; `pause` what the service asks for, in seconds."""

    def __init__(self, message: str, code: str = "", pause: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.pause = pause


class Service:
    """A connection of one thread. `skew` is how far this machine's clock is behind the service's, in seconds."""

    def __init__(self, url: str, token: Callable[[], str], clock: Clock, ca_file: Path | None = None) -> None:
        self._url = f"{url.rstrip('/')}/graphql"
        self._token = token
        self._clock = clock
        trust = ssl.create_default_context(cafile=str(ca_file)) if ca_file else True
        self._client = httpx2.Client(timeout=TIMEOUT_SECONDS, verify=trust, follow_redirects=False)
        self.skew: float | None = None

    def deliver(self, report: Report) -> Receipt:
        """Raises DeliveryError."""
        sent, began = self._clock.now(), self._clock.monotonic()
        try:
            headers = {"Authorization": f"Bearer {self._token()}"}
            response = self._client.post(self._url, json=request_of(report), headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise DeliveryError(f"{self._url} cannot be reached: {str(error) or type(error).__name__}") from None
        receipt = _receipt(response)
        self.skew = skew_of(sent, self._clock.monotonic() - began, receipt.received_at)
        return receipt

    def close(self) -> None:
        self._client.close()


def skew_of(sent: datetime, seconds: float, received: datetime) -> float:
    """How far the service's clock is ahead: it read it about half way between question and answer."""
    return (received - (sent + timedelta(seconds=seconds / 2))).total_seconds()


def _receipt(response: httpx2.Response) -> Receipt:
    try:
        return receipt_of(response.json())
    except AnswerError as error:
        raise DeliveryError(str(error)[:_LONGEST_WORDS], error.code, _pause(response)) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        words = f"{response.url} answered {response.status_code} {response.reason_phrase}, and no JSON"
        raise DeliveryError(words, pause=_pause(response)) from None


def _pause(response: httpx2.Response) -> float:
    """What Retry-After says, where it says seconds."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0
