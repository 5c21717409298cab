"""The simulated cluster as a process of its own: started here, found again after the app was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from app.demo.folder import read_json

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ClusterDidNotStartError(Exception):
    """The simulated cluster's process ended, or did not answer in time; the message holds its last words."""


@dataclass(frozen=True)
class SimulatedCluster:
    url: str
    kubeconfig: Path
    ca: Path
    pid: int


async def ensure_cluster(folder: Path) -> SimulatedCluster:
    """The cluster of this folder: the one that still runs, or a new process on the same state and address."""
    ready_file = folder / "ready.json"
    if running := await _answering(ready_file):
        return running
    process = _start(folder, ready_file)
    try:
        async with asyncio.timeout(_START_SECONDS):
            while process.poll() is None:
                if cluster := await _answering(ready_file):
                    return cluster
                await asyncio.sleep(0.05)
    except TimeoutError:
        process.terminate()
    raise ClusterDidNotStartError(_last_words(folder))


def _start(folder: Path, ready_file: Path) -> subprocess.Popen[bytes]:
    """In a session of its own: it must outlive the app, however the app ends."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ready_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "app.simcluster", "--data", str(folder), "--ready-file", str(ready_file)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


async def _answering(ready_file: Path) -> SimulatedCluster | None:
    match read_json(ready_file):
        case {"url": str(url), "kubeconfig": str(kubeconfig), "ca": str(ca), "pid": int(pid)}:
            cluster = SimulatedCluster(url, Path(kubeconfig), Path(ca), pid)
        case _:
            return None
    try:
        trust = ssl.create_default_context(cafile=cluster.ca)
        async with httpx2.AsyncClient(timeout=2.0, trust_env=False, verify=trust) as client:
            answer = await client.get(f"{url}/readyz")
    except (OSError, httpx2.TransportError):  # the former: its files are gone
        return None
    return cluster if answer.status_code < httpx2.codes.INTERNAL_SERVER_ERROR else None


def _last_words(folder: Path) -> str:
    lines = (folder / "log").read_text(errors="replace").splitlines()[-15:]
    return "the simulated cluster did not start:\n" + "\n".join(lines)


async def stop_cluster(cluster: SimulatedCluster) -> None:
    """Ask it to end; its state stays on disk."""
    try:
        os.kill(cluster.pid, signal.SIGTERM)
        async with asyncio.timeout(_STOP_SECONDS):
            while True:
                os.kill(cluster.pid, 0)
                _reap(cluster.pid)
                await asyncio.sleep(0.05)
    except ProcessLookupError:
        return
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.kill(cluster.pid, signal.SIGKILL)


def _reap(pid: int) -> None:
    """A child that has ended stays visible until it is waited for; one of an earlier demo is not our child."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
