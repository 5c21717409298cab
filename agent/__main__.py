"""The agent's commands: `python -m agent inventory` and `python -m agent run`. docs/agent.md is their page."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from agent import ending, inventory
from agent.clock import SystemClock
from agent.gpus import Gpus
from agent.holders import ProcessHolders
from agent.host import Host
from agent.settings import Settings, SettingsError, settings_from
from agent.xids import NoXids


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "inventory":
        return show_inventory(as_json=options.json)
    try:
        settings = settings_from(os.environ)
        _configure_logging(settings)
        ending.hold()
        if options.until_eof:
            ending.comes_with_input()
        return _run(settings, options.simulated)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agent", description="GPUYard's agent on a GPU server.")
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("inventory", help="show this server's GPUs, or what is missing to see them")
    shown.add_argument("--json", action="store_true", help="in the form of the report that the service gets")
    run = commands.add_parser("run", help="report to the service until a signal comes")
    help_text = "speak for simulated servers: those of the simulated cluster with this kubeconfig, or so many"
    run.add_argument("--simulated", metavar="KUBECONFIG_OR_COUNT", help=help_text)
    run.add_argument("--until-eof", action="store_true", help="end too when standard input does: with who started it")
    return parser


def show_inventory(*, as_json: bool) -> int:
    """A server without GPUs is no failure of the command."""
    host = Host(Path("/"))
    gpus = Gpus(host, SystemClock(), ProcessHolders(host), NoXids())
    found = gpus.look().inventory
    gpus.close()
    sys.stdout.write((inventory.as_json(found) if as_json else inventory.as_text(found)) + "\n")
    return 0


def _run(settings: Settings, simulated: str | None) -> int:
    # What reporting needs, gRPC above all, takes time and memory; the inventory does without.
    if simulated is not None:
        from agent.simulated.running import run_simulated  # noqa: PLC0415

        return run_simulated(settings, simulated)
    from agent.running import run  # noqa: PLC0415

    if run(settings):
        # Only a new process can load the library of a new driver. The same process id, so nobody has to restart it.
        os.execv(sys.executable, [sys.executable, "-m", "agent", *sys.argv[1:]])  # noqa: S606 — that is the point
    return 0


def _configure_logging(settings: Settings) -> None:
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line for each report is no news


if __name__ == "__main__":
    sys.exit(main())
