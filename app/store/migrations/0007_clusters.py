from tortoise import migrations
from tortoise.migrations import operations as ops
from orjson import loads
from tortoise.fields.data import JSON_DUMPS
from uuid import uuid4
from tortoise import fields

# A server's name was unique and is so within its cluster only from now on. Nothing refers to the table, so its rows move to
# a new one; SQLite can't take a constraint away. The empty cluster gets its name at the next start of the service.
COPY_SERVERS = """
INSERT INTO cluster_servers (id, cluster, name, organization_slug, product, driver, gpu_total, gpu_largest, facts,
                             first_seen_at, last_seen_at, gone_at)
SELECT id, '', name, organization_slug, product, driver, gpu_total, gpu_largest, facts,
       first_seen_at, last_seen_at, gone_at FROM servers
"""


class Migration(migrations.Migration):
    dependencies = [('gpuyard', '0006_installation')]

    initial = False

    operations = [
        ops.CreateModel(
            name='ClusterRow',
            fields=[
                ('name', fields.CharField(primary_key=True, unique=True, db_index=True, max_length=63)),
                ('last_contact_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'clusters', 'app': 'gpuyard', 'pk_attr': 'name'},
            bases=['Model'],
        ),
        ops.CreateModel(
            name='ClusterServerRow',
            fields=[
                ('id', fields.UUIDField(primary_key=True, default=uuid4, unique=True, db_index=True)),
                ('cluster', fields.CharField(max_length=63)),
                ('name', fields.CharField(max_length=253)),
                ('organization_slug', fields.CharField(db_index=True, max_length=63)),
                ('product', fields.CharField(default='', max_length=200)),
                ('driver', fields.CharField(default='', max_length=40)),
                ('gpu_total', fields.IntField(default=0)),
                ('gpu_largest', fields.IntField(default=0)),
                ('facts', fields.JSONField(encoder=JSON_DUMPS, decoder=loads)),
                ('first_seen_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('last_seen_at', fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ('gone_at', fields.DatetimeField(null=True, auto_now=False, auto_now_add=False)),
            ],
            options={'table': 'cluster_servers', 'app': 'gpuyard', 'unique_together': (('cluster', 'name'),), 'pk_attr': 'id'},
            bases=['Model'],
        ),
        ops.AddField(
            model_name='AttemptRow',
            name='cluster',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
        ops.AddField(
            model_name='WorkloadRow',
            name='cluster',
            field=fields.CharField(default='', db_default='', max_length=63),
        ),
        ops.RunSQL(COPY_SERVERS),
        ops.DeleteModel(name='ServerRow'),
    ]
