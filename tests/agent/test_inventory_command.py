"""`python -m agent inventory` as a process, which finds a library the way any machine does: by the loader's path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fake_nvml import VARIABLE
from tests.agent.machines import Machine, Values, driver, gpu_uuid, h100, h100_with_mig, mig_uuid, t4
from tests.house.tree import ROOT


def told(library: Path | None, values: Values, folder: Path, *options: str) -> str:
    machine = Machine(folder / "machine")
    machine.write(values)
    variables = {**os.environ, VARIABLE: str(machine.file), "PYTHONPATH": str(ROOT)}
    variables["LD_LIBRARY_PATH"] = str(library.parent if library else folder)
    command = [sys.executable, "-m", "agent", "inventory", *options]
    done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def told_as_json(library: Path | None, values: Values, folder: Path) -> Any:
    return json.loads(told(library, values, folder, "--json"))


def test_json_has_the_form_of_the_report(new_driver: Path, tmp_path: Path) -> None:
    inventory = told_as_json(new_driver, driver(h100_with_mig(0), t4(1)), tmp_path)
    assert (inventory["state"], inventory["driverVersion"], inventory["cudaVersion"]) == ("OK", "580.95.05", "13.0")
    h100_gpu, t4_gpu = inventory["devices"]
    assert h100_gpu["migInstances"] == [
        {"uuid": mig_uuid(0, 0), "profile": "1g.10gb", "memoryMib": 9984},
        {"uuid": mig_uuid(0, 2), "profile": "3g.40gb", "memoryMib": 40448},
    ]
    assert h100_gpu["health"] == {"health": "OK", "message": ""}
    assert "migEnabled" not in t4_gpu


def test_text_is_for_people(new_driver: Path, tmp_path: Path) -> None:
    text = told(new_driver, {**driver(h100_with_mig(0)), "gpu.0.ecc.double": 3}, tmp_path)
    assert "driver 580.95.05, CUDA up to 13.0" in text
    assert f"0  {gpu_uuid(0)}  NVIDIA H100 80GB HBM3, 81559 MiB" in text
    assert f"{mig_uuid(0, 0)}  1g.10gb, 9984 MiB" in text
    assert "failed: its memory had 3 uncorrectable errors" in text


def test_an_old_driver_without_the_newer_functions_is_enough(old_driver: Path, tmp_path: Path) -> None:
    values = {**driver(t4(0), version="418.87.01", cuda=10010), "gpu.0.throttle": 0x48}
    inventory = told_as_json(old_driver, values, tmp_path)
    (device,) = inventory["devices"]
    assert (inventory["driverVersion"], inventory["cudaVersion"]) == ("418.87.01", "10.1")
    assert (device["product"], device["memoryMib"], device["computeCapability"]) == ("Tesla T4", 15360, "7.5")
    assert "migEnabled" not in device


@pytest.mark.parametrize(
    ("values", "state", "words"),
    [
        ({"init.error": 9}, "NO_DRIVER", "its kernel module is not loaded"),
        ({"init.error": 18}, "MISMATCH", "the driver was upgraded while its old kernel module is still loaded"),
        ({"init.error": 4}, "NO_PERMISSION", "this user may not use the driver"),
        ({"init.error": 999}, "ERROR", "the driver does not work"),
        (driver(), "NO_GPU", "counts no GPU"),
    ],
)
def test_what_is_missing_is_explained(new_driver: Path, tmp_path: Path, values: Values, state: str, words: str) -> None:
    inventory = told_as_json(new_driver, values, tmp_path)
    assert (inventory["state"], inventory["devices"]) == (state, [])
    assert words in inventory["message"]
    assert f"no GPU can be used: {inventory['message']}" in told(new_driver, values, tmp_path)


def test_without_a_library_it_says_where_one_comes_from(tmp_path: Path) -> None:
    inventory = told_as_json(None, {}, tmp_path)
    if inventory["state"] != "NO_LIBRARY":
        pytest.skip("this machine has NVIDIA's library")
    assert "install NVIDIA's driver" in inventory["message"]
    assert "NVIDIA_DRIVER_CAPABILITIES=utility" in inventory["message"]


def test_a_lost_gpu_hides_no_other(new_driver: Path, tmp_path: Path) -> None:
    text = told(new_driver, {**driver(h100(0), h100(1)), "gpu.0.handle": 15}, tmp_path)
    assert "not everything answers: GPU 0: NVML error 15: GPU is lost" in text
    assert gpu_uuid(1) in text
