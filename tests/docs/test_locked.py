"""deploy/locked.py: the image gets what the application needs, with hashes, and nothing of the tools."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib

import pytest

from tests.docs.pages import ROOT

RUNTIME = "gpuyard (pyproject.toml)"
LOCK = """\
anyio==4.0 \\
    --hash=sha256:aa
    # via
    #   starlette
    #   pytest-thing
pluggy==1.0 \\
    --hash=sha256:bb
    # via pytest
pytest==9.0 ; sys_platform != 'win32' \\
    --hash=sha256:cc \\
    --hash=sha256:dd
    # via gpuyard (pyproject.toml:dev)
starlette==1.0 \\
    --hash=sha256:ee
    # via gpuyard (pyproject.toml)
"""
HASHES = {"anyio": ["aa"], "pluggy": ["bb"], "pytest": ["cc", "dd"], "starlette": ["ee"]}


def printed(*roots: str) -> str:
    command = [sys.executable, "deploy/locked.py", "requirements.lock", *roots]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))


@pytest.mark.parametrize(
    ("root", "kept"),
    [(RUNTIME, {"anyio", "starlette"}), ("pytest", {"pytest", "pluggy"}), ("nothing", set())],
)
def test_what_is_wanted_at_however_many_removes(root: str, kept: set[str]):
    locked = runpy.run_path(str(ROOT / "deploy" / "locked.py"))["locked"]
    found = locked(LOCK, {root})
    assert names(found) == kept
    assert all(f"{name}==" in found and f"sha256:{digest}" in found for name in kept for digest in HASHES[name])
    assert found.count("--hash") == sum(len(HASHES[name]) for name in kept)


def test_the_application_and_none_of_its_tools():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = names(printed(RUNTIME))
    direct = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in project["project"]["dependencies"]}
    tools = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in project["dependency-groups"]["dev"]}
    assert direct <= found
    assert not tools & found


def test_what_builds_the_wheel():
    assert {"hatchling", "pathspec", "pluggy", "trove-classifiers"} <= names(printed("hatchling"))


def test_the_image_uses_it():
    text = (ROOT / "Containerfile").read_text()
    assert f'deploy/locked.py requirements.lock "{RUNTIME}"' in text
    assert text.count("--require-hashes") == 2
