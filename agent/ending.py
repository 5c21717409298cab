"""The signals that end the agent: held back for all its threads and waited for by the first one.

They are not handled, as a handler that sets an event may meet its own thread waiting for that very event.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

_SIGNALS = {signal.SIGTERM, signal.SIGINT}


def hold() -> None:
    """Before any other thread is started: threads have what the one that started them has."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def has_come(within_seconds: float) -> bool:
    """Waits for one, so long."""
    return signal.sigtimedwait(_SIGNALS, within_seconds) is not None


def comes_with_input() -> None:
    """The end of standard input is one too: then whoever started the agent is gone."""
    threading.Thread(target=_watch_input, name="input", daemon=True).start()


def _watch_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        continue
    os.kill(os.getpid(), signal.SIGTERM)
