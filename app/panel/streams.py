"""Server-sent events: the streams that are open, their end at shutdown, and the shape of a message.

uvicorn waits at its end for open connections, so a stream must end by itself: `end_all` is called by the server when a
signal has come, wakes every stream, and each says goodbye and returns. The browser comes back by itself, with the id of
the last message it saw.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from starlette.responses import StreamingResponse

from app.bus import Signal

BYE = "bye"  # the page closes the stream and doesn't come back
TICK = "tick"  # a sign of life that the page can see, which a comment is not
CHANGED = "changed"  # tells other parts of the page that they are out of date
_COME_BACK = "restart"
_COME_BACK_MILLISECONDS = 1000


@dataclass
class Streams:
    """All open streams of the process."""

    ending: bool = False
    _signals: set[Signal] = field(default_factory=set)

    def end_all(self) -> None:
        self.ending = True
        for signal in self._signals:
            signal.set()

    @contextmanager
    def open(self, signal: Signal) -> Iterator[None]:
        """While inside, `end_all` sets the signal that the stream waits for."""
        self._signals.add(signal)
        try:
            yield
        finally:
            self._signals.discard(signal)


def message(html: str, cursor: int | str) -> str:
    """HTML that the page swaps in. `cursor` comes back as Last-Event-ID."""
    return f"id: {cursor}\n{_data(html)}\n"


def event(name: str, data: str = "-") -> str:
    """A named message: an event in the page, nothing is swapped."""
    return f"event: {name}\n{_data(data)}\n"


def come_back() -> str:
    """The server goes down; `retry` counts only beside an event."""
    return f"retry: {_COME_BACK_MILLISECONDS}\n{event(_COME_BACK)}"


def _data(text: str) -> str:
    return "".join(f"data: {line}\n" for line in text.splitlines())


def response(stream: AsyncGenerator[str, None]) -> StreamingResponse:
    return StreamingResponse(
        _closing(stream),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _closing(stream: AsyncGenerator[str, None]) -> AsyncIterator[str]:
    """Run the generator's `finally` here and now when the browser has gone, not when it is collected."""
    async with aclosing(stream):
        async for text in stream:
            yield text
