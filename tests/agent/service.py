"""A service for agents under test: it takes reports over HTTP, keeps them, and answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Answer = tuple[int, bytes, dict[str, str]]
PATIENCE_SECONDS = 30


def receipt(**more: Any) -> Answer:
    answer = {"receivedAt": datetime.now(UTC).isoformat(), "wantsEverything": False, "isLate": False, **more}
    return 200, json.dumps({"data": {"reportServer": answer}}).encode(), {}


def refusal(code: str, message: str = "no", **headers: str) -> Answer:
    error = {"message": message, "extensions": {"code": code}}
    return 200, json.dumps({"data": None, "errors": [error]}).encode(), headers


class FakeService(ThreadingHTTPServer):
    """`answer` may be replaced while it runs."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer: Callable[[Json], Answer] = lambda _: receipt()
        self.reports: list[Json] = []
        self.tokens: list[str] = []
        self._arrived = threading.Condition()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, body: Json, token: str) -> Answer:
        with self._arrived:
            self.reports.append(body["variables"]["input"])
            self.tokens.append(token)
            self._arrived.notify_all()
        return self.answer(body["variables"]["input"])

    def until(self, wanted: Callable[[Json], object], since: int = 0) -> Json:
        """The first report from this place on that is as wanted; waited for where it has not come yet."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._arrived:
            while True:
                for report in self.reports[since:]:
                    if wanted(report):
                        return report
                assert self._arrived.wait(deadline - time.monotonic()), f"not among {self.reports[since:]}"

    def handle_error(self, *_: Any) -> None:
        """An agent that is killed leaves its connection as it is."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: FakeService
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer, headers = self.server.take(body, self.headers.get("Authorization", ""))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""
