"""Tables. Nothing outside `app.store` sees a row: `app.store.mapping` turns rows into domain nouns.

States are plain text columns, so that a new member of an enum is never a change of schema. On SQLite an altered or
removed column makes Tortoise rebuild its table, which can drop indexes and, through ON DELETE CASCADE, rows: hence
RESTRICT everywhere, and new columns are added, not altered. Tables are described in comments: Tortoise would copy a
class docstring into the schema.
"""

from __future__ import annotations

from uuid import uuid4

from tortoise import fields
from tortoise.indexes import Index
from tortoise.models import Model

from app.store.indexes import IndexWhere


class OrganizationRow(Model):
    id = fields.UUIDField(primary_key=True, default=uuid4)
    slug = fields.CharField(max_length=63, unique=True)
    name = fields.CharField(max_length=200)
    gpu_workloads_enabled = fields.BooleanField(default=True)
    is_default = fields.BooleanField(default=False)
    event_sequence = fields.BigIntField(default=0)
    created_at = fields.DatetimeField()

    class Meta:
        table = "organizations"


class UserRow(Model):
    id = fields.UUIDField(primary_key=True, default=uuid4)
    email = fields.CharField(max_length=254, unique=True)
    password_hash = fields.CharField(max_length=255)
    disabled_at = fields.DatetimeField(null=True)
    created_at = fields.DatetimeField()

    class Meta:
        table = "users"


class MembershipRow(Model):
    id = fields.UUIDField(primary_key=True, default=uuid4)
    organization: fields.ForeignKeyRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT
    )
    user: fields.ForeignKeyRelation[UserRow] = fields.ForeignKeyField(
        "gpuyard.UserRow", related_name=False, on_delete=fields.RESTRICT
    )
    role = fields.CharField(max_length=16)
    created_at = fields.DatetimeField()

    class Meta:
        table = "memberships"
        unique_together = (("organization", "user"),)


class ProjectRow(Model):
    id = fields.UUIDField(primary_key=True, default=uuid4)
    organization: fields.ForeignKeyRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT
    )
    slug = fields.CharField(max_length=63)
    name = fields.CharField(max_length=200)
    version = fields.IntField(default=1, db_default=1)
    created_at = fields.DatetimeField()
    guaranteed_gpus = fields.IntField(null=True)
    max_gpus = fields.IntField(null=True)

    class Meta:
        table = "projects"
        unique_together = (("organization", "slug"),)


class TokenRow(Model):
    # A credential for programs. Of a person (`user`), or of a service: then `organization` and `role` are its own. Of a
    # node agent: then it has a cluster, and a node unless it is good for all of that cluster.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    secret_hash = fields.CharField(max_length=64, unique=True)
    name = fields.CharField(max_length=200)
    user: fields.ForeignKeyNullableRelation[UserRow] = fields.ForeignKeyField(
        "gpuyard.UserRow", related_name=False, on_delete=fields.RESTRICT, null=True
    )
    organization: fields.ForeignKeyNullableRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT, null=True
    )
    role = fields.CharField(max_length=16, default="")
    scopes = fields.JSONField[list[str]]()
    created_at = fields.DatetimeField()
    expires_at = fields.DatetimeField(null=True)
    revoked_at = fields.DatetimeField(null=True)
    agent_cluster = fields.CharField(max_length=63, default="", db_default="")
    agent_node = fields.CharField(max_length=253, default="", db_default="")

    class Meta:
        table = "tokens"


class SessionRow(Model):
    # A person in a browser. Rows are deleted when the session ends; `secret_hash` is of what the cookie holds.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    secret_hash = fields.CharField(max_length=64, unique=True)
    user: fields.ForeignKeyRelation[UserRow] = fields.ForeignKeyField(
        "gpuyard.UserRow", related_name=False, on_delete=fields.RESTRICT
    )
    created_at = fields.DatetimeField()
    last_seen_at = fields.DatetimeField()
    expires_at = fields.DatetimeField(db_index=True)

    class Meta:
        table = "sessions"


class InstallationRow(Model):
    # One row, made with the database: which installation of GPUYard this is, for clusters that several share.

    number = fields.IntField(primary_key=True)
    uuid = fields.UUIDField()
    created_at = fields.DatetimeField()

    class Meta:
        table = "installation"


class ClusterRow(Model):
    # A cluster that answered once. `last_contact_at` is written now and then, and when contact is lost.

    name = fields.CharField(max_length=63, primary_key=True)
    last_contact_at = fields.DatetimeField()

    class Meta:
        table = "clusters"


