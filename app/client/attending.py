"""Staying with a workload: its events while one waits, its log as it comes, and letting go of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from app.client.following import follow
from app.client.session import Session
from app.client.sockets import subscribe
from app.client.waiting import EXIT_DETACHED, Progress, Waiter, begun, ended


def stay_to_the_end(session: Session, workload_id: str, *, follows: bool) -> Mapping[str, Any]:
    """Tell what happens, write the log too if it is wanted; the workload as it has ended."""
    progress = Progress(lambda: session.workload("command/progress", workload_id), _waiter(session))
    if follows:
        progress.until(begun)
        follow_log(session, workload_id)
    return progress.until(ended)


def follow_log(session: Session, workload_id: str) -> None:
    """Write the log as it comes, from its beginning to its end."""

    def open_at(after: str | None) -> Iterator[dict[str, Any]]:
        variables = {"id": workload_id, "after": after}
        for data in subscribe(session.connection, session.tls, "workload_logs", variables):
            yield data["workloadLogs"]

    try:
        follow(open_at, session.screen.log, _waiter(session))
    finally:
        session.screen.end_of_log()


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
