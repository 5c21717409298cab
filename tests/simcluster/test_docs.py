"""docs/simulated-cluster.md names everything that can be set."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from app.simcluster.faults import ACTIONS, Faults
from app.simcluster.fleet import NodeSpec
from app.simcluster.inside import behaviour
from app.simcluster.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/simulated-cluster.md").read_text()


def fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


@pytest.mark.parametrize(
    "names",
    [
        fields(Settings),
        [*fields(Faults), *ACTIONS],
        fields(NodeSpec),
        [str(outcome) for outcome in behaviour.Outcome],
        sorted(set(re.findall(r'"(SIM_[A-Z_]+)"', Path(behaviour.__file__).read_text()))),
    ],
    ids=["settings", "faults", "nodes", "outcomes", "variables"],
)
def test_every_name_is_in_the_document(names: list[str]):
    assert names
    assert [name for name in names if not re.search(rf"[`\"]{re.escape(name)}[`\"]", DOCUMENT)] == []
