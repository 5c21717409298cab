"""The simulated cluster put together: store, engine, controllers. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Iterable

from app.simcluster.defaults import default_namespace
from app.simcluster.fleet import NodeSpec, devices, node_object
from app.simcluster.inside.context import Inside
from app.simcluster.inside.engine import Engine
from app.simcluster.inside.events import Recorder
from app.simcluster.inside.gc import GarbageCollector
from app.simcluster.inside.index import Index
from app.simcluster.inside.jobcontroller import JobController
from app.simcluster.inside.kubelet import Kubelet
from app.simcluster.inside.nodes import Nodes
from app.simcluster.inside.nodestate import NodeState
from app.simcluster.inside.outcomes import Outcomes
from app.simcluster.inside.scheduler import Scheduler
from app.simcluster.journal import Journal
from app.simcluster.meta import Clock
from app.simcluster.resources import NAMESPACES, NODES
from app.simcluster.settings import Settings
from app.simcluster.store import Store

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_FLEET_MADE = "fleet"


class Cluster:
    def __init__(self, settings: Settings, clock: Clock, journal: Journal, fleet: Iterable[NodeSpec]) -> None:
        self.settings = settings
        self.store = Store(settings, clock, journal)
        self.store.load()
        self.engine = Engine(clock)
        with self.store.batch():
            self._make_world(fleet)
        events = Recorder(self.store)
        inside = Inside(self.store, self.engine, Index(self.store), events, settings)
        self.index = inside.index
        self.nodes = Nodes(inside)
        self.kubelet = Kubelet(inside, Outcomes(inside, self.nodes).happen)
        self.scheduler = Scheduler(inside)
        self.jobs = JobController(inside)
        self.garbage = GarbageCollector(inside)

    def _make_world(self, fleet: Iterable[NodeSpec]) -> None:
        """Namespaces, and the fleet the first time: a node that somebody deleted stays deleted."""
        for name in _NAMESPACES:
            if self.store.get(NAMESPACES, name) is None:
                self.store.create(NAMESPACES, default_namespace({"metadata": {"name": name}}))
        if self.store.noted(_FLEET_MADE, "done") is not None:
            return
        for spec in fleet:
            known = [device for of_one_name in devices(spec).values() for device in of_one_name]
            bad = tuple(known[index] for index in spec.unhealthy)
            NodeState(unhealthy=bad).save(self.store, spec.name)
            self.store.create(NODES, node_object(spec))
        self.store.note(_FLEET_MADE, "done", {})
