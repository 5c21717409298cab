"""README.md: what it tells a newcomer to type works."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks, page
from tests.e2e.product import Product
from tests.placement.builders import request, server, told

ADDRESS = "127.0.0.1:8000"


def here(text: str, product: Product) -> str:
    """The command as it is for this demo's port and folder."""
    address = product.facts["url"].removeprefix("http://")
    text = text.replace(ADDRESS, address).replace(".venv/bin/", "")
    return re.sub(r"""(?<=[ "=])data/""", f"{product.data}/", text)


def commands(*words: str) -> list[str]:
    return [block.text for block in blocks("README.md", "sh") if any(word in block.text for word in words)]


async def run(script: str, environment: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", f"set -euo pipefail\n{script}", env=environment, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, script
    return output.decode()


async def test_submit_and_read(product: Product, shell: dict[str, str]):
    submit, read = commands("curl")
    submitted = json.loads(await run(here(submit, product), shell))
    workload = submitted["data"]["submitWorkload"]["workload"]
    await product.until(workload["id"], status="COMPLETED")
    found = json.loads(await run(here(read, product), shell))
    assert workload["jobName"] == f"gw-{workload['id'].replace('-', '')}-1"
    [edge] = found["data"]["organization"]["workloads"]["edges"]
    assert (edge["node"]["status"], edge["node"]["exitCode"]) == ("COMPLETED", 0)


async def test_the_command(product: Product, shell: dict[str, str]):
    [block] = commands("gpuyard submit")
    submitted, header, listed = (await run(here(block, product), shell)).splitlines()
    assert header.startswith("ID ")
    assert submitted.split()[0] in listed
    assert " completed " in listed


async def test_watch(product: Product, shell: dict[str, str], tmp_path: Path):
    [watcher] = blocks("README.md", "python")
    (tmp_path / "watch.py").write_text(here(watcher.text, product))
    process = await asyncio.create_subprocess_exec(
        "python", "watch.py", cwd=tmp_path, env=shell, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    try:
        assert json.loads(await process.stdout.readline())["type"] == "connection_ack"
        await asyncio.sleep(1)  # nothing tells that the subscription, too, has arrived
        workload = await product.submit()
        event = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
    finally:
        process.kill()
        await process.wait()
    assert event["payload"]["data"]["workloadEvents"]["workloadId"] == workload["id"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the PATH")
async def test_look_with_kubectl(product: Product, shell: dict[str, str]):
    [look] = commands("kubectl --kubeconfig")
    workload = await product.submit(envVars={"SIM_SECONDS": 600})
    await product.until(workload["id"], status="RUNNING")
    shown = await run(here(look, product), shell)
    assert "gpu-1" in shown
    assert workload["jobName"] in shown


def test_the_sentence_that_is_quoted_is_said():
    _, message = told(request(gpus=8), server("gpu-1", free=0), server("gpu-2", free=7, unhealthy=1))
    assert message in " ".join(page("README.md").split())


def test_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in page("README.md")
        assert f"\n{target}: " in makefile
