from tortoise import migrations
from tortoise.migrations import operations as ops
from orjson import loads
from tortoise.fields.base import OnDelete
from tortoise.fields.data import JSON_DUMPS
from uuid import uuid4
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0002_sessions')]

    initial = False

    operations = [
        ops.CreateModel(
            name='VolumeRow',
            fields=[
                ('id', fields.UUIDField(primary_key=True, default=uuid4, unique=True, db_index=True)),
                ('organization', fields.ForeignKeyField('gpuyard.OrganizationRow', source_field='organization_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('name', fields.CharField(max_length=63)),
                ('kind', fields.CharField(max_length=16)),
                ('source', fields.CharField(max_length=1400)),
                ('read_only', fields.BooleanField(default=False)),
                ('created_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'volumes', 'app': 'gpuyard', 'unique_together': (('organization', 'name'),), 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='labels',
            field=fields.JSONField(null=True, encoder=JSON_DUMPS, decoder=loads),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='mounts',
            field=fields.JSONField(null=True, encoder=JSON_DUMPS, decoder=loads),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='shared_memory_bytes',
            field=fields.BigIntField(null=True),
        ),
    ]
