"""How soon 1,000 subscribers hear of an event, what that costs in reads, and each of them in memory.

Run `python bench/subscribers.py` (`--quick` for a glance). One `gpuyard serve` on SQLite, and that many subscribers of
`workloadEvents` over WebSocket, twenty of them by server-sent events. Workloads are submitted one after the other;
taken is the time from an event's stamp, which is set right before the commit, until each subscriber has it. Aim: p99 at
most 300 ms. Reads are the statements on the table of events that the service sends while so many wait, for each event.
The subscribers share this machine's cores with the service, so they only note what comes, and read it afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import uvloop
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from bench._product import Service, content, service, simulated, submit_all

QUERY = 'subscription { workloadEvents(organization: "bench") { cursor type workloadId status message at } }'
WANTED = {"image": "busybox:1.36", "gpuCount": 8}
NODES = [{"name": "n1", "gpus": 8, "product": "bench", "cpu": "256", "memory": "4Ti"}]
SETTINGS = {"GPUYARD_STREAM_LIMIT": "0", "GPUYARD_RATE_LIMIT": "0"}
BY_EVENT_STREAM = 20
PAUSE = 0.5  # between two submissions, so that events come one by one
AIM_MS = 300
AT_A_TIME = 50
# As `python -m app serve`, and on SIGUSR1 it says how many statements read events.
COUNTED = """
import logging, runpy, signal, sys
from pathlib import Path
from typing import Any, cast
count, to, sys.argv = 0, Path(sys.argv[1]), ["gpuyard", "serve"]
class Counter(logging.Handler):
    def emit(self, record):
        global count
        count += 'FROM "events"' in record.getMessage()
def say(*_):
    new = to.with_suffix(".new")
    new.write_text(str(count))
    new.rename(to)
logger = logging.getLogger("tortoise.db_client")
logger.addHandler(Counter())
logger.setLevel(logging.DEBUG)
logger.propagate = False
signal.signal(signal.SIGUSR1, say)
runpy.run_module("app", run_name="__main__")
"""


@dataclass
class Heard:
    """What all subscribers were told, and when. It is read afterwards, as reading takes the service's time."""

    subscribers: int = 0
    messages: list[tuple[object, float, str | bytes]] = field(default_factory=list)  # who was told, when, and what
    sockets: list[Subscriber] = field(default_factory=list)

    def take(self, who: object, message: str | bytes) -> None:
        self.messages.append((who, time.time(), message))

    def events(self) -> list[tuple[str, float]]:
        """Each event's cursor, and the milliseconds since its stamp, for everyone who was told."""
        self._read()
        return [_told(at, json.loads(message)) for _, at, message in self.messages]

    def everyone_was_told(self) -> bool:
        """Of something."""
        self._read()
        return len({who for who, _, _ in self.messages}) == self.subscribers

    def _read(self) -> None:
        for socket in self.sockets:
            self.messages += [(socket, at, message) for at, message in socket.read()]


