"""Faults that somebody may switch on while the cluster runs. They hit the Kubernetes API alone, not the controllers."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from typing import Any

ACTIONS = ("drop_watches", "expire_watches")


@dataclass(frozen=True, slots=True)
class Faults:
    latency_ms: float = 0.0
    rate_429: float = 0.0  # shares of requests, 0 to 1
    rate_500: float = 0.0
    non_json: float = 0.0  # answers like a broken proxy's: a 502 with an HTML page

    def changed(self, values: dict[str, Any]) -> Faults:
        known = [item.name for item in fields(self)]
        if unknown := sorted(set(values) - {*known, *ACTIONS}):
            raise ValueError(f"unknown faults {', '.join(unknown)}; known are {', '.join([*known, *ACTIONS])}")
        new = {name: float(values[name]) for name in known if name in values}
        if any(value < 0 for value in new.values()):
            raise ValueError("a fault's number can't be negative")
        return replace(self, **new)

    def strike(self) -> int:
        """The status code to fail this request with; 0: it goes on."""
        dice = random.random()  # noqa: S311 - a fault's chance, nothing secret
        for share, code in ((self.rate_429, 429), (self.rate_500, 500), (self.non_json, 502)):
            if dice < share:
                return code
            dice -= share
        return 0
