"""What a server has in total, free or not, usable or not: whether a request could ever be met.

Callers: the plan, and the submit command, which refuses what no server on record is large enough for. Only what the
request asks for counts: a whole GPU is never met by a MIG slice or a share, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from app.domain.gpus import Device, GpuRequirements, satisfies


class Sized(Protocol):
    """Anything that knows its GPUs per resource name, unhealthy ones counted."""

    @property
    def gpus_total(self) -> Mapping[str, int]: ...

    def device(self, resource: str) -> Device: ...


def most_on_one_server(server: Sized, wanted: GpuRequirements) -> int:
    """The most that meet the demand under one resource name, as one pod asks for one name only."""
    return max(_counts(server, wanted), default=0)


def has_several_names(server: Sized, wanted: GpuRequirements) -> bool:
    """Whether there are more of them than a pod may have, under another resource name."""
    return sum(_counts(server, wanted)) > most_on_one_server(server, wanted)


def _counts(server: Sized, wanted: GpuRequirements) -> list[int]:
    return [count for resource, count in server.gpus_total.items() if satisfies(server.device(resource), wanted)]
