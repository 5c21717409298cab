"""docs/agent.md says what the code says."""

from __future__ import annotations

from agent.health import RULES
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "agent.md").read_text()


def test_every_rule_of_health_is_written_down() -> None:
    for reason, rule in RULES.items():
        row = f"| {reason.name} | {rule.level} | {rule.begins} | {rule.ends} |\n"
        assert row in PAGE, f"docs/agent.md wants this row:\n{row}"
