"""The `gpuyard` command. What talks to a service is loaded in a moment; what runs one, only where it is asked for."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperGroup

from app.client.commands import app as client


class _Commands(TyperGroup):
    """The client's commands at once, all others when a name is not among them or all are listed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._load()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def _load(self) -> None:
        from app.cli.operate import app as operate  # noqa: PLC0415 — a second and a half of imports

        self.commands.update(cast("TyperGroup", typer.main.get_command(operate)).commands)


app = typer.Typer(
    cls=_Commands, no_args_is_help=True, help="GPU batch jobs on your own servers.", pretty_exceptions_enable=False
)
app.add_typer(client)