class ClusterServerRow(Model):
    # A node on record: it stays when the node goes, so that an outage hides nothing. From `version` on the columns are
    # flags of ours, which recording the node leaves alone. `organization_slug` is what the node's label says.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    cluster = fields.CharField(max_length=63)
    name = fields.CharField(max_length=253)
    organization_slug = fields.CharField(max_length=63, db_index=True)
    product = fields.CharField(max_length=200, default="")
    driver = fields.CharField(max_length=40, default="")
    gpu_total = fields.IntField(default=0)
    gpu_largest = fields.IntField(default=0)
    facts = fields.JSONField[dict[str, object]]()
    first_seen_at = fields.DatetimeField()
    last_seen_at = fields.DatetimeField()
    gone_at = fields.DatetimeField(null=True)
    version = fields.IntField(default=1, db_default=1)
    assigned_slug = fields.CharField(max_length=63, default="", db_default="")
    cordoned_at = fields.DatetimeField(null=True)
    cordoned_for = fields.CharField(max_length=63, default="", db_default="")  # the organization's slug
    cordoned_by = fields.CharField(max_length=254, default="", db_default="")
    cordon_reason = fields.CharField(max_length=200, default="", db_default="")

    class Meta:
        table = "cluster_servers"
        unique_together = (("cluster", "name"),)
        indexes = (Index(fields=("assigned_slug", "organization_slug"), name="servers_by_owner"),)


class VolumeRow(Model):
    # Storage that an operator has named. Workloads know it by name, so that it can be removed at any time.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    organization: fields.ForeignKeyRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT
    )
    name = fields.CharField(max_length=63)
    kind = fields.CharField(max_length=16)
    source = fields.CharField(max_length=1400)
    read_only = fields.BooleanField(default=False)
    created_at = fields.DatetimeField()

    class Meta:
        table = "volumes"
        unique_together = (("organization", "name"),)


class WorkloadRow(Model):
    id = fields.UUIDField(primary_key=True)
    organization: fields.ForeignKeyRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT
    )
    project: fields.ForeignKeyNullableRelation[ProjectRow] = fields.ForeignKeyField(
        "gpuyard.ProjectRow", related_name=False, on_delete=fields.RESTRICT, null=True
    )
    submitted_by = fields.CharField(max_length=254)
    idempotency_key = fields.CharField(max_length=200, null=True)
    fingerprint = fields.CharField(max_length=64)
    name = fields.CharField(max_length=100)
    image = fields.CharField(max_length=700)
    gpu_count = fields.IntField()
    cpu_millis = fields.BigIntField()
    memory_bytes = fields.BigIntField()
    timeout_seconds = fields.IntField()
    start_timeout_seconds = fields.IntField()
    queue_timeout_seconds = fields.IntField(null=True)
    max_retries = fields.IntField(default=0)
    cuda = fields.CharField(max_length=16, null=True)
    labels = fields.JSONField[list[list[str]]](null=True)  # null in rows from before there were any
    mounts = fields.JSONField[list[dict[str, object]]](null=True)
    shared_memory_bytes = fields.BigIntField(null=True)
    gpu_requirements = fields.JSONField[dict[str, object]](null=True)  # null: none
    priority = fields.IntField(default=50, db_default=50)  # the number of a class
    preemptible = fields.BooleanField(default=False, db_default=False)
    process = fields.JSONField[dict[str, object]]()  # env_vars, command, args
    status = fields.CharField(max_length=16)
    phase = fields.CharField(max_length=16)
    reason = fields.CharField(max_length=40)
    message = fields.TextField()
    version = fields.BigIntField()
    attempt = fields.IntField(default=0)
    created_at = fields.DatetimeField()
    queued_at = fields.DatetimeField()
    told_reason = fields.CharField(max_length=40, default="", db_default="")  # of the last event on why it waits
    told_at = fields.DatetimeField(null=True)
    not_before = fields.DatetimeField(null=True)
    avoid_servers = fields.JSONField[list[str]]()
    retries_used = fields.IntField(default=0)
    cancel_requested_at = fields.DatetimeField(null=True)
    cancelled_by = fields.CharField(max_length=254, default="")
    started_at = fields.DatetimeField(null=True)
    completed_at = fields.DatetimeField(null=True)
    exit_code = fields.IntField(null=True)
    cluster = fields.CharField(max_length=63, default="", db_default="")
    server = fields.CharField(max_length=253, default="")
    nominated_server = fields.CharField(max_length=320, default="", db_default="")  # cluster/name
    gpus = fields.JSONField[list[str]]()
    held_at = fields.DatetimeField(null=True)
    held_by = fields.CharField(max_length=254, default="", db_default="")
    attempts_yielded = fields.IntField(default=0, db_default=0)
    deleted_at = fields.DatetimeField(null=True)
    retry_of = fields.UUIDField(null=True)

    class Meta:
        table = "workloads"
        unique_together = (("organization", "idempotency_key"),)
        indexes = (
            Index(fields=("organization_id", "created_at", "id"), name="workloads_newest"),
            # With `deleted_at` before the order's columns PostgreSQL sorts (NULL is no constant to it), and SQLite,
            # which takes NULL for as rare as other values, would prefer it to the index of another wanted order. Behind
            # them it lets SQLite count, and pass over what an offset says, without reading rows. It is made after
            # `workloads_newest`: of two that serve alike SQLite takes the newer.
            IndexWhere(
                fields=("organization_id", "created_at", "id", "deleted_at"),
                name="workloads_listed",
                where='"deleted_at" IS NULL',
            ),
            Index(fields=("organization_id", "status", "created_at", "id"), name="workloads_by_status"),
            Index(fields=("status", "phase"), name="workloads_live"),
            Index(fields=("organization_id", "name", "id"), name="workloads_by_name"),
            Index(fields=("organization_id", "started_at", "id"), name="workloads_by_start"),
            Index(fields=("organization_id", "completed_at", "id"), name="workloads_by_end"),
        )


