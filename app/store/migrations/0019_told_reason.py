from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0018_nominated_server')]

    initial = False

    operations = [
        ops.AddField(
            model_name='WorkloadRow',
            name='told_at',
            field=fields.DatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='told_reason',
            field=fields.CharField(default='', db_default='', max_length=40),
        ),
    ]
