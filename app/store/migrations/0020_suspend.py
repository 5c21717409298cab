from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0019_told_reason')]

    initial = False

    operations = [
        ops.AddIndex(
            model_name='AttemptRow',
            index=Index(fields=['ended_at'], name='attempts_by_end'),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='held_by',
            field=fields.CharField(default='', db_default='', max_length=254),
        ),
    ]
