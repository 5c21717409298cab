"""The demo's node agent: one process that speaks for all servers of the simulated cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from app.auth.secrets import hash_token, new_token
from app.cluster_settings import DEFAULT_CLUSTER
from app.commands.agent_tokens import create_agent_token
from app.demo.folder import write_private_text
from app.domain.agents import AgentBinding

_TOKEN_FILE = "agent-token"  # noqa: S105 — a file's name
_STOP_SECONDS = 5.0


async def ensure_agent_token(folder: Path, now: datetime) -> Path:
    """The file of the token that all simulated servers share. A crash before it is written leaves a token unused."""
    path = folder / _TOKEN_FILE
    if not path.is_file():
        secret = new_token()
        await create_agent_token(AgentBinding(DEFAULT_CLUSTER), hash_token(secret), now)
        write_private_text(path, secret)
    return path


class DemoAgent:
    """Started once the demo's servers are on record, as a report of an unknown one is refused.

    It ends with the demo, however that ends: its standard input does then.
    """

    def __init__(self, kubeconfig: Path, token_file: Path, log: Path) -> None:
        self._kubeconfig = kubeconfig
        self._token_file = token_file
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, url: str) -> None:
        others = {name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")}
        own = {"GPUYARD_URL": url, "GPUYARD_AGENT_TOKEN_FILE": str(self._token_file)}
        command = [sys.executable, "-m", "agent", "run", "--until-eof", "--simulated", str(self._kubeconfig)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env={**others, **own}, start_new_session=True
            )

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
