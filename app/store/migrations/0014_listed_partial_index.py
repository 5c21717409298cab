from tortoise import migrations
from tortoise.migrations import operations as ops
from app.store.indexes import IndexWhere
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0013_gpu_requirements')]

    initial = False

    operations = [
        ops.RemoveIndex(
            model_name='WorkloadRow',
            name='workloads_listed',
            fields=None,
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=Index(fields=['organization_id', 'created_at', 'id'], name='workloads_newest'),
        ),
        ops.AddIndex(
            model_name='WorkloadRow',
            index=IndexWhere(fields=['organization_id', 'created_at', 'id', 'deleted_at'], name='workloads_listed', where='"deleted_at" IS NULL'),
        ),
    ]
