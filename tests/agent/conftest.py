"""Fixtures of the node agent's tests. NVML is real down to ctypes; the library under it is a pretended driver."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.gpus import Gpus
from agent.holders import ProcessHolders
from agent.host import Host
from agent.xids import XidWatch
from tests.agent import fake_nvml
from tests.agent.machines import Machine
from tests.clock import ManualClock


@pytest.fixture(scope="session")
def compiler() -> str:
    found = fake_nvml.find_compiler()
    if found is None:
        pytest.skip("no C compiler here: run `make compiler`, or install gcc")
    return found


@pytest.fixture(scope="session")
def new_driver(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a present driver."""
    return fake_nvml.build(compiler, tmp_path_factory.mktemp("new-driver"))


@pytest.fixture(scope="session")
def old_driver(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a driver from before MIG."""
    return fake_nvml.build(compiler, tmp_path_factory.mktemp("old-driver"), old_driver=True)


@pytest.fixture
def machine(new_driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """What this process sees through pynvml. Once loaded by its path, the library is what the loader finds by name."""
    ctypes.CDLL(str(new_driver))
    machine = Machine(tmp_path / "machine")
    monkeypatch.setenv(fake_nvml.VARIABLE, str(machine.file))
    yield machine
    os.environ.pop(fake_nvml.VARIABLE, None)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """The files of a kernel; there are none yet."""
    return Host(tmp_path / "root")


@pytest.fixture
def xids() -> XidWatch:
    return XidWatch(wait_seconds=0.02)


@pytest.fixture
def gpus(machine: Machine, host: Host, clock: ManualClock, xids: XidWatch) -> Iterator[Gpus]:
    gpus = Gpus(host, clock, ProcessHolders(host), xids)
    yield gpus
    gpus.close()
