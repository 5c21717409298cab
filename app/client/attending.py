"""Staying with a workload: its events while one waits, and letting go of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from app.client.session import Session
from app.client.waiting import EXIT_DETACHED, Waiter, ended, progress


def wait_for(
    session: Session, workload_id: str, until: Callable[[Mapping[str, Any]], bool] = ended
) -> Mapping[str, Any]:
    """Tell what happens until it is so."""
    return progress(lambda: session.workload("command/progress", workload_id), _waiter(session), until)


@contextmanager
def detaching(session: Session, workload_id: str) -> Iterator[None]:
    """Ctrl-C lets go of the workload; how to end it is said."""
    try:
        yield
    except KeyboardInterrupt:
        session.screen.say("")  # the terminal shows ^C on the line
        session.screen.say(f"gpuyard: {workload_id} goes on; `gpuyard cancel {workload_id}` ends it")
        raise typer.Exit(EXIT_DETACHED) from None


def _waiter(session: Session) -> Waiter:
    return Waiter(session.screen.say, time.sleep)
