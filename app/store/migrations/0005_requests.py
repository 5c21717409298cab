from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0004_attempt_logs')]

    initial = False

    operations = [
        ops.AddField(
            model_name='WorkloadRow',
            name='deleted_at',
            field=fields.DatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='held_at',
            field=fields.DatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='retry_of',
            field=fields.UUIDField(null=True),
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=Index(fields=['organization_id', 'name', 'id'], name='workloads_by_name'),
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=Index(fields=['organization_id', 'started_at', 'id'], name='workloads_by_start'),
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=Index(fields=['organization_id', 'completed_at', 'id'], name='workloads_by_end'),
        ),
    ]
