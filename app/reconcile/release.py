"""Letting go of pods before an uninstall: our finalizer comes off, and the cluster may drop what it kept for us.

Called by the command, not by a loop: while GPUYard runs, a pod is let go when its end is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.cluster.port import ClusterPort, ConflictError, Kind, RefusedError
from app.domain.observed import ObservedPod
from app.domain.workload import read_job_name
from app.store import reads

_READ_AT_ONCE = 200


@dataclass(frozen=True)
class Held:
    """A pod that carries our finalizer. `is_recorded`: its end and its log are stored, so nothing is lost with it."""

    pod: ObservedPod
    is_recorded: bool


async def held_pods(port: ClusterPort) -> list[ObservedPod]:
    """Every pod that any GPUYard holds, in any namespace."""
    pods = (await port.list_all(Kind.PODS)).items
    return [pod for pod in pods if isinstance(pod, ObservedPod) and pod.is_held and pod.job_name]


async def of_installation(pods: Sequence[ObservedPod], installation: str, namespace: str) -> list[Held]:
    """Those of this database: by their mark, or, where they have none yet, by their workload.

    `namespace` is where attempts are that name none.
    """
    found: list[Held] = []
    for start in range(0, len(pods), _READ_AT_ONCE):
        some = pods[start : start + _READ_AT_ONCE]
        names = {pod.uid: named for pod in some if (named := read_job_name(pod.job_name))}
        attempts = {(a.workload_id, a.number): a for a in await reads.attempts_of([w for w, _ in names.values()])}
        for pod in some:
            attempt = attempts.get(names[pod.uid]) if pod.uid in names else None
            is_ours = pod.installation == installation or (not pod.installation and attempt is not None)
            if is_ours and pod.namespace == ((attempt.namespace if attempt else "") or namespace):
                found.append(Held(pod, attempt is not None and attempt.log_taken_at is not None))
    return found


async def release(port: ClusterPort, pods: Sequence[ObservedPod]) -> list[str]:
    """Let them go; returns a sentence for each one that could not be. UnavailableError ends it: begin again."""
    problems = []
    for pod in pods:
        try:
            await port.release_pod(pod)
        except ConflictError:
            continue  # another pod has the name by now: this one is gone
        except RefusedError as error:
            problems.append(f"{pod.namespace}/{pod.name}: {error.message}")
    return problems
