"""A live log over however many sockets it takes: what came last is where the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from app.client.errors import UnreachableError
from app.client.waiting import Waiter

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0

Open = Callable[[str | None], Iterator[dict[str, Any]]]


def follow(open_at: Open, write: Callable[[str], None], waiter: Waiter) -> None:
    """Write each piece once, to the log's end. `open_at` takes the cursor of the last piece, or None.

    Raises what `open_at` raises, but waits where the service can't be reached.
    """
    after: str | None = None
    attempt = 0
    pause, told = _FIRST_PAUSE, False
    while True:
        try:
            for chunk in open_at(after):
                if attempt and attempt != chunk["attempt"]:
                    waiter.say(f"gpuyard: attempt {chunk['attempt']} begins")
                if chunk["gap"]:
                    waiter.say("gpuyard: a part of the log is missing here")
                write(chunk["text"])
                after, attempt, pause, told = chunk["cursor"], chunk["attempt"], _FIRST_PAUSE, False
                if chunk["isLast"]:
                    return
        except UnreachableError as error:
            if not told:
                waiter.say(f"gpuyard: {error}; connecting again")
            told = True
        waiter.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
