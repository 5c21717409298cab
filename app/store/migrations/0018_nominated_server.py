from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0017_priority')]

    initial = False

    operations = [
        ops.AddField(
            model_name='WorkloadRow',
            name='attempts_yielded',
            field=fields.IntField(default=0, db_default=0),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='nominated_server',
            field=fields.CharField(default='', db_default='', max_length=320),
        ),
    ]
