from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise.fields.base import OnDelete
from uuid import uuid4
from tortoise import fields

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0003_labels_mounts_volumes')]

    initial = False

    operations = [
        ops.CreateModel(
            name='AttemptLogRow',
            fields=[
                ('id', fields.UUIDField(primary_key=True, default=uuid4, unique=True, db_index=True)),
                ('workload', fields.ForeignKeyField('gpuyard.WorkloadRow', source_field='workload_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('number', fields.IntField()),
                ('lines', fields.BinaryField(null=True)),
                ('size', fields.BigIntField(default=0)),
                ('was_cut', fields.BooleanField(default=False)),
                ('why_none', fields.TextField(default='', unique=False)),
                ('stored_at', fields.DatetimeField(db_index=True, auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'attempt_logs', 'app': 'gpuyard', 'unique_together': (('workload', 'number'),), 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.AddField(
            model_name='AttemptRow',
            name='log_taken_at',
            field=fields.DatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
    ]
