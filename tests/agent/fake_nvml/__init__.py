"""A pretended NVIDIA driver: a small C library in place of libnvidia-ml.so.1, and the files that say what it answers.

`python -m tests.agent.fake_nvml`, part of `make test`, installs Debian's gcc where it may. The fixtures in
tests/agent/conftest.py install nothing: they skip with the reason where there is no compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("fake_nvml.c")
LIBRARY = "libnvidia-ml.so.1"
VARIABLE = "FAKE_NVML"
COMPILERS = ("gcc", "cc", "clang")
# The name inside makes the loader take it for the real one, wherever it lies.
FLAGS = (
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    f"-Wl,-soname,{LIBRARY}",
)


def find_compiler() -> str | None:
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def build(compiler: str, folder: Path, *, old_driver: bool = False, version: int = 1) -> Path:
    """Compile the library into the folder; an old driver lacks the newer functions.

    A library works with the kernel module of its own version ("module" in the file), or where the file names none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    defines = [f"-DVERSION={version}", *(["-DOLD_DRIVER"] if old_driver else [])]
    subprocess.run(
        [compiler, *FLAGS, *defines, str(SOURCE), "-o", str(folder / LIBRARY), "-lpthread"], check=True, timeout=50
    )
    return folder / LIBRARY


def provide() -> str:
    """Installs Debian's gcc where there is no compiler and this user may; says in a sentence what tests will use."""
    if find_compiler() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "gcc", "libc6-dev"]):
            subprocess.run(["apt-get", "-qq", *arguments], check=False, stdout=subprocess.DEVNULL)
    return find_compiler() or "none, so tests of the agent with a pretended driver are skipped"
