from tortoise import migrations
from tortoise.migrations import operations as ops
from app.store.indexes import IndexWhere
from tortoise import fields
from tortoise.indexes import Index


class Migration(migrations.Migration):
    dependencies = [("gpuyard", "0014_listed_partial_index")]

    initial = False

    operations = [
        ops.CreateModel(
            name="PodSampleRow",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("workload_id", fields.UUIDField()),
                ("attempt", fields.IntField()),
                ("begins", fields.DatetimeField(auto_now=False, auto_now_add=False)),
                ("resolution", fields.IntField()),
                ("data", fields.BinaryField()),
            ],
            options={
                "table": "pod_samples",
                "app": "gpuyard",
                "unique_together": (("workload_id", "begins", "attempt", "resolution"),),
                "indexes": [Index(fields=["resolution", "begins"], name="pod_samples_to_thin")],
                "pk_attr": "id",
            },
            bases=["Model"],
        ),
        ops.AddIndex(
            model_name="AttemptRow",
            index=IndexWhere(fields=["server"], name="attempts_on_server", where='"cleaned_at" IS NULL'),
        ),
        ops.AddIndex(
            model_name="AttemptRow",
            index=Index(fields=["pod_uid"], name="attempts_of_pod"),
        ),
    ]
