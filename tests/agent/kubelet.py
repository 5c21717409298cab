"""A kubelet's PodResources service: a real gRPC server on a socket, whose answers are written byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc


def part(number: int, *values: str | bytes) -> bytes:
    """Length-delimited fields as protobuf writes them, made by hand so that a wrong number shows."""
    return b"".join(bytes([number << 3 | 2, *length(len(data))]) + data for data in map(as_bytes, values))


def as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def length(value: int) -> Iterator[int]:
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def container(name: str, devices: dict[str, list[str]], more: bytes = b"") -> bytes:
    return part(1, name) + part(2, *(part(1, kind) + part(2, *ids) for kind, ids in devices.items())) + more


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    return part(1, part(1, name) + part(2, namespace) + part(3, *containers))


@contextmanager
def kubelet(socket: Path, answer: bytes | Exception) -> Iterator[None]:
    def respond(_: bytes, context: grpc.ServicerContext) -> bytes:
        if isinstance(answer, bytes):
            return answer
        return context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(answer))  # type: ignore[no-any-return]

    method = grpc.unary_unary_rpc_method_handler(respond)
    handlers: Any = grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": method})
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handlers,))
    server.add_insecure_port(f"unix://{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()
