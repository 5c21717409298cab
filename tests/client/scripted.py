"""A server on this machine that answers requests with whatever a test has written down, in order."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: str = ""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def data(value: Any) -> Answer:
    return Answer(body=json.dumps({"data": value}))


def refused(message: str, **extensions: Any) -> Answer:
    error = {"message": message, "extensions": extensions}
    return Answer(body=json.dumps({"data": None, "errors": [error]}))


CUT = Answer(status=0)  # the connection ends without an answer


@dataclass
class Script:
    url: str
    answers: list[Answer]
    seen: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@contextmanager
def answering(*answers: Answer, certificate: Path | None = None) -> Iterator[Script]:
    """The last answer is given for ever. With a file of key and certificate it speaks TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            script.seen.append(json.loads(body))
            script.tokens.append(self.headers["authorization"])
            self.do_GET()

        def do_GET(self) -> None:
            answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if answer.status == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"content-type": answer.kind, **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body.encode())))
            self.end_headers()
            self.wfile.write(answer.body.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — the base's name
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    script = Script(f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}", list(answers))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
