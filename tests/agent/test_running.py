"""The agent as a process: a pretended driver under it, a service before it, and what becomes of either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent.fake_nvml import VARIABLE, build
from tests.agent.machines import Machine, driver, gpu_uuid, h100, h100_with_mig
from tests.agent.service import FakeService, Json, receipt
from tests.house.tree import ROOT

POD_UID = "0f5a3c9e-7b1d-4c55-9a57-2f1f3f0a9b11"


@pytest.fixture
def desk() -> Iterator[FakeService]:
    desk = FakeService()
    yield desk
    desk.close()


@pytest.fixture
def box(tmp_path: Path) -> Machine:
    """The machine that the process under test sees; not this one."""
    machine = Machine(tmp_path / "machine")
    machine.write(driver(h100(0), h100(1)))
    return machine


@dataclass(frozen=True)
class Agent:
    process: subprocess.Popen[bytes]
    log: Path

    def metrics_address(self) -> str:
        lines = self.log.read_text().splitlines()
        return next(line for line in lines if "metrics at" in line).rpartition(" ")[2]

    def ends(self) -> int:
        """Asked to by SIGTERM; its exit code. A second is enough (bench/agent.py), were it not for busy machines."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        assert time.monotonic() - began < 5
        return code


@contextmanager
def running(desk: FakeService, box: Machine, library: Path, **more: str) -> Iterator[Agent]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")},
        "PYTHONPATH": str(ROOT),
        "LD_LIBRARY_PATH": str(library),
        VARIABLE: str(box.file),
        "GPUYARD_URL": desk.url,
        "GPUYARD_AGENT_TOKEN": "secret",
        "GPUYARD_AGENT_INTERVAL": "1",
        "NODE_NAME": "gpu-1",
        **more,
    }
    command = [sys.executable, "-m", "agent", "run"]
    log = box.file.with_suffix(".log")
    with log.open("w") as stderr:
        process = subprocess.Popen(command, env=environment, cwd=box.file.parent, stderr=stderr)
    try:
        yield Agent(process, log)
    finally:
        process.kill()
        process.wait()
    assert "broke down" not in log.read_text()


def state(report: Json) -> str | None:
    return report["inventory"]["state"] if "inventory" in report else None


def health(report: Json, index: int) -> tuple[str, str] | None:
    devices = report["inventory"]["devices"] if "inventory" in report else []
    return next(((each["health"]["health"], each["health"].get("reason", "")) for each in devices[index:]), None)


def test_it_tells_all_then_what_changes_until_it_is_ended(desk: FakeService, box: Machine, new_driver: Path) -> None:
    group = box.file.parent / "cgroup" / f"kubepods/burstable/pod{POD_UID}"
    group.mkdir(parents=True)
    (group.parents[2] / "cgroup.controllers").touch()
    (group / "memory.current").write_text(f"{700 << 20}")
    (group / "memory.stat").write_text(f"inactive_file {200 << 20}")
    desk.answer = lambda _: receipt(podUids=[POD_UID])
    settings = {"GPUYARD_AGENT_METRICS": "127.0.0.1:0", "GPUYARD_CGROUP_FOLDER": str(group.parents[2])}
    with running(desk, box, new_driver.parent, **settings) as agent:
        first = desk.until(bool)
        assert (first["node"], first["sequence"], state(first)) == ("gpu-1", 1, "OK")
        assert [device["uuid"] for device in first["inventory"]["devices"]] == [gpu_uuid(0), gpu_uuid(1)]
        assert desk.tokens[0] == "Bearer secret"
        second = desk.until(lambda report: report["sequence"] == 2)
        assert "inventory" not in second
        assert [(each["device"], each["utilization"]) for each in second["samples"]] == [
            (gpu_uuid(0), 87),
            (gpu_uuid(1), 87),
        ]
        [of_a_pod] = second["podSamples"]
        assert (of_a_pod["podUid"], of_a_pod["memoryMib"]) == (POD_UID, 500)
        with urllib.request.urlopen(agent.metrics_address()) as answer:  # noqa: S310 — its own address
            assert f'UUID="{gpu_uuid(1)}"'.encode() in answer.read()
        box.write(driver(h100_with_mig(0), h100(1)))
        desk.until(lambda report: state(report) and len(report["inventory"]["devices"][0]["migInstances"]) == 2)
        assert agent.ends() == 0


