"""Which taints the pods of workloads tolerate: a setting of the installation, in the spelling of `kubectl taint`.

Placement and the pods use the same values, so that no server is chosen that the scheduler would then refuse.
Source of the matching rule: k8s.io/component-helpers, tolerations against taints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.labels import is_key
from app.domain.observed import Taint

_CORDON = "node.kubernetes.io/unschedulable"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


@dataclass(frozen=True)
class Toleration:
    """`value` None tolerates every value of the key, `effect` empty every effect."""

    key: str
    effect: str = ""
    value: str | None = None

    def __str__(self) -> str:
        """The reverse of `parse`."""
        return self.key + ("" if self.value is None else f"={self.value}") + (self.effect and f":{self.effect}")

    def covers(self, taint: Taint) -> bool:
        return self.key == taint.key and self.effect in ("", taint.effect) and self.value in (None, taint.value)

    @classmethod
    def parse(cls, text: str) -> Toleration:
        """`key[=value][:effect]`. Raises ValueError."""
        named, _, effect = text.partition(":")
        key, equals, value = named.partition("=")
        if not is_key(key) or not _VALUE.fullmatch(value) or (":" in text and effect not in _EFFECTS):
            msg = f"{text[:80]!r} is not key[=value][:effect]; effects are {', '.join(_EFFECTS)}"
            raise ValueError(msg)
        if key == _CORDON:
            msg = f"{key} can't be tolerated: a cordoned server takes no new work"
            raise ValueError(msg)
        return cls(key, effect, value if equals else None)


DEFAULT_TOLERATIONS = (Toleration("nvidia.com/gpu", "NoSchedule"),)  # the usual taint of GPU servers