class Subscriber(asyncio.Protocol):
    """One over WebSocket: what comes is noted with its time as it is, and becomes messages only by `read`."""

    def __init__(self, served: Service, heard: Heard) -> None:
        uri = parse_uri(f"{served.url.replace('http', 'ws', 1)}/graphql")
        self._protocol = ClientProtocol(uri, subprotocols=[Subprotocol("graphql-transport-ws")])
        self._init = {"type": "connection_init", "payload": served.headers}
        self._heard = heard
        self._is_subscribed = False
        self._pieces: list[tuple[float, bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        if self._is_subscribed:
            self._pieces.append((time.time(), data))
            return
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            self._go_on(event)
        self._flush()

    def _go_on(self, event: Event) -> None:
        if isinstance(event, Response):
            self._say(self._init)
        elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
            self._say({"id": "1", "type": "subscribe", "payload": {"query": QUERY}})
            self._is_subscribed = True
            self._heard.subscribers += 1

    def _say(self, message: dict[str, Any]) -> None:
        self._protocol.send_text(json.dumps(message).encode())

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)

    def read(self) -> Iterator[tuple[float, bytes]]:
        """What came since the last time, and when; pings among it are answered."""
        pieces, self._pieces = self._pieces, []
        for at, data in pieces:
            self._protocol.receive_data(data)
            for event in self._protocol.events_received():
                if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    yield at, bytes(event.data)
        self._flush()


def _told(at: float, message: dict[str, Any]) -> tuple[str, float]:
    event = (message.get("payload") or message)["data"]["workloadEvents"]
    return event["cursor"], (at - datetime.fromisoformat(event["at"]).timestamp()) * 1000


@dataclass(frozen=True)
class Cost:
    """Of so many events to the service: statements on their table, and milliseconds of work."""

    events: int
    statements: int
    milliseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    subscribers, submissions = (100, 5) if parser.parse_args().quick else (1000, 20)
    uvloop.run(measure(subscribers, submissions))


async def measure(subscribers: int, submissions: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reads = folder / "reads"
        python = ("-c", COUNTED, str(reads))
        async with simulated(folder, NODES, {}) as kubeconfig, service(folder, kubeconfig, SETTINGS, python) as served:
            before, heard = occupied(served.pid), Heard()
            async with AsyncExitStack() as stack:
                await subscribe_all(served, subscribers, heard, stack)
                each = (occupied(served.pid) - before) / subscribers
                cost = await submit_and_wait(served, submissions, heard, reads)
            say(heard, cost, each)


def occupied(pid: int) -> float:
    """KiB that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


async def subscribe_all(served: Service, subscribers: int, heard: Heard, stack: AsyncExitStack) -> None:
    """Until each has subscribed. They are ended with the stack."""
    loop, group = asyncio.get_running_loop(), await stack.enter_async_context(asyncio.TaskGroup())
    client = await stack.enter_async_context(httpx2.AsyncClient(trust_env=False, timeout=None))
    tasks: list[asyncio.Task[None]] = []
    stack.callback(lambda: [task.cancel() for task in tasks])
    address = urlsplit(served.url)
    host, port = str(address.hostname), int(address.port or 80)
    for number in range(subscribers):
        if number < BY_EVENT_STREAM:
            tasks.append(group.create_task(read_event_stream(client, served, heard)))
        else:
            transport, socket = await loop.create_connection(lambda: Subscriber(served, heard), host, port)
            stack.callback(transport.abort)
            heard.sockets.append(socket)
        while number - heard.subscribers >= AT_A_TIME:
            await asyncio.sleep(0.01)
    while heard.subscribers < subscribers:
        await asyncio.sleep(0.01)
    while not heard.everyone_was_told():  # an operation is taken before it has begun
        await submit_all(served, 1, WANTED)
        await asyncio.sleep(2)
    heard.messages.clear()


async def read_event_stream(client: httpx2.AsyncClient, served: Service, heard: Heard) -> None:
    headers = {**served.headers, "accept": "text/event-stream"}
    async with client.stream("POST", f"{served.url}/graphql", json={"query": QUERY}, headers=headers) as answer:
        heard.subscribers += 1
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                heard.take(answer, line.removeprefix("data: "))


async def submit_and_wait(served: Service, submissions: int, heard: Heard, reads: Path) -> Cost:
    """Until everyone was told of every event."""
    statements, began = await statements_of(served, reads), worked(served.pid)
    for _ in range(submissions):
        await submit_all(served, 1, WANTED)
        await asyncio.sleep(PAUSE)
    async with asyncio.timeout(60):
        while True:
            milliseconds = worked(served.pid) - began
            events = len({cursor for cursor, _ in heard.events()})
            if len(heard.messages) >= events * heard.subscribers:
                return Cost(events, await statements_of(served, reads) - statements, milliseconds)
            await asyncio.sleep(0.5)


def worked(pid: int) -> float:
    """Milliseconds that a process was on a core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


async def statements_of(served: Service, reads: Path) -> int:
    reads.unlink(missing_ok=True)
    os.kill(served.pid, signal.SIGUSR1)
    return int(await content(reads))


def say(heard: Heard, cost: Cost, each: float) -> None:
    ordered = sorted(milliseconds for _, milliseconds in heard.events())
    middle, last = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(f"{heard.subscribers} subscribers, {cost.events} events: p50 {middle:.0f} ms, p99 {last:.0f} ms")
    print(f"p99 / aim of {AIM_MS} ms: ratio {last / AIM_MS:.2f}")
    print(f"for an event: {cost.statements / cost.events:.1f} reads, {cost.milliseconds / cost.events:.0f} ms of work")
    print(f"memory of a subscriber: {each:.0f} KiB")


if __name__ == "__main__":
    main()
