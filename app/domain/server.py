"""Which server: a node's name says it only together with its cluster. And what people have decided about it: our own
flags, of which nothing is written to the node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, Self

from app.domain.errors import InvalidInputError

LONGEST_REASON = 200


class ServerId(NamedTuple):
    """Ordered by name first. An empty cluster stands for the only one."""

    name: str
    cluster: str = ""

    def __str__(self) -> str:
        """`cluster/name`; neither part can hold a slash."""
        return f"{self.cluster}/{self.name}" if self.cluster else self.name

    @classmethod
    def parse(cls, text: str) -> Self:
        cluster, _, name = text.rpartition("/")
        return cls(name, cluster)


@dataclass(frozen=True, slots=True)
class Cordon:
    """The server takes no new work. `organization` is the slug of the one whose manager said so."""

    organization: str
    by: str
    at: datetime
    reason: str = ""

    def told_to(self, organization: str) -> Self:
        """Without who and why for the server's next owner: these were said among its former owner's people."""
        return self if organization == self.organization else replace(self, organization="", by="", reason="")

    @property
    def words(self) -> str:
        """To be read after "is"."""
        by = self.by or "its former organization"
        return f"cordoned by {by}: {self.reason}" if self.reason else f"cordoned by {by}"


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """What people have decided about a server. `version` grows with every change.

    `assigned_to` is the slug of the organization that an operator gave it to; empty: its node's label decides.
    """

    version: int = 1
    cordon: Cordon | None = None
    assigned_to: str = ""

    def cordoned(self, cordon: Cordon) -> Self:
        """The same where the organization has it cordoned for that reason: who said so first, and when, stay."""
        there = self.cordon
        is_same = there is not None and (there.organization, there.reason) == (cordon.organization, cordon.reason)
        return self if is_same else replace(self, cordon=cordon)

    def uncordoned(self) -> Self:
        return replace(self, cordon=None)


NO_FLAGS = ServerFlags()


def cordon_reason(text: str) -> str:
    """As it is kept. Raises InvalidInputError."""
    reason = text.strip()
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        words = f"must have at most {LONGEST_REASON} printable characters on one line; it has {len(reason)}"
        raise InvalidInputError.of("reason", words)
    return reason
