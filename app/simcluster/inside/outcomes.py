"""What SIM_OUTCOME lets happen to a running pod from outside: as though an operator or the cluster did it."""

from __future__ import annotations

from app.simcluster.inside.behaviour import Behaviour, Outcome
from app.simcluster.inside.context import Inside
from app.simcluster.inside.deletion import delete_object, delete_pod
from app.simcluster.inside.eviction import evict
from app.simcluster.inside.nodes import Nodes
from app.simcluster.meta import Json, key_of, namespace_of, node_of, owner_of, uid_of
from app.simcluster.resources import JOBS, PODS


class Outcomes:
    def __init__(self, inside: Inside, nodes: Nodes) -> None:
        self._store = inside.store
        self._nodes = nodes

    def happen(self, outcome: Outcome, pod: Json, behaviour: Behaviour) -> None:
        match outcome:
            case Outcome.NODE_LOST:
                self._nodes.lose(node_of(pod), behaviour.node_back_seconds)
            case Outcome.DRAIN:
                evict(self._store, pod, None)
            case Outcome.POD_DELETED:
                delete_pod(self._store, self._store.get(PODS, key_of(pod)) or pod, None)
            case Outcome.JOB_DELETED:
                self._delete_job(pod)
            case _:
                return  # the kubelet's own doing

    def _delete_job(self, pod: Json) -> None:
        owner = owner_of(pod)
        job = self._store.get(JOBS, f"{namespace_of(pod)}/{owner['name']}") if owner else None
        if job and owner and uid_of(job) == owner["uid"]:
            delete_object(self._store, JOBS, job, "Background", None)
