"""The agent's commands: `python -m agent inventory` and `python -m agent run`. docs/agent.md is their page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent import inventory
from agent.clock import SystemClock
from agent.gpus import Gpus
from agent.holders import ProcessHolders
from agent.host import Host
from agent.xids import NoXids


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return show_inventory(as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agent", description="GPUYard's agent on a GPU server.")
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("inventory", help="show this server's GPUs, or what is missing to see them")
    shown.add_argument("--json", action="store_true", help="in the form of the report that the service gets")
    return parser


def show_inventory(*, as_json: bool) -> int:
    """A server without GPUs is no failure of the command."""
    host = Host(Path("/"))
    gpus = Gpus(host, SystemClock(), ProcessHolders(host), NoXids())
    found = gpus.look().inventory
    gpus.close()
    sys.stdout.write((inventory.as_json(found) if as_json else inventory.as_text(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
