"""docs/graphql.md, "A generated client": what ariadne-codegen makes of the schema compiles, is typed, and works."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.e2e.product import Product

GUIDE = "docs/graphql.md"
TOOLS = Path(sys.prefix) / "codegen" / "bin"  # an environment of its own: `make setup`
MYPY = """
[mypy]
strict = true
plugins = pydantic.mypy

# which the generator copies as it is, and has types of its own making where there is no websockets
[mypy-gpuyard_client.async_base_client]
ignore_errors = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader of the page has: the schema, the configuration and the program that it shows."""
    [configuration] = blocks(GUIDE, "toml")
    [_, program] = blocks(GUIDE, "python")
    (tmp_path / "graphql").symlink_to(ROOT / "graphql")
    (tmp_path / "codegen.toml").write_text(configuration.text)
    (tmp_path / "run.py").write_text(program.text)
    (tmp_path / "mypy.ini").write_text(MYPY)
    return tmp_path


async def ran(folder: Path, *command: str | Path, **environment: str) -> str:
    """What a command printed, which must have ended well."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def test_a_generated_client_compiles_and_submits_and_follows(folder: Path, product: Product):
    assert TOOLS.exists(), "run `make setup`"
    here = {"URL": product.facts["url"], "TOKEN": product.facts["token"], "NO_PROXY": "127.0.0.1"}
    await ran(folder, TOOLS / "ariadne-codegen", "--config", "codegen.toml")
    await ran(folder, TOOLS / "python", "-W", "error", "-m", "compileall", "-q", "gpuyard_client")
    mypy = ("--config-file", "mypy.ini", "--python-executable", TOOLS / "python", "--cache-dir", "mypy")
    await ran(folder, sys.executable, "-m", "mypy", *mypy, "run.py")
    printed = await ran(folder, TOOLS / "python", "-W", "error", "run.py", **here)
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines if "PROGRESSED" not in line] == [
        "PLACED",
        "STARTED",
        "ENDED",
        "COMPLETED",
    ]
    assert lines[-1].startswith("COMPLETED with exit code 0 after 0:")
