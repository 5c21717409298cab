"""`gpuyard release` on what a killed installation holds in its cluster."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import PortSettings, open_port
from app.reconcile.release import held_pods
from tests.e2e.product import Product


async def gpuyard(product: Product, *arguments: str) -> tuple[int, str]:
    """The exit code, and all that it said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")}
    environment |= {
        "GPUYARD_DATABASE_URL": f"sqlite:///{product.data / 'gpuyard.db'}",
        "GPUYARD_KUBECONFIG": product.facts["kubeconfig"],
    }
    pipe: dict[str, Any] = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "app", *arguments, env=environment, **pipe)
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def held(product: Product) -> int:
    port = open_port(ConnectionSettings(Path(product.facts["kubeconfig"])), PortSettings("gpuyard"))
    try:
        return len(await held_pods(port))
    finally:
        await port.close()


async def test_pods_are_let_go_once_the_service_is_down(fresh_product: Product):
    await fresh_product.start()
    refused, words = await gpuyard(fresh_product, "release")
    assert refused == 1
    assert "a service works on this database (process" in words
    for _ in range(2):
        workload = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
        await fresh_product.until(workload["id"], status="RUNNING")
    fresh_product.kill()
    await fresh_product.exit(workload["id"])
    code, words = await gpuyard(fresh_product, "release", "--dry-run")
    assert (code, await held(fresh_product)) == (0, 2)
    assert "2 pods held: 1 running; 1 ended, not recorded; 0 ended, recorded." in words
    assert "Nothing was changed." in words
    code, words = await gpuyard(fresh_product, "release")
    assert (code, await held(fresh_product)) == (0, 0)
    assert "2 pods released." in words
    assert (await gpuyard(fresh_product, "release", "--all", "--force"))[1].startswith("No pod is held.")