def test_a_gpu_that_is_lost_and_an_xid_are_told_at_once(desk: FakeService, box: Machine, new_driver: Path) -> None:
    with running(desk, box, new_driver.parent, GPUYARD_AGENT_INTERVAL="300"):
        desk.until(bool)
        box.set(gpu__1__error=15)
        box.event(0, 79)  # which wakes the agent, long before its interval is over
        told = desk.until(lambda report: health(report, 0) == ("FAILED", "XID"))
        assert health(told, 1) == ("FAILED", "LOST")


def test_a_service_that_is_away_gets_the_samples_later(desk: FakeService, box: Machine, new_driver: Path) -> None:
    desk.answer = lambda _: (503, b"away", {})
    with running(desk, box, new_driver.parent):
        desk.until(lambda report: report["sequence"] == 2)
        desk.answer = lambda _: receipt()
        arrived = desk.until(lambda report: len(report["samples"]) > 2 and state(report), since=len(desk.reports))
        assert state(arrived) == "OK"
        moments = [sample["at"] for sample in arrived["samples"]]
        assert moments == sorted(moments)
        assert moments[0] == desk.reports[0]["samples"][0]["at"]


def test_everything_may_be_absent_and_come_later(desk: FakeService, box: Machine, new_driver: Path) -> None:
    """The library is not there; then it is, without its module; then all is well."""
    folder = box.file.parent / "lib"
    folder.mkdir()
    box.write({"init.error": 9})
    with running(desk, box, folder):
        desk.until(lambda report: state(report) == "NO_LIBRARY")
        (folder / new_driver.name).write_bytes(new_driver.read_bytes())
        desk.until(lambda report: state(report) == "NO_DRIVER")
        box.write(driver(h100(0)))
        found = desk.until(lambda report: state(report) == "OK")
        assert len(found["inventory"]["devices"]) == 1


def test_a_driver_that_is_upgraded_under_it_is_a_state_until_the_new_one_is_loaded(
    desk: FakeService, box: Machine, compiler: str
) -> None:
    """Its library is replaced on disk. Only a new process can load that: the same one, begun anew."""
    library = build(compiler, box.file.parent / "lib")
    newer = build(compiler, box.file.parent / "newer", version=2)
    with running(desk, box, library.parent) as agent:
        before = desk.until(lambda report: state(report) == "OK")
        box.write(driver(h100(0), version="590.44.01") | {"module": 2})
        desk.until(lambda report: state(report) == "MISMATCH")
        newer.replace(library)
        after = desk.until(lambda report: state(report) == "OK" and report["agentId"] != before["agentId"])
        assert after["inventory"]["driverVersion"] == "590.44.01"
        assert agent.process.poll() is None


def test_a_driver_that_hangs_keeps_it_neither_silent_nor_from_ending(
    desk: FakeService, box: Machine, new_driver: Path
) -> None:
    with running(desk, box, new_driver.parent) as agent:
        desk.until(bool)
        box.set(**{"delay.nvmlDeviceGetUtilizationRates": 60_000})
        signs_of_life = len(desk.reports)
        desk.until(lambda report: not report["samples"], since=signs_of_life)
        assert agent.ends() == 0


def test_wrong_settings_are_said_and_end_it(desk: FakeService, box: Machine, new_driver: Path) -> None:
    with running(desk, box, new_driver.parent, GPUYARD_AGENT_INTERVAL="often", GPUYARD_AGENT_TOKEN="") as agent:
        assert agent.process.wait(20) == 2
        words = agent.log.read_text()
        assert "GPUYARD_AGENT_INTERVAL is 'often'" in words
        assert "set one of GPUYARD_AGENT_TOKEN and GPUYARD_AGENT_TOKEN_FILE; neither is set" in words
        assert "Traceback" not in words
