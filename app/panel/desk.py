"""What all pages share, put together once when the app is built."""

from __future__ import annotations

from dataclasses import dataclass

from app.auth.signin import SignIn
from app.commands.context import CommandContext
from app.domain.agents import SamplePolicy
from app.panel.streams import Streams
from app.reconcile.board import Board
from app.reconcile.forecast import Forecaster
from app.reconcile.logs import LogReader


@dataclass(frozen=True)
class Desk:
    commands: CommandContext
    board: Board
    logs: LogReader
    forecaster: Forecaster
    streams: Streams
    sign_in: SignIn
    samples: SamplePolicy
