"""What a cluster shows, in our words: projections of Job, Pod and Node, made by `app.cluster.observer`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.gpus import WHOLE, Device, GpuLabels, Version, device_of

NEUTRAL_WAITING = frozenset({"ContainerCreating", "PodInitializing"})  # every container waits so before it starts


@dataclass(frozen=True)
class Terminated:
    """A container's end. `reason` is the runtime's word (Completed, Error, OOMKilled, StartError, …)."""

    exit_code: int
    reason: str
    message: str
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True)
class ObservedPod:
    """`phase` is the pod's own; the container fields are those of the workload's container, not of sidecars.

    `init_failure`: which init container, put there by the cluster's owner, failed and how; ours never starts then.
    """

    uid: str
    name: str
    namespace: str
    job_name: str
    node: str
    phase: str
    reason: str = ""
    message: str = ""
    waiting_reason: str = ""
    waiting_message: str = ""
    running_since: datetime | None = None
    terminated: Terminated | None = None
    init_failure: str = ""
    disruption: str = ""
    scheduling_message: str = ""
    created_at: datetime | None = None
    pod_started_at: datetime | None = None
    deletion_requested_at: datetime | None = None
    run_limit_seconds: int | None = None
    is_held: bool = False  # carries our finalizer
    job_uid: str = ""
    installation: str = ""
    gpus: tuple[str, ...] = ()
    unhealthy_gpus: tuple[str, ...] = ()  # of these, by the device plugin's word
    gpu_requests: tuple[tuple[str, int], ...] = ()
    cpu_millis: int = 0
    memory_bytes: int = 0

    @property
    def is_over(self) -> bool:
        """By phase: a pod whose container has ended may be called Running yet, its reason still to come.

        A deleted pod that never had a node is over too: nobody is there to say so of it.
        """
        return self.phase in ("Succeeded", "Failed") or (self.deletion_requested_at is not None and not self.node)

    @property
    def holds_capacity(self) -> bool:
        """By phase alone, as the scheduler counts: a pod that is being deleted still holds what it has."""
        return bool(self.node) and not self.is_over


@dataclass(frozen=True)
class ObservedJob:
    """`failure` is the reason of the Failed or FailureTarget condition, empty while there is none.

    `installation` is the id of the GPUYard that made it, `server` the only one that its pod may run on. An empty
    `namespace` is that of the settings. `obstacle`: why it has no pod, in the controller's words; only a direct look at
    the cluster tells.
    """

    uid: str
    name: str
    workload_id: str
    attempt: int
    is_deleting: bool = False
    is_complete: bool = False
    failure: str = ""
    failure_message: str = ""
    created_at: datetime | None = None
    installation: str = ""
    server: str = ""
    gpu_resource: str = ""
    obstacle: str = ""
    namespace: str = ""


@dataclass(frozen=True)
class Observation:
    """Everything seen of one attempt at one moment.

    `node_answers` is None while the node is unknown. An absent Job or pod is a fact here: the caller has confirmed an
    absence with the API before it says so. `cluster_ahead` is how far the cluster's clock is ahead of ours.
    """

    job: ObservedJob | None = None
    pod: ObservedPod | None = None
    node_answers: bool | None = None
    cluster_ahead: timedelta = timedelta(0)

    def here(self, stamp: datetime) -> datetime:
        """A moment by the cluster's clock, as our clock has it."""
        return stamp - self.cluster_ahead

    def there(self, moment: datetime) -> datetime:
        """A moment by our clock, as the cluster's clock has it."""
        return moment + self.cluster_ahead


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class ObservedNode:
    """A node as the cluster shows it.

    `pool` is the value of the pool label, empty without it. `capacity_gpus` counts every device, `allocatable_gpus` the
    healthy ones, both per resource name; of `shared_gpus` each device is a share. `pressure` names conditions such as
    DiskPressure that are True.
    """

    name: str
    uid: str
    is_ready: bool
    is_cordoned: bool
    taints: tuple[Taint, ...]
    pressure: tuple[str, ...]
    pool: str
    cpu_millis: int
    memory_bytes: int
    capacity_gpus: tuple[tuple[str, int], ...]
    allocatable_gpus: tuple[tuple[str, int], ...]
    product: str = ""
    gpu_memory_mib: int | None = None
    driver: str = ""
    cuda: str = ""
    compute_capability: Version = ()
    shared_gpus: tuple[str, ...] = ()

    @property
    def gpu_total(self) -> int:
        """Slices and shares counted."""
        return sum(count for _, count in self.capacity_gpus)

    def device(self, resource: str) -> Device:
        """What each device of that resource name is."""
        labels = GpuLabels(self.product, self.gpu_memory_mib, self.compute_capability, self.shared_gpus)
        return device_of(resource, labels)

    def is_whole(self, resource: str) -> bool:
        return self.device(resource).kind == WHOLE
