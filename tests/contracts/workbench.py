"""What the contract tests work with: specs that behave alike everywhere, waiting for a cluster, cleaning up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from app.cluster.kubernetes_port import KubernetesPort
from app.cluster.port import JobSpec
from app.cluster.transport import Request, Transport
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod
from app.domain.workload import job_name

Seen = tuple[ObservedJob | None, ObservedPod | None]
UNTIL_STOPPED = "trap 'exit 143' TERM; sleep 600 & wait"


@dataclass
class Workbench:
    port: KubernetesPort
    transport: Transport
    namespace: str
    node: ObservedNode
    image: str
    own_namespace: str = ""  # of an organization, where its Jobs are not in the settings' one
    is_simulated: bool = True
    _started: list[ObservedJob] = field(default_factory=list)

    def spec(
        self,
        script: str = "true",
        *,
        seconds: float = 0.1,
        code: int = 0,
        text: str = "",
        outcome: str = "",
        **more: Any,
    ) -> JobSpec:
        """`script` is what a real container runs; the other arguments tell a simulated one to do the same."""
        workload_id = uuid4()
        simulated = {
            "SIM_SECONDS": str(seconds),
            "SIM_EXIT_CODE": str(code) if code else "",
            "SIM_LOG_TEXT": text,
            "SIM_LOG_LINES": "0",
            "SIM_OUTCOME": outcome,
        }
        values: dict[str, Any] = {
            "job_name": job_name(workload_id, 1),
            "workload_id": workload_id,
            "attempt": 1,
            "organization": "contract",
            "image": self.image,
            "cpu_millis": 50,
            "memory_bytes": 32 * 1024**2,
            "gpu_count": 1,
            "gpu_resource": self.node.allocatable_gpus[0][0],
            "server": self.node.name,
            "run_limit_seconds": 600,
            "start_limit_seconds": 60,
            "command": ("sh", "-c", script),
            "env_vars": tuple((name, value) for name, value in simulated.items() if value),
        }
        return JobSpec(**{**values, **more})

    def endless(self, **more: Any) -> JobSpec:
        """Runs until it is told to stop, then ends with 143."""
        return self.spec(UNTIL_STOPPED, seconds=600, **more)

    async def start(self, spec: JobSpec) -> ObservedJob:
        job = await self.port.create_job(spec)
        self._started.append(job)
        return job

    async def until(self, name: str, holds: Callable[[Seen], object], seconds: float = 60) -> Seen:
        seen: Seen = (None, None)
        try:
            async with asyncio.timeout(seconds):
                while not holds(seen := await self.port.find(name, namespace=self.own_namespace)):  # noqa: ASYNC110 - a direct read is the point
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"waited {seconds} s; the last that was seen: {seen}") from None
        return seen

    async def running(self, spec: JobSpec) -> tuple[ObservedJob, ObservedPod]:
        await self.start(spec)
        return both(await self.until(spec.job_name, lambda seen: seen[1] and seen[1].running_since))

    async def ended(self, spec: JobSpec) -> tuple[ObservedJob, ObservedPod]:
        """Its pod has ended, and its Job knows."""
        await self.start(spec)
        return both(await self.until(spec.job_name, has_ended))

    async def let_end(self, pod: ObservedPod) -> None:
        """A real container ends by itself, after some seconds; a simulated one runs on until it is told to end."""
        if self.is_simulated:
            await self.transport.call(Request("POST", f"/simcluster/pods/{pod.namespace}/{pod.name}/exit"))

    async def clean_up(self) -> None:
        """Leave nothing that holds a GPU: the next test may need it."""
        for job in self._started:
            await self.port.delete_job(job.name, job.uid)
        for job in self._started:
            await self.until(job.name, lambda seen: seen[1] is None or is_finished(seen[1]) or not seen[1].node)
            _, pod = await self.port.find(job.name)
            if pod:
                await self.port.release_pod(pod)


def is_finished(pod: ObservedPod) -> bool:
    return pod.phase in ("Succeeded", "Failed")


def has_ended(seen: Seen) -> bool:
    job, pod = seen
    return bool(pod and is_finished(pod) and job and (job.is_complete or job.failure))


def both(seen: Seen) -> tuple[ObservedJob, ObservedPod]:
    job, pod = seen
    assert job
    assert pod
    return job, pod


def same_name(spec: JobSpec) -> JobSpec:
    """Another workload's attempt under the same Job name."""
    return replace(spec, workload_id=uuid4())
