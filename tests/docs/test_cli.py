"""docs/cli.md: every command, option and exit code is there, and its examples run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from app.client import waiting
from app.client.commands import app
from tests.docs.pages import blocks, page, rows, section
from tests.e2e.product import Product

PAGE = "docs/cli.md"
COMMANDS: Mapping[str, Any] = cast("TyperGroup", get_command(app)).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown(name: str):
    assert re.search(rf"^.*gpuyard {name}\b", page(PAGE), re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_described(name: str):
    options = {spelled for it in COMMANDS[name].params for spelled in it.opts if spelled.startswith("--")}
    missing = {spelled for spelled in options - {"--help"} if not re.search(rf"`{spelled}[` ]| {spelled} ", page(PAGE))}
    assert not missing


def test_submissions_options_are_in_its_table():
    described = " ".join(cells[0] for cells in rows(section(PAGE, "## Submit")))
    options = {spelled for it in COMMANDS["submit"].params for spelled in it.opts if spelled.startswith("-")}
    shared = {"--server", "--token-file", "--organization", "--help"}
    assert not {spelled for spelled in options - shared if f"`{spelled}`" not in described}


def test_exit_codes():
    described = {cells[0] for cells in rows(section(PAGE, "## Wait"))} - {"exit code", "0 to 255"}
    codes = {value for name, value in vars(waiting).items() if name.startswith("EXIT_")}
    assert described == {str(code) for code in codes}


async def test_the_examples_run(product: Product, shell: dict[str, str]):
    script = "\n".join(["set -euo pipefail", *(block.text for block in blocks(PAGE, "sh"))])
    here = {"GPUYARD_SERVER": product.facts["url"], "GPUYARD_TOKEN_FILE": product.facts["token_file"]}
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, env={**shell, **here}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, told = (text.decode() for text in await process.communicate())
    assert process.returncode == 0, told
    assert "completed  ended with exit code 0" in told
    assert "2 workloads" in output
    assert told.splitlines()[-1] == "completed  ended with exit code 0"
    assert "args          " in output
    assert "(stopping): cancel asked for by" in output or "cancelled: cancelled by" in output
