"""The agent as the demo starts it: it ends with whoever started it, however that ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.service import FakeService
from tests.house.tree import ROOT


@pytest.fixture
def desk() -> Iterator[FakeService]:
    desk = FakeService()
    yield desk
    desk.close()


def test_it_ends_when_its_input_does(desk: FakeService, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPUYARD_URL": desk.url, "GPUYARD_AGENT_TOKEN": "secret"}
    command = [sys.executable, "-m", "agent", "run", "--until-eof", "--simulated", "1"]
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdin=subprocess.PIPE)
    try:
        desk.until(bool)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
