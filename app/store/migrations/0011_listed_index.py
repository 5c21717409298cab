from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0010_server_flags')]

    initial = False

    operations = [
        ops.RemoveIndex(
            model_name='WorkloadRow',
            name='workloads_newest',
            fields=None,
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=Index(fields=['organization_id', 'deleted_at', 'created_at', 'id'], name='workloads_listed'),
        ),
    ]
