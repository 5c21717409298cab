from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise.fields.base import OnDelete
from uuid import uuid4
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0001_initial')]

    initial = False

    operations = [
        ops.CreateModel(
            name='SessionRow',
            fields=[
                ('id', fields.UUIDField(primary_key=True, default=uuid4, unique=True, db_index=True)),
                ('secret_hash', fields.CharField(unique=True, max_length=64)),
                ('user', fields.ForeignKeyField('gpuyard.UserRow', source_field='user_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('created_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('last_seen_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('expires_at', fields.DatetimeField(db_index=True, auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'sessions', 'app': 'gpuyard', 'pk_attr': 'id'},
            bases=['Model'],
        ),
    ]
