"""What Prometheus is told: the latest look, and what became of the reports.

Metrics of GPUs have the names, units and labels of NVIDIA's DCGM exporter where they mean the same
(https://docs.nvidia.com/datacenter/dcgm/latest/reference/dcgm-exporter-metrics.html), so that its dashboards work;
those of MIG instances carry their GPU's UUID and the labels GPU_I_PROFILE and GPU_I_ID, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.health import Signs
from agent.look import Look
from agent.report import Device, DriverState, Health, Holder, Sample

_LEVELS = {Health.OK: 0, Health.WARNING: 1, Health.FAILED: 2}
_OF_SAMPLES: tuple[tuple[str, str, Callable[[Sample], float | None]], ...] = (
    ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", lambda sample: sample.utilization),
    ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", lambda sample: sample.memory_used_mib),
    ("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", lambda sample: sample.power_watts),
    ("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", lambda sample: sample.temperature),
    ("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", lambda sample: sample.sm_clock_mhz),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of the reports of one node."""

    delivered: int
    failed: int
    buffered: int
    dropped: int
    skew: float | None


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node at the moment of a scrape."""

    name: str
    look: Look | None
    delivery: Delivery


class AgentMetrics(Collector):
    """Made from the latest look, so a scrape asks the driver nothing."""

    def __init__(self, nodes: Callable[[], Iterable[NodeView]]) -> None:
        self._nodes = nodes

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        nodes = list(self._nodes())
        rows = [row for node in nodes if node.look is not None for row in _rows(node.name, node.look)]
        for name, words, value_of in _OF_SAMPLES:
            yield _gauge(name, words, ((row.labels, value_of(row.sample)) for row in rows if row.sample))
        for name, words, sign_of in _OF_DEVICES:
            values = ((row.labels, sign_of(row)) for row in rows if row.instance == "")
            yield _gauge(name, words, values)
        yield from _own(nodes)


@dataclass(frozen=True, slots=True)
class _Row:
    """A GPU, or a MIG instance of it. Without a sample the device answers nothing."""

    labels: Mapping[str, str]
    instance: str
    device: Device
    signs: Signs
    sample: Sample | None
    last_xid: int


_OF_DEVICES: tuple[tuple[str, str, Callable[[_Row], float | None]], ...] = (
    ("DCGM_FI_DEV_FB_TOTAL", "Total framebuffer memory (in MiB).", lambda row: row.device.memory_mib),
    ("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", lambda row: row.last_xid),
    (
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "Total number of double-bit volatile ECC errors.",
        lambda row: row.signs.double_bit_errors,
    ),
    (
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "Whether remapping of rows has failed.",
        lambda row: None if row.signs.gone else float(row.signs.remap_failed),
    ),
    (
        "gpuyard_agent_gpu_health",
        "Whether the GPU is trusted: 0 ok, 1 warning, 2 failed.",
        lambda row: _LEVELS[row.device.health.health],
    ),
)


def _rows(node: str, look: Look) -> Iterator[_Row]:
    samples = {sample.device: sample for sample in look.samples}
    holders = _sole_holders(look.holders or ())
    for device in look.inventory.devices:
        signs = look.signs.get(device.uuid, Signs())
        last_xid = look.last_xids.get(device.uuid, 0)
        labels = _labels(node, look, device)
        own = {**labels, **_holder_labels(holders.get(device.uuid))}
        yield _Row(own, "", device, signs, samples.get(device.uuid), last_xid)
        for mig in device.mig_instances:
            number = look.gpu_instances.get(mig.uuid)
            more = {"GPU_I_PROFILE": mig.profile, "GPU_I_ID": "" if number is None else str(number)}
            sliced = {**labels, **more, **_holder_labels(holders.get(mig.uuid))}
            yield _Row(sliced, mig.uuid, device, signs, samples.get(mig.uuid), last_xid)


def _sole_holders(holders: Iterable[Holder]) -> dict[str, Holder]:
    """Only of devices that one alone has: what a shared device does is nobody's in particular."""
    found: dict[str, list[Holder]] = {}
    for holder in holders:
        found.setdefault(holder.device, []).append(holder)
    return {device: each[0] for device, each in found.items() if len(each) == 1 and not each[0].is_shared}


_LABELS = (
    "gpu", "UUID", "pci_bus_id", "device", "modelName", "GPU_I_PROFILE", "GPU_I_ID", "Hostname",
    "DCGM_FI_DRIVER_VERSION", "container", "namespace", "pod",
)  # fmt: skip


def _labels(node: str, look: Look, device: Device) -> dict[str, str]:
    minor = look.minors.get(device.uuid)
    return {
        "gpu": str(device.index),
        "UUID": device.uuid,
        "pci_bus_id": device.pci_bus_id,
        "device": "" if minor is None else f"nvidia{minor}",
        "modelName": device.product,
        "Hostname": node,
        "DCGM_FI_DRIVER_VERSION": look.inventory.driver_version,
    }


def _holder_labels(holder: Holder | None) -> dict[str, str]:
    if holder is None or not holder.pod:
        return {}
    return {"container": holder.container, "namespace": holder.namespace, "pod": holder.pod}


def _gauge(name: str, words: str, values: Iterable[tuple[Mapping[str, str], float | None]]) -> Metric:
    """What a device does not tell has no line: a missing number is never a zero. An empty label is no label."""
    family = GaugeMetricFamily(name, words, labels=_LABELS)
    for labels, value in values:
        if value is not None:
            family.add_metric([labels.get(label, "") for label in _LABELS], value)
    return family


def _own(nodes: Iterable[NodeView]) -> Iterator[Metric]:
    reports = CounterMetricFamily(
        "gpuyard_agent_reports", "Reports by what became of them.", labels=["Hostname", "result"]
    )
    dropped = CounterMetricFamily("gpuyard_agent_dropped_samples", "Samples that were lost.", labels=["Hostname"])
    buffered = GaugeMetricFamily("gpuyard_agent_buffered_samples", "Samples that wait.", labels=["Hostname"])
    skew = GaugeMetricFamily(
        "gpuyard_agent_clock_skew_seconds", "How far the service's clock is ahead.", labels=["Hostname"]
    )
    usable = GaugeMetricFamily(
        "gpuyard_agent_driver_state", "1 for the state that the driver is in.", labels=["Hostname", "state"]
    )
    for node in nodes:
        reports.add_metric([node.name, "delivered"], node.delivery.delivered)
        reports.add_metric([node.name, "failed"], node.delivery.failed)
        dropped.add_metric([node.name], node.delivery.dropped)
        buffered.add_metric([node.name], node.delivery.buffered)
        if node.delivery.skew is not None:
            skew.add_metric([node.name], node.delivery.skew)
        for state in DriverState:
            if node.look is not None:
                usable.add_metric([node.name, state], float(node.look.inventory.state is state))
    yield from (reports, dropped, buffered, skew, usable)
