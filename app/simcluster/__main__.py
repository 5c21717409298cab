"""The command: `python -m app.simcluster --data DIR`. Options are in docs/simulated-cluster.md."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import structlog
import uvloop

from app.simcluster.fleet import DEFAULT_FLEET, NodeSpec
from app.simcluster.home import LockedError, write_private
from app.simcluster.server import check_host, running
from app.simcluster.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        check_host(options.host)
        settings, fleet = read_config(options.config)
        uvloop.run(_serve(options, settings, fleet))
    except (LockedError, OSError, ValueError) as error:
        sys.stderr.write(f"simcluster: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m app.simcluster", description="A simulated Kubernetes cluster.")
    parser.add_argument("--data", type=Path, required=True, help="folder of its state, made if missing")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1, ::1 or localhost")
    parser.add_argument("--port", type=int, default=0, help="0: the one used last, or any that is free")
    parser.add_argument("--config", type=Path, help="JSON: a list of nodes, or {fleet, settings}")
    parser.add_argument("--ready-file", type=Path, help="written when it serves: url, kubeconfig, ca, pid")
    return parser


def read_config(path: Path | None) -> tuple[Settings, tuple[NodeSpec, ...]]:
    if path is None:
        return Settings(), DEFAULT_FLEET
    value: Any = json.loads(path.read_text())
    config = {"fleet": value} if isinstance(value, list) else value
    if not isinstance(config, dict) or set(config) - {"fleet", "settings"}:
        raise ValueError(f"{path}: expected a list of nodes, or an object with fleet and settings")
    nodes = config.get("fleet")
    fleet = DEFAULT_FLEET if nodes is None else tuple(NodeSpec.from_json(node) for node in nodes)
    return Settings.from_json(config.get("settings") or {}), fleet


async def _serve(options: argparse.Namespace, settings: Settings, fleet: tuple[NodeSpec, ...]) -> None:
    stop = asyncio.Event()
    if options.ready_file:
        options.ready_file.unlink(missing_ok=True)  # one of an earlier run would speak too soon
    async with running(options.data, host=options.host, port=options.port, settings=settings, fleet=fleet) as cluster:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        files = {"kubeconfig": str(cluster.kubeconfig.absolute()), "ca": str(cluster.ca.absolute())}
        line = json.dumps({"url": cluster.url, **files, "pid": os.getpid()})
        if options.ready_file:
            write_private(options.ready_file, line + "\n")
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
