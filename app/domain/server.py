"""Which server: a node's name says it only together with its cluster."""

from __future__ import annotations

from typing import NamedTuple, Self


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
