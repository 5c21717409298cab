"""The app is killed at random moments while workloads of all kinds pass through; `make soak` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.installation import installed
from tests.proof.trials import end_of_trouble, kills_of_the_app, send, under, verdict

WORKLOADS, KILLS, SEED = 60, 3, 1
SECONDS = 60.0


@pytest.mark.timeout(240)
async def test_killed_at_random_every_workload_has_its_one_end(tmp_path: Path, database_url: str):
    async with installed(tmp_path / "proof", database_url, seed=SEED) as installation:
        work = send(installation, SEED, WORKLOADS)
        sent = await under(kills_of_the_app, KILLS, installation, SEED, work)
        await end_of_trouble(installation)
        assert await verdict(installation, sent, SECONDS) == []
        assert installation.kills["app"] >= KILLS - 1
