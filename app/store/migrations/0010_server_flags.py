from tortoise import migrations
from tortoise.migrations import operations as ops
from tortoise import fields
from tortoise.indexes import Index

class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0009_attempt_namespace')]

    initial = False

    operations = [
        ops.AddField(
            model_name='ClusterServerRow',
            name='assigned_slug',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
        ops.AddField(
            model_name='ClusterServerRow',
            name='cordon_reason',
            field=fields.CharField(default='', db_default='', max_length=200),
        ),
        ops.AddField(
            model_name='ClusterServerRow',
            name='cordoned_at',
            field=fields.DatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name='ClusterServerRow',
            name='cordoned_by',
            field=fields.CharField(default='', db_default='', max_length=254),
        ),
        ops.AddField(
            model_name='ClusterServerRow',
            name='cordoned_for',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
        ops.AddField(
            model_name='ClusterServerRow',
            name='version',
            field=fields.IntField(default=1, db_default=1),
        ),
        ops.AddIndex(
            model_name='ClusterServerRow',
            index=Index(fields=['assigned_slug', 'organization_slug'], name='servers_by_owner'),
        ),
    ]
