from tortoise import migrations
from tortoise.migrations import operations as ops
from orjson import loads
from tortoise.fields.base import OnDelete
from tortoise.fields.data import JSON_DUMPS
from uuid import uuid4
from tortoise import fields
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0011_listed_index')]

    initial = False

    operations = [
        ops.CreateModel(
            name='GpuRow',
            fields=[
                ('id', fields.UUIDField(primary_key=True, default=uuid4, unique=True, db_index=True)),
                ('server', fields.ForeignKeyField('gpuyard.ClusterServerRow', source_field='server_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('uuid', fields.CharField(max_length=100)),
                ('index', fields.IntField()),
                ('product', fields.CharField(max_length=200)),
                ('memory_mib', fields.IntField(null=True)),
                ('facts', fields.JSONField(encoder=JSON_DUMPS, decoder=loads)),
                ('health', fields.CharField(max_length=16)),
                ('health_reason', fields.CharField(default='', max_length=32)),
                ('health_message', fields.TextField(default='', unique=False)),
                ('health_since', fields.DatetimeField(null=True, auto_now=False, auto_now_add=False)),
                ('xid', fields.IntField(null=True)),
                ('first_seen_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('gone_at', fields.DatetimeField(null=True, auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'gpus', 'app': 'gpuyard', 'unique_together': (('server', 'uuid'),), 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.CreateModel(
            name='GpuHolderRow',
            fields=[
                ('id', fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ('gpu', fields.ForeignKeyField('gpuyard.GpuRow', source_field='gpu_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('instance', fields.CharField(default='', max_length=100)),
                ('workload_id', fields.UUIDField(null=True)),
                ('attempt', fields.IntField(null=True)),
                ('namespace', fields.CharField(max_length=253)),
                ('pod', fields.CharField(max_length=253)),
                ('pod_uid', fields.CharField(default='', max_length=64)),
                ('container', fields.CharField(default='', max_length=253)),
                ('is_shared', fields.BooleanField(default=False)),
                ('since', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('until', fields.DatetimeField(null=True, auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'gpu_holders', 'app': 'gpuyard', 'indexes': [Index(fields=['gpu_id', 'since'], name='gpu_holders_of_gpu'), Index(fields=['workload_id'], name='gpu_holders_of_work'), Index(fields=['until'], name='gpu_holders_ended')], 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.CreateModel(
            name='GpuSampleRow',
            fields=[
                ('id', fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ('gpu', fields.ForeignKeyField('gpuyard.GpuRow', source_field='gpu_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('instance', fields.CharField(default='', max_length=100)),
                ('begins', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('resolution', fields.IntField()),
                ('data', fields.BinaryField()),
            ],
            options={'table': 'gpu_samples', 'app': 'gpuyard', 'unique_together': (('gpu', 'begins', 'instance', 'resolution'),), 'indexes': [Index(fields=['resolution', 'begins'], name='gpu_samples_to_thin')], 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.CreateModel(
            name='ServerAgentRow',
            fields=[
                ('id', fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ('server', fields.OneToOneField('gpuyard.ClusterServerRow', source_field='server_id', db_constraint=True, to_field='id', related_name=False, on_delete=OnDelete.RESTRICT)),
                ('agent_id', fields.CharField(max_length=100)),
                ('agent_version', fields.CharField(max_length=100)),
                ('boot_id', fields.CharField(max_length=100)),
                ('started_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('sequence', fields.BigIntField()),
                ('received_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('skew_seconds', fields.FloatField()),
                ('has_inventory', fields.BooleanField(default=False)),
                ('driver_state', fields.CharField(default='', max_length=24)),
                ('driver_message', fields.TextField(default='', unique=False)),
                ('driver_version', fields.CharField(default='', max_length=100)),
                ('cuda_version', fields.CharField(default='', max_length=100)),
                ('gpus_offered', fields.IntField(default=0)),
                ('gpus_failed', fields.IntField(default=0)),
            ],
            options={'table': 'server_agents', 'app': 'gpuyard', 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.AddField(
            model_name='TokenRow',
            name='agent_cluster',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
        ops.AddField(
            model_name='TokenRow',
            name='agent_node',
            field=fields.CharField(default='', db_default='', max_length=253),
        ),
    ]
