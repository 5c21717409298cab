from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0005_requests')]

    initial = False

    operations = [
        ops.CreateModel(
            name='InstallationRow',
            fields=[
                ('number', fields.IntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ('uuid', fields.UUIDField()),
                ('created_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'installation', 'app': 'gpuyard', 'pk_attr': 'number'},
            bases=['Model'],
        ),
    ]
