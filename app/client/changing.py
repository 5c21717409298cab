"""`gpuyard cancel`, `suspend`, `resume` and `prioritize`: one request a workload, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from app.client import views
from app.client.errors import RefusedError
from app.client.options import PRIORITIES, Server, TokenFile, priority
from app.client.session import session, workload_id

Workloads = Annotated[list[str], typer.Argument(parser=workload_id, metavar="ID", help="Ids, or names of Jobs.")]


def cancel(workloads: Workloads, *, server: Server = None, token_file: TokenFile = None) -> None:
    """Cancel workloads.

    Where one of them can't be cancelled the others are, and the exit code is 1.
    """
    _each("cancel", "cancel_workload", workloads, server, token_file)


def suspend(workloads: Workloads, *, server: Server = None, token_file: TokenFile = None) -> None:
    """Take workloads off the GPUs until they are resumed.

    What runs is sent SIGTERM and stopped; resumed, it starts anew. Where one of them can't be suspended the others are,
    and the exit code is 1.
    """
    _each("suspend", "command/suspend", workloads, server, token_file)


def resume(workloads: Workloads, *, server: Server = None, token_file: TokenFile = None) -> None:
    """Let suspended workloads be placed again.

    Where one of them can't be resumed the others are, and the exit code is 1.
    """
    _each("resume", "command/resume", workloads, server, token_file)


def prioritize(
    to: Annotated[str, typer.Argument(parser=priority, metavar="PRIORITY", help=f"{', '.join(PRIORITIES)}.")],
    workloads: Workloads,
    *,
    server: Server = None,
    token_file: TokenFile = None,
) -> None:
    """Give workloads another priority.

    Above medium for owners. Where one of them can't be given it the others are, and the exit code is 1.
    """
    _each("prioritize", "command/prioritize", workloads, server, token_file, {"priority": to})


def _each(
    verb: str,
    document: str,
    workloads: Sequence[str],
    server: str | None,
    token_file: Path | None,
    more: dict[str, Any] | None = None,
) -> None:
    """Ask for each, print what it is like then, or why not; exits with 1 where any was refused."""
    failed = False
    with session(server, token_file, None) as here:
        for wanted in dict.fromkeys(workloads):
            try:
                answer = here.api.ask(document, {"input": {"id": wanted, **(more or {})}})
            except RefusedError as refusal:
                if refusal.code == "UNAUTHENTICATED":
                    raise
                failed = True
                here.screen.say(f"gpuyard: {refusal}" if wanted in str(refusal) else f"gpuyard: {wanted}: {refusal}")
                continue
            found = answer[f"{verb}Workload"]["workload"]
            words = f"{views.priority(found)} priority" if "priority" in found else found["message"]
            here.screen.result(f"{wanted}  {views.status(found)}: {words}")
    raise typer.Exit(int(failed))
