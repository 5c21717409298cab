"""In which Kubernetes namespace an organization's Jobs are made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LONGEST = 63  # of a namespace's name
_DIGITS = 10


@dataclass(frozen=True)
class Namespaces:
    """`base` alone for everybody, or one for each organization, named after both."""

    base: str
    per_organization: bool = False

    def of(self, slug: str) -> str:
        """Unique for each slug: what is cut has exactly the longest length, what is not is shorter."""
        if not self.per_organization:
            return self.base
        plain = f"{self.base}-{slug}"
        if len(plain) < LONGEST:
            return plain
        digest = hashlib.sha256(slug.encode()).hexdigest()[:_DIGITS]
        return f"{plain[: LONGEST - _DIGITS - 1]}-{digest}"
