"""`gpuyard` as a person has it: a process of its own, told by its environment where the service is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass

from tests.e2e.product import Product

SECONDS = 120  # only a machine that is very busy needs them


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def environment(product: Product, **changed: str) -> dict[str, str]:
    here = {name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")}
    ours = {
        "GPUYARD_SERVER": product.facts["url"],
        "GPUYARD_TOKEN_FILE": product.facts["token_file"],
        "GPUYARD_ORGANIZATION": "demo",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    return {**here, **ours, **changed}


async def begun(product: Product, *words: str, **changed: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app",
        *words,
        env=environment(product, **changed),
        stdout=PIPE,
        stderr=PIPE,
        preexec_fn=_hears_ctrl_c,
    )


def _hears_ctrl_c() -> None:
    """A shell lets what it starts in the background ignore SIGINT, and the tests' own process may be such."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def heard(process: Process, words: str) -> str:
    """What it says besides its output, up to the line with the words."""
    assert process.stderr
    said = ""
    async with asyncio.timeout(SECONDS):
        while words not in said:
            line = await process.stderr.readline()
            assert line, said
            said += line.decode()
    return said


async def first_line(process: Process) -> str:
    assert process.stdout
    return (await asyncio.wait_for(process.stdout.readline(), SECONDS)).decode()


async def ended(process: Process) -> Done:
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def run(product: Product, *words: str, **changed: str) -> Done:
    return await ended(await begun(product, *words, **changed))
