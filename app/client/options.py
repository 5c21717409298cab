"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.client.connection import DEFAULT_SERVER, SERVER
from app.client.durations import parse_duration
from app.client.session import ORGANIZATION, workload_id

STATUSES = ("pending", "running", "completed", "failed", "cancelled", "timeout")
PRIORITIES = ("very-low", "low", "medium", "high", "very-high")
LIMITS = "Limits"
_HERE = "Connection"


def option_of(read: Callable[[str], Any], spelled: str, metavar: str, words: str, panel: str | None) -> Any:
    """An option whose value `read` makes of the text; its ValueError is a wrong use of the command."""

    def parsed(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return typer.Option(spelled, parser=parsed, metavar=metavar, help=words, rich_help_panel=panel)


def duration(spelled: str, words: str) -> Any:
    """A span of time; the parameter gets seconds."""
    return option_of(parse_duration, spelled, "DURATION", words, LIMITS)


def statuses(text: str) -> list[str]:
    """`running,pending` as the API spells them. Raises typer.BadParameter."""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in STATUSES]:
        raise typer.BadParameter(f"{unknown[0][:40]!r} is no status; there are {', '.join(STATUSES)}")
    return [word.upper() for word in words]


def priority(text: str) -> str:
    """`very-high` as the API spells it. Raises typer.BadParameter."""
    word = text.strip().lower().replace("_", "-")
    if word not in PRIORITIES:
        raise typer.BadParameter(f"{text[:40]!r} is no priority; there are {', '.join(PRIORITIES)}")
    return word.replace("-", "_").upper()


Server = Annotated[
    str | None,
    typer.Option(help=f"Address of the service; also {SERVER}. {DEFAULT_SERVER} unless given.", rich_help_panel=_HERE),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        help="File that holds the token; also GPUYARD_TOKEN_FILE. Or put the token into GPUYARD_TOKEN.",
        rich_help_panel=_HERE,
        show_default=False,
    ),
]
Organization = Annotated[
    str | None,
    typer.Option(envvar=ORGANIZATION, help="Its slug. Not needed where you belong to one only.", rich_help_panel=_HERE),
]
WorkloadId = Annotated[str, typer.Argument(parser=workload_id, metavar="ID", help="Its id, or the name of its Job.")]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("--output", "-o", help="How it is printed.")]
