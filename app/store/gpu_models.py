"""Tables of what node agents report. As in `app.store.models`: columns are added, never altered, nothing cascades."""

from __future__ import annotations

from uuid import uuid4

from tortoise import fields
from tortoise.indexes import Index
from tortoise.models import Model

from app.store.models import ClusterServerRow


class ServerAgentRow(Model):
    # The last word of a server's agent. `gpus_offered` are the whole GPUs that work, `has_inventory`: it has told them.

    id = fields.BigIntField(primary_key=True, generated=True)
    server: fields.OneToOneRelation[ClusterServerRow] = fields.OneToOneField(
        "gpuyard.ClusterServerRow", related_name=False, on_delete=fields.RESTRICT
    )
    agent_id = fields.CharField(max_length=100)
    agent_version = fields.CharField(max_length=100)
    boot_id = fields.CharField(max_length=100)
    started_at = fields.DatetimeField()
    sequence = fields.BigIntField()
    received_at = fields.DatetimeField()
    skew_seconds = fields.FloatField()
    has_inventory = fields.BooleanField(default=False)
    driver_state = fields.CharField(max_length=24, default="")
    driver_message = fields.TextField(default="")
    driver_version = fields.CharField(max_length=100, default="")
    cuda_version = fields.CharField(max_length=100, default="")
    gpus_offered = fields.IntField(default=0)
    gpus_failed = fields.IntField(default=0)

    class Meta:
        table = "server_agents"


class GpuRow(Model):
    # A device that an agent reported. By server and UUID: no server can claim what another one reported.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    server: fields.ForeignKeyRelation[ClusterServerRow] = fields.ForeignKeyField(
        "gpuyard.ClusterServerRow", related_name=False, on_delete=fields.RESTRICT
    )
    uuid = fields.CharField(max_length=100)
    index = fields.IntField()
    product = fields.CharField(max_length=200)
    memory_mib = fields.IntField(null=True)
    facts = fields.JSONField[dict[str, object]]()  # everything else of agent.report.Device, but for its health
    health = fields.CharField(max_length=16)
    health_reason = fields.CharField(max_length=32, default="")
    health_message = fields.TextField(default="")
    health_since = fields.DatetimeField(null=True)
    xid = fields.IntField(null=True)
    first_seen_at = fields.DatetimeField()
    gone_at = fields.DatetimeField(null=True)

    class Meta:
        table = "gpus"
        unique_together = (("server", "uuid"),)


class GpuHolderRow(Model):
    # Who had a device, from when to when; `until` is null while it has. `workload_id` is null where it isn't ours.

    id = fields.BigIntField(primary_key=True, generated=True)
    gpu: fields.ForeignKeyRelation[GpuRow] = fields.ForeignKeyField(
        "gpuyard.GpuRow", related_name=False, on_delete=fields.RESTRICT, db_index=False
    )
    instance = fields.CharField(max_length=100, default="")  # UUID of the MIG instance; empty: the whole GPU
    workload_id = fields.UUIDField(null=True)
    attempt = fields.IntField(null=True)
    namespace = fields.CharField(max_length=253)
    pod = fields.CharField(max_length=253)
    pod_uid = fields.CharField(max_length=64, default="")
    container = fields.CharField(max_length=253, default="")
    is_shared = fields.BooleanField(default=False)
    since = fields.DatetimeField()
    until = fields.DatetimeField(null=True)

    class Meta:
        table = "gpu_holders"
        indexes = (
            Index(fields=("gpu_id", "since"), name="gpu_holders_of_gpu"),
            Index(fields=("workload_id",), name="gpu_holders_of_work"),
            Index(fields=("until",), name="gpu_holders_ended"),
        )


class GpuSampleRow(Model):
    # Samples of one device, packed by app.domain.samples: of a quarter of an hour as they came (`resolution` 0), later
    # of a day, thinned out to one in `resolution` seconds.

    id = fields.BigIntField(primary_key=True, generated=True)
    gpu: fields.ForeignKeyRelation[GpuRow] = fields.ForeignKeyField(
        "gpuyard.GpuRow", related_name=False, on_delete=fields.RESTRICT, db_index=False
    )
    instance = fields.CharField(max_length=100, default="")
    begins = fields.DatetimeField()
    resolution = fields.IntField()
    data = fields.BinaryField()

    class Meta:
        table = "gpu_samples"
        unique_together = (("gpu", "begins", "instance", "resolution"),)
        indexes = (Index(fields=("resolution", "begins"), name="gpu_samples_to_thin"),)


class PodSampleRow(Model):
    # What the pod of an attempt used of processors and memory, packed as the samples of devices are.

    id = fields.BigIntField(primary_key=True, generated=True)
    workload_id = fields.UUIDField()
    attempt = fields.IntField()
    begins = fields.DatetimeField()
    resolution = fields.IntField()
    data = fields.BinaryField()

    class Meta:
        table = "pod_samples"
        unique_together = (("workload_id", "begins", "attempt", "resolution"),)
        indexes = (Index(fields=("resolution", "begins"), name="pod_samples_to_thin"),)
