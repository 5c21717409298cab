"""An API server, a process of its own, is stopped, killed, started again: the picture of it is right each time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from app.cluster.projection import Projection
from app.cluster.watches import run_watches
from tests.cluster.builders import job_spec

NAMESPACE = "gpuyard"
QUIET = 1.5
CONFIG = {"settings": {"bookmark_seconds": 0.4}, "fleet": [{"name": "gpu-1", "gpus": 2, "product": "L40S"}]}


@dataclass
class ApiServer:
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        (self.folder / "config.json").write_text(json.dumps(CONFIG))
        command = ["--data", "data", "--config", "config.json", "--ready-file", str(ready)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(  # noqa: ASYNC220 — a moment, and nobody else is waiting
            [sys.executable, "-m", "app.simcluster", *command],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await until(ready.exists)

    def send(self, number: int) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.process
        self.process.wait(10)


async def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 — what is waited for has no event
            await asyncio.sleep(0.02)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    made = ApiServer(tmp_path)
    await made.start()
    yield made
    made.kill()


@dataclass
class Picture:
    port: KubernetesPort
    projection: Projection

    @property
    def failures(self) -> list[int]:
        return [health.failures for health in self.projection.health.values()]

    @property
    def jobs(self) -> set[str]:
        return {name for _, name in self.projection.job_places() if self.projection.observe(name)[0]}

    async def shows_what_happens(self) -> None:
        """All watches work, and a Job that is made and removed comes and goes."""
        await until(lambda: self.projection.synced and not any(self.failures))
        job = await self.port.create_job(job_spec(server="gpu-1"))
        await until(lambda: job.name in self.jobs)
        await self.port.delete_job(job.name, job.uid)
        await until(lambda: not self.jobs)


@asynccontextmanager
async def picture_of(server: ApiServer) -> AsyncIterator[Picture]:
    settings = PortSettings(NAMESPACE, quiet_seconds=QUIET, read_seconds=QUIET, write_seconds=30)
    port = open_port(ConnectionSettings(server.folder / "data" / "kubeconfig"), settings)
    await port.create_namespace()
    picture = Picture(port, Projection(NAMESPACE))
    loops = asyncio.create_task(run_watches(port, picture.projection, time.monotonic, lambda _: None))
    try:
        yield picture
    finally:
        loops.cancel()
        await asyncio.gather(loops, return_exceptions=True)
        await port.close()


async def test_it_hangs_for_a_while(server: ApiServer):
    async with picture_of(server) as picture:
        await picture.shows_what_happens()
        server.send(signal.SIGSTOP)
        await until(lambda: all(picture.failures))
        server.send(signal.SIGCONT)
        await picture.shows_what_happens()


async def test_it_hangs_too_shortly_to_be_noticed(server: ApiServer):
    async with picture_of(server) as picture:
        await picture.shows_what_happens()
        server.send(signal.SIGSTOP)
        await asyncio.sleep(QUIET / 3)
        server.send(signal.SIGCONT)
        await picture.shows_what_happens()
        assert all(health.synced for health in picture.projection.health.values())


async def test_it_is_killed_and_what_goes_on_meanwhile_is_seen_afterwards(server: ApiServer):
    async with picture_of(server) as picture:
        await picture.shows_what_happens()
        job = await picture.port.create_job(job_spec(server="gpu-1"))
        await until(lambda: len(picture.jobs) == 1)
        server.kill()
        await until(lambda: all(picture.failures))
        assert picture.jobs == {job.name}
        await server.start()
        await picture.port.delete_job(job.name, job.uid)
        await until(lambda: not picture.jobs)
        await picture.shows_what_happens()
