from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0016_project_quota')]

    initial = False

    operations = [
        ops.AddField(
            model_name='WorkloadRow',
            name='preemptible',
            field=fields.BooleanField(default=False, db_default=False),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='priority',
            field=fields.IntField(default=50, db_default=50),
        ),
    ]
