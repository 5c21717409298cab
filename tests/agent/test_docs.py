"""docs/agent.md says what the code says."""

from __future__ import annotations

import re

from agent.health import RULES
from agent.metrics import AgentMetrics
from agent.settings import VARIABLES
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "agent.md").read_text()


def test_every_rule_of_health_is_written_down() -> None:
    for reason, rule in RULES.items():
        row = f"| {reason.name} | {rule.level} | {rule.begins} | {rule.ends} |\n"
        assert row in PAGE, f"docs/agent.md wants this row:\n{row}"


def test_every_setting_is_written_down() -> None:
    for name, meaning in VARIABLES.items():
        row = rf"^\| `{name}` \| {re.escape(meaning)}[^|]*\|"
        assert re.search(row, PAGE, re.MULTILINE), f"describe {name}: {meaning}"


def test_every_metric_is_written_down() -> None:
    names = {family.name for family in AgentMetrics(list).collect()}
    assert [name for name in names if name not in PAGE] == []
