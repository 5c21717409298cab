"""A tenth of all requests fails in some way and watches end every few seconds; `make soak` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.installation import installed
from tests.proof.trials import end_of_trouble, faults_of_the_cluster, send, under, verdict

WORKLOADS, SEED = 45, 2
SECONDS = 60.0


@pytest.mark.timeout(240)
async def test_with_faults_of_every_kind_every_workload_has_its_one_end(tmp_path: Path, sqlite_url: str):
    async with installed(tmp_path / "proof", sqlite_url, seed=SEED) as installation:
        work = send(installation, SEED, WORKLOADS)
        sent = await under(faults_of_the_cluster, 100, installation, SEED, work)
        await end_of_trouble(installation)
        assert await verdict(installation, sent, SECONDS) == []
        assert installation.relay.struck.keys() == {"slow", "lost request", "lost answer"}
