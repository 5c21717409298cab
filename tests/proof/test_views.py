"""What the app sees of the cluster is old, or has a gap, while workloads of all kinds pass through.

A workload may end in the gap, be cancelled in it, or lose its pod or its Job; a node may go and come back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.installation import installed
from tests.proof.trials import Trouble, end_of_trouble, gaps_in_watches, send, stale_views, under, verdict

WORKLOADS, SEED = 42, 3
SECONDS = 60.0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("trouble", [stale_views, gaps_in_watches])
async def test_with_a_wrong_view_every_workload_has_its_one_end(tmp_path: Path, sqlite_url: str, trouble: Trouble):
    async with installed(tmp_path / "proof", sqlite_url, seed=SEED) as installation:
        sent = await under(trouble, 3, installation, SEED, send(installation, SEED, WORKLOADS))
        await end_of_trouble(installation)
        assert await verdict(installation, sent, SECONDS) == []
