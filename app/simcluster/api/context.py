"""What every request handler works with; made once, in app.py."""

from __future__ import annotations

from dataclasses import dataclass

from app.simcluster.api.pages import Pages
from app.simcluster.api.streams import Streams
from app.simcluster.cluster import Cluster
from app.simcluster.faults import Faults
from app.simcluster.settings import Settings
from app.simcluster.store import Store


@dataclass(slots=True)
class Context:
    cluster: Cluster
    store: Store
    settings: Settings
    streams: Streams
    pages: Pages
    faults: Faults

    @classmethod
    def of(cls, cluster: Cluster) -> Context:
        store, settings = cluster.store, cluster.settings
        return cls(
            cluster, store, settings, Streams(), Pages(store.clock, settings.pages, settings.page_seconds), Faults()
        )
