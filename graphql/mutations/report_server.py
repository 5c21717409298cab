"""reportServer: agent.report.Report as an input, its Receipt as the payload."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from agent import report
from app.commands import report_server as command
from app.graphql.context import Info
from app.graphql.enums import DriverState, Health, HealthReason
from app.graphql.moments import moment


@strawberry.input(description="A slice of a GPU in MIG mode.")
class MigInstanceInput:
    uuid: str = strawberry.field(description="As NVML tells it.")
    profile: str = strawberry.field(description="As NVIDIA writes it: 1g.10gb.")
    memory_mib: int | None = strawberry.field(default=None, description="Its memory, in MiB.")

    def noun(self) -> report.MigInstance:
        return report.MigInstance(self.uuid, self.profile, self.memory_mib)


@strawberry.input(description="How a GPU is.")
class DeviceHealthInput:
    health: Health = strawberry.field(default=Health.OK, description="The verdict.")
    reason: HealthReason | None = strawberry.field(default=None, description="Null while it is OK.")
    message: str = strawberry.field(default="", description="One sentence.")
    since: datetime | None = strawberry.field(default=None, description="Since when; null while it is OK.")
    xid: int | None = strawberry.field(default=None, description="Number of the XID event, where it was one.")

    def noun(self) -> report.DeviceHealth:
        since = moment("inventory.devices.health.since", self.since) if self.since else None
        return report.DeviceHealth(self.health, self.reason, self.message, since, self.xid)


@strawberry.input(description="One physical GPU.")
class DeviceInput:
    uuid: str = strawberry.field(description="By which it is known.")
    index: int = strawberry.field(description="For display; it changes when GPUs are added or fail.")
    pci_bus_id: str = strawberry.field(default="", description="Its place on the bus.")
    product: str = strawberry.field(default="", description="Its model.")
    memory_mib: int | None = strawberry.field(default=None, description="Its memory, in MiB.")
    architecture: str = strawberry.field(default="", description="Such as Hopper.")
    compute_capability: str = strawberry.field(default="", description="Such as 9.0.")
    serial: str | None = strawberry.field(default=None, description="Its serial number, where it has one.")
    mig_enabled: bool | None = strawberry.field(default=None, description="Null where it knows no MIG.")
    mig_instances: list[MigInstanceInput] = strawberry.field(default_factory=list, description="Its slices.")
    nvlink_peers: list[str] = strawberry.field(default_factory=list, description="UUIDs of GPUs it is linked with.")
    persistence_mode: bool | None = strawberry.field(default=None, description="Whether the driver stays loaded.")
    compute_mode: str = strawberry.field(default="", description="Who may use it at the same time.")
    health: DeviceHealthInput | None = strawberry.field(default=None, description="How it is; null: it is OK.")

    def noun(self) -> report.Device:
        return report.Device(
            uuid=self.uuid,
            index=self.index,
            pci_bus_id=self.pci_bus_id,
            product=self.product,
            memory_mib=self.memory_mib,
            architecture=self.architecture,
            compute_capability=self.compute_capability,
            serial=self.serial,
            mig_enabled=self.mig_enabled,
            mig_instances=tuple(it.noun() for it in self.mig_instances),
            nvlink_peers=tuple(self.nvlink_peers),
            persistence_mode=self.persistence_mode,
            compute_mode=self.compute_mode,
            health=self.health.noun() if self.health else report.DeviceHealth(),
        )


@strawberry.input(description="All GPUs of the node, whole: one that is not named is gone.")
class InventoryInput:
    state: DriverState = strawberry.field(description="Whether the agent can see GPUs at all.")
    message: str = strawberry.field(default="", description="What is the matter, where something is.")
    driver_version: str = strawberry.field(default="", description="Of the NVIDIA driver.")
    cuda_version: str = strawberry.field(default="", description="The highest that the driver supports.")
    devices: list[DeviceInput] = strawberry.field(
        default_factory=list, description=f"The GPUs, at most {report.MOST_DEVICES}."
    )

    def noun(self) -> report.Inventory:
        devices = tuple(it.noun() for it in self.devices)
        return report.Inventory(self.state, self.message, self.driver_version, self.cuda_version, devices)


@strawberry.input(description="Who has a device: a pod's container.")
class HolderInput:
    device: str = strawberry.field(description="UUID of a GPU or of a MIG instance.")
    namespace: str = strawberry.field(description="The pod's.")
    pod: str = strawberry.field(description="The pod's name.")
    pod_uid: str = strawberry.field(default="", description="Empty where it is not known.")
    container: str = strawberry.field(default="", description="The container's name.")
    is_shared: bool = strawberry.field(default=False, description="Whether others may have the same device.")

    def noun(self) -> report.Holder:
        return report.Holder(self.device, self.namespace, self.pod, self.pod_uid, self.container, self.is_shared)


@strawberry.input(description="One device at one moment. What it would not tell is null, never zero.")
class SampleInput:
    device: str = strawberry.field(description="UUID of a GPU or of a MIG instance.")
    at: datetime = strawberry.field(description="When, by the node's clock.")
    utilization: float | None = strawberry.field(default=None, description="Percent of the time in use.")
    memory_used_mib: int | None = strawberry.field(default=None, description="Memory in use, in MiB.")
    power_watts: float | None = strawberry.field(default=None, description="Power drawn, in watts.")
    temperature: float | None = strawberry.field(default=None, description="Degrees Celsius.")
    sm_clock_mhz: int | None = strawberry.field(default=None, description="Clock of the multiprocessors, in MHz.")

    def noun(self) -> report.Sample:
        return report.Sample(
            self.device,
            moment("samples.at", self.at),
            self.utilization,
            self.memory_used_mib,
            self.power_watts,
            self.temperature,
            self.sm_clock_mhz,
        )


@strawberry.input(description="The pod of a workload at one moment. What is not known is null, never zero.")
class PodSampleInput:
    pod_uid: str = strawberry.field(description="One of those that the app asked for; others are not kept.")
    at: datetime = strawberry.field(description="When, by the node's clock.")
    cpu_cores: float | None = strawberry.field(
        default=None, description="Cores in use, in the mean since the last look."
    )
    memory_mib: int | None = strawberry.field(
        default=None, description="Memory in use, in MiB, without what the kernel could take back at once."
    )

    def noun(self) -> report.PodSample:
        return report.PodSample(self.pod_uid, moment("podSamples.at", self.at), self.cpu_cores, self.memory_mib)


@strawberry.input(description="What a node agent tells of its server.")
class ReportServerInput:
    node: str = strawberry.field(description="Name of the node.")
    boot_id: str = strawberry.field(description="Of the node: another one after each boot.")
    agent_version: str = strawberry.field(description="For people.")
    agent_id: str = strawberry.field(description="Random, of this process of the agent.")
    started_at: datetime = strawberry.field(description="When this process started.")
    sequence: int = strawberry.field(description="Grows with each report of this process.")
    sent_at: datetime = strawberry.field(description="By the node's clock, which its difference is measured by.")
    inventory: InventoryInput | None = strawberry.field(
        default=None, description="Null where nothing changed since the last report that arrived."
    )
    holders: list[HolderInput] | None = strawberry.field(
        default=None, description=f"At most {report.MOST_HOLDERS}. Null where nothing changed; empty: nobody."
    )
    samples: list[SampleInput] = strawberry.field(
        default_factory=list,
        description=f"At most {report.MOST_SAMPLES}. Those of the last day are kept, one for each second of a device.",
    )
    pod_samples: list[PodSampleInput] = strawberry.field(
        default_factory=list, description="Kept as `samples` are, with which they are counted."
    )

    def noun(self) -> report.Report:
        return report.Report(
            node=self.node,
            boot_id=self.boot_id,
            agent_version=self.agent_version,
            agent_id=self.agent_id,
            started_at=moment("startedAt", self.started_at),
            sequence=self.sequence,
            sent_at=moment("sentAt", self.sent_at),
            inventory=self.inventory.noun() if self.inventory else None,
            holders=None if self.holders is None else tuple(it.noun() for it in self.holders),
            samples=tuple(it.noun() for it in self.samples),
            pod_samples=tuple(it.noun() for it in self.pod_samples),
        )


@strawberry.type(description="What became of a report.")
class ReportServerPayload:
    received_at: datetime = strawberry.field(description="By the app's clock.")
    wants_everything: bool = strawberry.field(description="Whether the next report must have inventory and holders.")
    is_late: bool = strawberry.field(description="A newer report was there: of this one only the samples were kept.")
    interval_seconds: float | None = strawberry.field(description="How often to report; null: as the agent likes.")
    pod_uids: list[str] = strawberry.field(
        description=f"The workloads' pods on the node, at most {report.MOST_PODS}, whose use shall be told."
    )


async def report_server(
    info: Info,
    input: Annotated[ReportServerInput, strawberry.argument(description="The report.")],  # noqa: A002
) -> ReportServerPayload:
    services = info.context.services
    principal = await info.context.holder()
    receipt = await command.report_server(services.commands, principal, input.noun(), services.agents)
    return ReportServerPayload(
        received_at=receipt.received_at,
        wants_everything=receipt.wants_everything,
        is_late=receipt.is_late,
        interval_seconds=receipt.interval_seconds,
        pod_uids=list(receipt.pod_uids),
    )
