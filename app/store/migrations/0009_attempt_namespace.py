from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0008_project_version')]

    initial = False

    operations = [
        ops.AddField(
            model_name='AttemptRow',
            name='namespace',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
    ]
