from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0007_clusters')]

    initial = False

    operations = [
        ops.AddField(
            model_name='ProjectRow',
            name='version',
            field=fields.IntField(default=1, db_default=1),
        ),
    ]
