"""Which pods are let go before an uninstall, and whose."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from app.cluster.port import ConflictError, RefusedError
from app.domain.observed import ObservedPod
from app.domain.workload import job_name
from app.reconcile.release import held_pods, of_installation, release
from tests.reconcile.builders import INSTALLATION, World, name_of


def a_pod(world: World, installation: str = INSTALLATION, namespace: str = "gpuyard") -> ObservedPod:
    name = job_name(uuid4(), 1)
    pod = ObservedPod(f"pod-{name}", name, namespace, name, "gpu-1", "Running", is_held=True, installation=installation)
    world.cluster.pods[pod.uid] = pod
    return pod


async def ours(world: World) -> dict[str, bool]:
    held = await of_installation(await held_pods(world.cluster), INSTALLATION, "gpuyard")
    return {it.pod.job_name: it.is_recorded for it in held}


async def test_pods_of_this_installation_and_of_no_other(world: World):
    mine, _, _ = a_pod(world), a_pod(world, "another"), a_pod(world, "")
    a_pod(world, namespace="elsewhere")
    assert await ours(world) == {mine.job_name: False}
    assert len(await held_pods(world.cluster)) == 4


async def test_a_pod_of_an_early_release_is_known_by_its_workload(world: World):
    workload = await world.run()
    assert world.cluster.pod_of(name_of(workload)) is not None
    world.cluster.change_pod(name_of(workload), installation="")
    assert await ours(world) == {name_of(workload): False}


async def test_what_is_not_held_is_left_alone(world: World):
    pod = a_pod(world)
    world.cluster.pods[pod.uid] = replace(pod, is_held=False)
    stranger = replace(pod, uid="stranger", job_name="", is_held=True)
    world.cluster.pods[stranger.uid] = stranger
    assert await held_pods(world.cluster) == []


async def test_they_are_let_go_and_what_could_not_be_is_told(world: World):
    pods = [a_pod(world) for _ in range(4)]
    refusal = RefusedError(403, "Forbidden", "pods is forbidden")
    world.cluster.fail("release_pod", refusal, ConflictError("another one"))
    assert await release(world.cluster, pods) == [f"gpuyard/{pods[0].name}: pods is forbidden"]
    assert [world.cluster.pods[pod.uid].is_held for pod in pods] == [True, True, False, False]
