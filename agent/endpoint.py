"""The agent's own HTTP endpoint: /metrics for Prometheus, /healthz for whoever restarts it when it can't go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from agent.metrics import AgentMetrics

Complaint = Callable[[], str]  # why the agent should be restarted; empty while it should not


class Endpoint(ThreadingHTTPServer):
    """Serves until it is closed, in threads of its own."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], metrics: AgentMetrics, complaint: Complaint) -> None:
        super().__init__(address, _Handler)
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(metrics)
        self.complaint = complaint

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name="endpoint", daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    timeout = 10

    def do_GET(self) -> None:  # the name is http.server's
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, generate_latest(self.server.registry), CONTENT_TYPE_PLAIN_0_0_4)
        elif path == "/healthz":
            complaint = self.server.complaint()
            status = HTTPStatus.SERVICE_UNAVAILABLE if complaint else HTTPStatus.OK
            self._answer(status, f"{complaint or 'ok'}\n".encode())
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"there is /metrics and /healthz\n")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Scrapes are no news."""
