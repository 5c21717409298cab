"""What is refused when an object is made or changed, by field and reason."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from app.simcluster.api.validate import validate, validate_shape
from app.simcluster.api.validate_update import validate_update
from app.simcluster.defaults import default_job, default_pod
from app.simcluster.meta import Json
from app.simcluster.resources import JOBS, NODES, PODS
from app.simcluster.settings import Settings
from tests.simcluster.world import container, job_document

POD = default_pod({"metadata": {"name": "p"}, "spec": {"containers": [container(1)]}}, Settings())
JOB = default_job(job_document("j"), "uid")


def changed(document: Json, path: str, value: Any) -> Json:
    """The document with the value at a dotted path; DROP takes it away."""
    new: Any = copy.deepcopy(document)
    at: Any = new
    *parents, last = [int(part) if part.isdecimal() else part for part in path.split("/")]
    for part in parents:
        at = at[part]
    if value is DROP:
        del at[last]
    else:
        at[last] = value
    changed_document: Json = new
    return changed_document


DROP = object()
SPEC = "spec/template/spec"
TERM = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}}


@pytest.mark.parametrize(
    ("path", "value", "field", "reason"),
    [
        ("metadata/name", "Bad_Name", "metadata.name", "FieldValueInvalid"),
        ("metadata/labels", {"k": "-bad"}, "metadata.labels", "FieldValueInvalid"),
        ("metadata/labels", {"k": "a" * 64}, "metadata.labels", "FieldValueInvalid"),
        ("metadata/labels", {"x/y/z": "a"}, "metadata.labels", "FieldValueInvalid"),
        ("metadata/finalizers", ["plain"], "metadata.finalizers[0]", "FieldValueInvalid"),
        (f"{SPEC}/restartPolicy", "Always", "spec.template.spec.restartPolicy", "FieldValueRequired"),
        (f"{SPEC}/restartPolicy", "Now", "spec.template.spec.restartPolicy", "FieldValueNotSupported"),
        (f"{SPEC}/restartPolicy", DROP, "spec.template.spec.restartPolicy", "FieldValueRequired"),
        (f"{SPEC}/containers/0/image", "", "spec.template.spec.containers[0].image", "FieldValueRequired"),
        (f"{SPEC}/containers/0/name", "", "spec.template.spec.containers[0].name", "FieldValueRequired"),
        (f"{SPEC}/activeDeadlineSeconds", 0, "spec.template.spec.activeDeadlineSeconds", "FieldValueInvalid"),
        ("spec/backoffLimit", -1, "spec.backoffLimit", "FieldValueInvalid"),
        ("spec/podFailurePolicy", {"rules": []}, "spec.podFailurePolicy", "FieldValueForbidden"),
        ("spec/completionMode", "Indexed", "spec.completionMode", "FieldValueForbidden"),
    ],
)
def test_a_job_is_refused(path: str, value: Any, field: str, reason: str):
    causes = validate(JOBS, default_job(changed(job_document("j"), path, value), "uid"))
    assert [(cause.field, cause.reason) for cause in causes] == [(field, reason)]


def test_a_name_of_more_than_63_cannot_be_a_label_of_its_pods():
    long = default_job(job_document("a" * 64), "uid")
    assert {cause.field for cause in validate(JOBS, long)} == {"spec.template.labels"}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"nvidia.com/gpu": "1.5"}, "must be an integer"),
        ({"cpu": "-1"}, "must be greater than or equal to 0"),
        ({"cpu": "much"}, "quantities must match the regular expression"),
    ],
)
def test_resources(limits: Json, words: str):
    causes = validate(PODS, changed(POD, "spec/containers/0/resources", {"limits": limits}))
    assert words in causes[0].message


def test_a_field_of_one_value_only():
    causes = validate(PODS, changed(POD, "spec/affinity", AFFINITY))
    assert causes[0].field.endswith("nodeSelectorTerms[0].matchFields[0].values")


@pytest.mark.parametrize("spec", [None, {}, {"containers": []}, {"containers": ["x"]}])
def test_without_containers_there_is_nothing_to_fill_in(spec: Any):
    metadata = {"name": "a"}
    pod, job = {"metadata": metadata, "spec": spec}, {"metadata": metadata, "spec": {"template": {"spec": spec}}}
    assert [cause.field for cause in validate_shape(PODS, pod)] == ["spec.containers"]
    fields = [cause.field for cause in validate_shape(JOBS, job)]
    assert fields == ["spec.template.spec.containers", "spec.template.spec.restartPolicy"]


def test_what_is_right_passes():
    assert not validate(PODS, POD)
    assert not validate(JOBS, JOB)
    assert not validate(NODES, {"metadata": {"name": "gpu-1.rack"}})


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (None, 10, False),
        (10, 5, False),
        (10, 10, False),
        (5, 10, True),
        (10, None, True),
        (10, 0, True),
    ],
)
def test_a_live_deadline_may_be_added_or_lowered(before: int | None, after: int | None, refused: bool):
    old = changed(POD, "spec/activeDeadlineSeconds", before)
    new = changed(POD, "spec/activeDeadlineSeconds", after)
    assert bool(validate_update(PODS, new, old)) is refused


@pytest.mark.parametrize(
    ("path", "value", "refused"),
    [
        ("spec/containers/0/image", "other:1", False),
        ("spec/containers/0/env", [{"name": "A"}], True),
        ("spec/nodeName", "n", True),
        ("spec/tolerations", [*POD["spec"]["tolerations"], {"operator": "Exists"}], False),
        ("spec/tolerations", [], True),
        ("metadata/labels", {"a": "b"}, False),
    ],
)
def test_a_live_pod(path: str, value: Any, refused: bool):
    assert bool(validate_update(PODS, changed(POD, path, value), POD)) is refused


@pytest.mark.parametrize(
    ("path", "value", "refused"),
    [
        ("spec/suspend", True, False),
        ("spec/activeDeadlineSeconds", 5, False),
        ("spec/parallelism", 0, False),
        ("spec/completions", 2, True),
        (f"{SPEC}/containers/0/image", "other:1", True),
        (f"{SPEC}/nodeSelector", {"a": "b"}, True),
    ],
)
def test_a_live_job(path: str, value: Any, refused: bool):
    assert bool(validate_update(JOBS, changed(JOB, path, value), JOB)) is refused


def test_a_suspended_job_may_still_be_told_where_to_run():
    suspended = changed(JOB, "spec/suspend", True)
    assert not validate_update(JOBS, changed(suspended, f"{SPEC}/nodeSelector", {"a": "b"}), suspended)


def test_no_finalizer_can_be_added_to_what_is_going():
    going = changed(POD, "metadata/deletionTimestamp", "2026-01-01T00:00:00Z")
    causes = validate_update(PODS, changed(going, "metadata/finalizers", ["example.com/x"]), going)
    assert [cause.field for cause in causes] == ["metadata.finalizers"]