class AttemptRow(Model):
    id = fields.UUIDField(primary_key=True, default=uuid4)
    workload: fields.ForeignKeyRelation[WorkloadRow] = fields.ForeignKeyField(
        "gpuyard.WorkloadRow", related_name=False, on_delete=fields.RESTRICT
    )
    number = fields.IntField()
    cluster = fields.CharField(max_length=63, default="", db_default="")
    server = fields.CharField(max_length=253)
    gpu_resource = fields.CharField(max_length=63)
    placed_at = fields.DatetimeField()
    job_uid = fields.CharField(max_length=64, default="")
    pod_name = fields.CharField(max_length=253, default="")
    pod_uid = fields.CharField(max_length=64, default="")
    waiting_reason = fields.CharField(max_length=200, default="")
    waiting_message = fields.TextField(default="")
    started_at = fields.DatetimeField(null=True)
    finished_at = fields.DatetimeField(null=True)
    exit_code = fields.IntField(null=True)
    termination = fields.CharField(max_length=200, default="")
    gpus = fields.JSONField[list[str]]()
    stop_reason = fields.CharField(max_length=40, null=True)
    stop_requested_at = fields.DatetimeField(null=True)
    reason = fields.CharField(max_length=40, null=True)
    message = fields.TextField(default="")
    ended_at = fields.DatetimeField(null=True)
    log_taken_at = fields.DatetimeField(null=True)
    cleaned_at = fields.DatetimeField(null=True)
    namespace = fields.CharField(max_length=63, default="", db_default="")

    class Meta:
        table = "attempts"
        unique_together = (("workload", "number"),)
        indexes = (
            Index(fields=("cleaned_at",), name="attempts_uncleaned"),
            IndexWhere(fields=("server",), name="attempts_on_server", where='"cleaned_at" IS NULL'),
            Index(fields=("pod_uid",), name="attempts_of_pod"),
            Index(fields=("ended_at",), name="attempts_by_end"),
        )


class AttemptLogRow(Model):
    # The end of an ended attempt's log, or why there is none. `lines` is zlib of the lines with their stamps, `size` is
    # the bytes of text in them, stamps not counted. Of a live attempt that is being stopped: what was secured so far.

    id = fields.UUIDField(primary_key=True, default=uuid4)
    workload: fields.ForeignKeyRelation[WorkloadRow] = fields.ForeignKeyField(
        "gpuyard.WorkloadRow", related_name=False, on_delete=fields.RESTRICT
    )
    number = fields.IntField()
    lines = fields.BinaryField(null=True)
    size = fields.BigIntField(default=0)
    was_cut = fields.BooleanField(default=False)
    why_none = fields.TextField(default="")
    stored_at = fields.DatetimeField(db_index=True)

    class Meta:
        table = "attempt_logs"
        unique_together = (("workload", "number"),)


class EventRow(Model):
    # Append-only. `sequence` grows within the organization in commit order; it may skip numbers.

    id = fields.BigIntField(primary_key=True, generated=True)
    organization: fields.ForeignKeyRelation[OrganizationRow] = fields.ForeignKeyField(
        "gpuyard.OrganizationRow", related_name=False, on_delete=fields.RESTRICT
    )
    sequence = fields.BigIntField()
    workload: fields.ForeignKeyRelation[WorkloadRow] = fields.ForeignKeyField(
        "gpuyard.WorkloadRow", related_name=False, on_delete=fields.RESTRICT
    )
    type = fields.CharField(max_length=24)
    status = fields.CharField(max_length=16)
    phase = fields.CharField(max_length=16)
    reason = fields.CharField(max_length=40)
    message = fields.TextField()
    at = fields.DatetimeField()
    attempt = fields.IntField()
    exit_code = fields.IntField(null=True)
    server = fields.CharField(max_length=253, default="")

    class Meta:
        table = "events"
        unique_together = (("organization", "sequence"),)
        indexes = (Index(fields=("workload_id", "sequence"), name="events_of_workload"),)


class AuditRow(Model):
    # Who asked for what and was refused, or did it. The only thing that a refusal writes.

    id = fields.BigIntField(primary_key=True, generated=True)
    at = fields.DatetimeField(db_index=True)
    organization_slug = fields.CharField(max_length=80, default="")
    actor = fields.CharField(max_length=254)
    action = fields.CharField(max_length=60)
    target = fields.CharField(max_length=80, default="")
    outcome = fields.CharField(max_length=30)
    detail = fields.TextField(default="")

    class Meta:
        table = "audit"
