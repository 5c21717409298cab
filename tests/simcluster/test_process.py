"""The command as a process: ready file, lock, restart after `kill -9`, quick end with open watches."""

from __future__ import annotations

import json
import signal
import ssl
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.simcluster.world import job_document

CONFIG = {"settings": {"pull_seconds": 0, "start_seconds": 0}, "fleet": [{"name": "n1", "gpus": 2, "product": "L40S"}]}


class Process:
    """`python -m app.simcluster` on one data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "config.json").write_text(json.dumps(CONFIG))
        self.process: subprocess.Popen[str] | None = None

    def command(self, *more: str) -> list[str]:
        options = ["--data", str(self.folder / "data"), "--config", str(self.folder / "config.json")]
        return [sys.executable, "-m", "app.simcluster", *options, *more]

    def start(self) -> dict[str, Any]:
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout
        ready: dict[str, Any] = json.loads(self.process.stdout.readline())
        return ready

    def end(self, number: int = signal.SIGTERM) -> float:
        """Seconds until it had ended."""
        if self.process is None:
            return 0.0
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        self.process = None
        return time.monotonic() - began

    def ask(self, path: str, body: Any = None, *, method: str = "GET") -> Any:
        with self.open(path, body, method=method) as response:
            return json.load(response)

    def open(self, path: str, body: Any = None, *, method: str = "GET") -> HTTPResponse:
        data = self.folder / "data"
        identity = json.loads((data / "identity.json").read_text())
        request = urllib.request.Request(
            f"https://127.0.0.1:{identity['port']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {identity['token']}", "Content-Type": "application/json"},
        )
        trust = ssl.create_default_context(cafile=data / "ca.pem")
        response: HTTPResponse = urllib.request.urlopen(request, timeout=60, context=trust)  # noqa: S310
        return response


@pytest.fixture
def simcluster(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path)
    yield process
    process.end(signal.SIGKILL)


SECRETS = ("kubeconfig", "identity.json", "server.pem", "ca.pem")
JOBS = "/apis/batch/v1/namespaces/default/jobs"
POD = "/api/v1/namespaces/default/pods"


def the_pod(simcluster: Process, phase: str) -> Any:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pods = simcluster.ask(POD)["items"]
        if pods and pods[0]["status"]["phase"] == phase:
            return pods[0]
        time.sleep(0.01)
    raise AssertionError(f"no pod is {phase}")


def test_it_goes_on_after_kill_9(simcluster: Process):
    before = simcluster.start()
    files = contents(simcluster)
    job = simcluster.ask(JOBS, job_document("a", seconds=600), method="POST")
    pod = the_pod(simcluster, "Running")
    simcluster.end(signal.SIGKILL)
    after = simcluster.start()
    again = the_pod(simcluster, "Running")
    assert {**after, "pid": 0} == {**before, "pid": 0}
    assert contents(simcluster) == files
    assert simcluster.ask(f"{JOBS}/a")["metadata"]["uid"] == job["metadata"]["uid"]
    assert (again["metadata"], again["status"]) == (pod["metadata"], pod["status"])
    simcluster.ask(f"/simcluster/pods/default/{pod['metadata']['name']}/exit", method="POST")
    assert the_pod(simcluster, "Succeeded")["status"]["startTime"] == pod["status"]["startTime"]


def contents(simcluster: Process) -> list[str]:
    return [(simcluster.folder / "data" / name).read_text() for name in SECRETS]


def test_it_ends_soon_with_open_watches(simcluster: Process):
    simcluster.start()
    with simcluster.open("/api/v1/nodes?watch=1&resourceVersion=0") as response:
        assert response.readline()
        assert simcluster.end() < 20  # a watch lasts for minutes
        assert b"" in {response.readline() for _ in range(3)}


def test_secrets_are_the_owners_alone(simcluster: Process):
    simcluster.start()
    for name in SECRETS:
        assert stat.S_IMODE((simcluster.folder / "data" / name).stat().st_mode) == 0o600


def refused(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    return done.stderr


def test_two_cannot_share_a_folder(simcluster: Process):
    simcluster.start()
    assert "is in use by another simulated cluster" in refused(simcluster.command())


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"settings": {"speed": 1}}, "unknown settings speed"),
        ([{"name": "n", "gpu": 1}], "unknown node fields gpu"),
        ({"nodes": []}, "expected a list of nodes, or an object with fleet and settings"),
    ],
)
def test_a_config_that_is_wrong_is_named(simcluster: Process, config: Any, words: str):
    (simcluster.folder / "config.json").write_text(json.dumps(config))
    assert words in refused(simcluster.command())


def test_only_loopback(simcluster: Process):
    assert "loopback addresses only" in refused(simcluster.command("--host", "0.0.0.0"))
