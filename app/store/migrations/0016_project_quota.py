from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0015_pod_samples')]

    initial = False

    operations = [
        ops.AddField(
            model_name='ProjectRow',
            name='guaranteed_gpus',
            field=fields.IntField(null=True),
        ),
        ops.AddField(
            model_name='ProjectRow',
            name='max_gpus',
            field=fields.IntField(null=True),
        ),
    ]
