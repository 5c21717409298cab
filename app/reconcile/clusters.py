"""The clusters of the settings: the way to each, the picture of it, and whether it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from app.cluster.port import ClusterPort
from app.cluster.projection import Projection


@dataclass(frozen=True)
class Lost:
    """A cluster has not answered for too long. `since`: the last contact, None where none is known."""

    since: datetime | None
    error: str


@dataclass
class Contact:
    """Kept by `app.reconcile.contact`. `is_late`: it has not been listed yet, and others shall not wait for it."""

    lost: Lost | None = None
    last_at: datetime | None = None
    is_late: bool = False


@dataclass(frozen=True)
class Cluster:
    name: str
    port: ClusterPort
    projection: Projection
    contact: Contact = field(default_factory=Contact)

    @property
    def is_current(self) -> bool:
        """Whether what the projection shows may be planned on."""
        return self.projection.synced and self.contact.lost is None

    @property
    def is_settled(self) -> bool:
        """Whether there is something to say of its workloads: what is seen of them, or that nothing is."""
        return self.projection.synced or self.contact.lost is not None
