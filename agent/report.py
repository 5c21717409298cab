"""What a node agent tells the app: the report type, shared by both and free of either.

A report goes out as one GraphQL mutation. Devices are known by their UUID, `index` is for display. Every number that a
device would not tell is None: a missing number is never a zero. Sequence numbers grow within one
process of the agent (`agent_id`, `started_at`), so that a late report never overwrites a newer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# What one report may hold at most: the app refuses more, in words. Of a long buffer, send the rest in the next report.
MOST_DEVICES = 64
MOST_HOLDERS = 2000
MOST_SAMPLES = 4000  # of devices and of pods together
MOST_PODS = 256  # of a node, whose use is told
OLDEST_SAMPLE_SECONDS = 24 * 3600  # an older one is not kept
LONGEST_TEXT = 1000  # characters, of any text in it


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        return _HEALTH_MEANINGS[self]


_HEALTH_MEANINGS = {
    Health.OK: "nothing is known against it",
    Health.WARNING: "it works, but not as it should",
    Health.FAILED: "nothing new may be placed on it",
}


class HealthReason(StrEnum):
    """Why a device is not ok. `XID` numbers are NVIDIA's (https://docs.nvidia.com/deploy/xid-errors/)."""

    XID = "xid"
    ECC_DOUBLE_BIT = "ecc_double_bit"
    RETIREMENT_PENDING = "retirement_pending"
    REMAP_PENDING = "remap_pending"
    REMAP_FAILED = "remap_failed"
    THERMAL = "thermal"
    POWER = "power"
    OFF_THE_BUS = "off_the_bus"
    LOST = "lost"
    RESET_REQUIRED = "reset_required"
    NVML_ERROR = "nvml_error"

    @property
    def meaning(self) -> str:
        return _REASON_MEANINGS[self]


_REASON_MEANINGS = {
    HealthReason.XID: "the driver told of an error of the device",
    HealthReason.ECC_DOUBLE_BIT: "its memory has errors that can't be corrected",
    HealthReason.RETIREMENT_PENDING: "a page of its memory is retired at the next reset",
    HealthReason.REMAP_PENDING: "a row of its memory is remapped at the next reset",
    HealthReason.REMAP_FAILED: "a row of its memory could not be remapped",
    HealthReason.THERMAL: "it is too hot and has slowed down",
    HealthReason.POWER: "it gets too little power and has slowed down",
    HealthReason.OFF_THE_BUS: "it has fallen off the bus",
    HealthReason.LOST: "it answers no more until it is reset or the server is booted",
    HealthReason.RESET_REQUIRED: "it must be reset",
    HealthReason.NVML_ERROR: "NVML answers with an error for it",
}


class DriverState(StrEnum):
    """Whether the agent can see GPUs at all."""

    OK = "ok"
    NO_LIBRARY = "no_library"  # libnvidia-ml.so.1 is not there
    NO_DRIVER = "no_driver"  # the library is, the kernel module is not loaded
    MISMATCH = "mismatch"  # the driver was upgraded under a running kernel module
    NO_PERMISSION = "no_permission"
    NO_GPU = "no_gpu"
    ERROR = "error"

    @property
    def meaning(self) -> str:
        return _DRIVER_MEANINGS[self]


_DRIVER_MEANINGS = {
    DriverState.OK: "it can",
    DriverState.NO_LIBRARY: "the library libnvidia-ml.so.1 is not there",
    DriverState.NO_DRIVER: "the kernel module is not loaded",
    DriverState.MISMATCH: "the driver was upgraded, and the kernel module in use is still the old one",
    DriverState.NO_PERMISSION: "the agent may not use the driver",
    DriverState.NO_GPU: "the driver works and knows no GPU",
    DriverState.ERROR: "the driver answers with an error",
}


@dataclass(frozen=True, slots=True)
class MigInstance:
    """A slice of a GPU. `profile` as NVIDIA writes it, "1g.10gb"."""

    uuid: str
    profile: str
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """`reason` and `since` are None while the device is ok. `xid` is the number of an XID event."""

    health: Health = Health.OK
    reason: HealthReason | None = None
    message: str = ""
    since: datetime | None = None
    xid: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One physical GPU. `cuda` style versions are texts, `compute_capability` is "9.0", memory in MiB."""

    uuid: str
    index: int
    pci_bus_id: str = ""
    product: str = ""
    memory_mib: int | None = None
    architecture: str = ""
    compute_capability: str = ""
    serial: str | None = None
    mig_enabled: bool | None = None  # None: the device knows no MIG
    mig_instances: tuple[MigInstance, ...] = ()
    nvlink_peers: tuple[str, ...] = ()  # UUIDs
    persistence_mode: bool | None = None
    compute_mode: str = ""
    health: DeviceHealth = DeviceHealth()


@dataclass(frozen=True, slots=True)
class Inventory:
    """All that is fixed about the node's GPUs, whole. `state` other than OK: no device can be trusted to be there."""

    state: DriverState
    message: str = ""
    driver_version: str = ""
    cuda_version: str = ""  # the highest that the driver supports
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a device: a pod's container. `pod_uid` is empty where the source does not tell it."""

    device: str  # UUID of a GPU or of a MIG instance
    namespace: str
    pod: str
    pod_uid: str = ""
    container: str = ""
    is_shared: bool = False  # a replica: others may have the same device


@dataclass(frozen=True, slots=True)
class Sample:
    """One device at one moment: percent, MiB, watts, degrees Celsius, MHz."""

    device: str
    at: datetime
    utilization: float | None = None
    memory_used_mib: int | None = None
    power_watts: float | None = None
    temperature: float | None = None
    sm_clock_mhz: int | None = None


@dataclass(frozen=True, slots=True)
class PodSample:
    """A pod at one moment: cores that it used in the mean since the look before, and MiB that the kernel could not take
    back at once. Both with everything in it, sidecars too."""

    pod_uid: str
    at: datetime
    cpu_cores: float | None = None
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One message. `inventory` and `holders` are None where nothing changed since the last report that arrived."""

    node: str
    boot_id: str
    agent_version: str
    agent_id: str  # of this process: random, so that a restarted agent is told from a late report
    started_at: datetime  # of this process
    sequence: int
    sent_at: datetime
    inventory: Inventory | None = None
    holders: tuple[Holder, ...] | None = None
    samples: tuple[Sample, ...] = ()
    pod_samples: tuple[PodSample, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The app's answer. `wants_everything`: it has no inventory of this node; the next report must be whole.

    `received_at` is the app's clock, from which the agent measures its skew; `is_late`: a newer report was there.
    `pod_uids` are the workloads' pods on the node, whose use shall be told: the kubelet tells the agent no uids.
    """

    received_at: datetime
    wants_everything: bool = False
    is_late: bool = False
    interval_seconds: float | None = None
    pod_uids: tuple[str, ...] = ()
