"""What our attempts will take on their servers although no pod of theirs is seen bound there yet.

Kept in memory by the one process that places and reconciles, because it is asked at every plan; read from the store at
the start and at every full look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.cluster.projection import Projection
from app.domain.workload import Attempt, Workload
from app.placement.snapshot import Claim
from app.store import reads


@dataclass
class Claims:
    projections: Mapping[str, Projection]  # by the cluster's name
    _claims: dict[tuple[UUID, int], tuple[Attempt, Claim]] = field(default_factory=dict)
    _dropped: set[tuple[UUID, int]] = field(default_factory=set)  # since the last load began
    _loaded: bool = False

    def clear(self) -> None:
        """Another process has placed meanwhile: they are to be loaded before the next use."""
        self._claims.clear()
        self._loaded = False

    async def load(self) -> None:
        """Take them anew from the store. What is added meanwhile stays, what is dropped meanwhile stays away."""
        added_before = set(self._claims)
        self._dropped.clear()
        stored = [pair for pair in await reads.unstarted_attempts() if _key(pair[0]) not in self._dropped]
        for key in added_before - {_key(attempt) for attempt, _ in stored}:
            self._claims.pop(key, None)
        for attempt, workload in stored:
            self.add(attempt, workload)
        self._loaded = True

    async def ensure_loaded(self) -> None:
        if not self._loaded:
            await self.load()

    def add(self, attempt: Attempt, workload: Workload) -> None:
        resources = workload.spec.resources
        claim = Claim(
            attempt.server, attempt.gpu_resource, resources.gpu_count, resources.cpu_millis, resources.memory_bytes
        )
        self._claims[_key(attempt)] = (attempt, claim)

    def drop(self, attempt: Attempt) -> None:
        """The attempt has ended: whatever it holds is its pod's now."""
        self._dropped.add(_key(attempt))
        self._claims.pop(_key(attempt), None)

    def open(self, cluster: str) -> list[Claim]:
        """Those in the cluster whose pod isn't seen bound; the others are dropped: their pods are counted by now."""
        seen = [key for key, (attempt, _) in self._claims.items() if self._is_counted(attempt)]
        for key in seen:
            del self._claims[key]
        return [claim for attempt, claim in self._claims.values() if attempt.cluster == cluster]

    def _is_counted(self, attempt: Attempt) -> bool:
        projection = self.projections.get(attempt.cluster)
        _, pod = projection.observe(attempt.job_name, namespace=attempt.namespace) if projection else (None, None)
        return pod is not None and (bool(pod.node) or pod.is_over)


def _key(attempt: Attempt) -> tuple[UUID, int]:
    return attempt.workload_id, attempt.number
