"""What every controller works with; made once, in cluster.py."""

from __future__ import annotations

from dataclasses import dataclass

from app.simcluster.inside.engine import Engine
from app.simcluster.inside.events import Recorder
from app.simcluster.inside.index import Index
from app.simcluster.settings import Settings
from app.simcluster.store import Store


@dataclass(frozen=True, slots=True)
class Inside:
    store: Store
    engine: Engine
    index: Index
    events: Recorder
    settings: Settings
