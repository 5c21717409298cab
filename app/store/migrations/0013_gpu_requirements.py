from tortoise import migrations
from tortoise.migrations import operations as ops
from orjson import loads
from tortoise.fields.data import JSON_DUMPS
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0012_node_agents')]

    initial = False

    operations = [
        ops.AddField(
            model_name='WorkloadRow',
            name='gpu_requirements',
            field=fields.JSONField(null=True, encoder=JSON_DUMPS, decoder=loads),
        ),
    ]
