"""An API that fails everything is not hammered, however many workloads are live and however often they are woken.

Real HTTP and real time, some seconds of it: what counts is how many requests arrive there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from app.clock import SystemClock
from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.projection import Projection
from app.cluster.watches import run_watches
from app.reconcile.loop import KeyedLoop
from tests.cluster.builders import NAMESPACE
from tests.cluster.conftest import connected
from tests.cluster.scripted_api import Answer, Request, ScriptedApi, answer, failure, scripted_api

LIVE, SECONDS = 200, 4.0


class FailingApi(ScriptedApi):
    """Gives one answer to everything, and a good one once `mended`."""

    def __init__(self, given: Answer) -> None:
        super().__init__()
        self.given = given
        self.mended = False
        self.arrived: list[tuple[float, str]] = []

    def choose(self, request: Request) -> Answer:
        self.arrived.append((time.monotonic(), request.path))
        return answer({"items": [], "metadata": {"uid": "u", "name": "n"}}) if self.mended else self.given


@pytest.fixture(params=[failure(429), failure(429, Retry_After="1"), failure(500), Answer(502, [b"<html>"])])
async def failing(request: pytest.FixtureRequest) -> AsyncIterator[FailingApi]:
    async with scripted_api(api=FailingApi(request.param)) as api:
        assert isinstance(api, FailingApi)
        yield api


async def wake_often(loop: KeyedLoop[str]) -> None:
    """As nodes that come and go do, and a full look."""
    while True:
        for number in range(LIVE):
            loop.queue.add(f"gw-{number}-1")
        await asyncio.sleep(0.5)


async def test_few_requests_arrive_and_all_is_well_soon_afterwards(failing: FailingApi, tmp_path: Path):
    async with connected(failing, tmp_path, PortSettings(NAMESPACE)) as port:
        reached: set[str] = set()
        loop: KeyedLoop[str] = KeyedLoop("jobs", SystemClock(), lambda name: find(port, name, reached), workers=16)
        watches = run_watches(port, Projection(NAMESPACE), time.monotonic, lambda _: None)
        tasks = [asyncio.create_task(work) for work in (loop.run(), wake_often(loop), watches)]
        await asyncio.sleep(SECONDS)
        last_second = [path for at, path in failing.arrived if at > time.monotonic() - 1]
        assert len(failing.arrived) < 80, len(failing.arrived)
        assert len(last_second) < 12, last_second
        failing.mended = True
        async with asyncio.timeout(40):
            while len(reached) < LIVE:  # noqa: ASYNC110 — what is waited for has no event
                await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def find(port: KubernetesPort, name: str, reached: set[str]) -> datetime | None:
    await port.find(name)
    reached.add(name)
    return None
