"""Selectors, paths and query parameters."""

from __future__ import annotations

import pytest

from app.simcluster.api.errors import ApiError
from app.simcluster.api.params import Form, form_of, list_params
from app.simcluster.api.selectors import Selector
from app.simcluster.api.target import Target, parse_target
from app.simcluster.history import Facts
from app.simcluster.resources import JOBS, NAMESPACES, NODES, PODS

FACTS = Facts("ns", {"a": "1", "n": "5", "empty": ""}, {"metadata.name": "x", "status.phase": "Running"})
KNOWN = ("metadata.name", "status.phase", "spec.nodeName")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("a=1", True),
        ("a==1", True),
        ("a=2", False),
        ("a!=2", True),
        ("missing!=2", True),
        ("a", True),
        ("!a", False),
        ("!missing", True),
        ("a in (1, 2)", True),
        ("a notin (1,2)", False),
        ("missing notin (1)", True),
        ("n>4", True),
        ("n<5", False),
        ("a>0,n in (5),!b", True),
        ("empty=", True),
        ("", True),
    ],
)
def test_labels(labels: str, expected: bool):
    assert Selector(labels=labels).accepts(FACTS) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("metadata.name=x", True),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("spec.nodeName=", False),
        ("status.phase=Running,metadata.name=y", False),
    ],
)
def test_fields(fields: str, expected: bool):
    assert Selector(fields=fields, known=KNOWN).accepts(FACTS) is expected


def test_namespace():
    assert Selector("ns").accepts(FACTS)
    assert not Selector("other").accepts(FACTS)


@pytest.mark.parametrize("labels", ["a=b=c", "a in 1", "=x", "a b"])
def test_a_label_selector_that_cannot_be_read_is_400(labels: str):
    with pytest.raises(ApiError) as caught:
        Selector(labels=labels)
    assert caught.value.code == 400


def test_a_field_that_cannot_be_selected_is_400():
    with pytest.raises(ApiError, match=r"field label not supported: spec\.image"):
        Selector(fields="spec.image=x", known=KNOWN)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/nodes", Target(NODES)),
        ("/api/v1/nodes/n1/status", Target(NODES, "", "n1", "status")),
        ("/api/v1/pods", Target(PODS)),
        ("/api/v1/namespaces/d/pods/p/log", Target(PODS, "d", "p", "log")),
        ("/apis/batch/v1/namespaces/d/jobs", Target(JOBS, "d")),
        ("/api/v1/namespaces", Target(NAMESPACES)),
        ("/api/v1/namespaces/d", Target(NAMESPACES, "", "d")),
        ("/api/v1/namespaces/d/status", Target(NAMESPACES, "", "d", "status")),
    ],
)
def test_paths(path: str, expected: Target):
    assert parse_target(path) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/secrets", "the server could not find the requested resource"),
        ("/api/v1/pods/p", "the server could not find the requested resource"),
        ("/api/v1/namespaces/d/pods/p/exec", "the server could not find the requested resource"),
        ("/api/v1/namespaces/d/nodes", "the server could not find the requested resource"),
        ("/apis/nope/v1/things", "404 page not found"),
        ("/api/v2/pods", "404 page not found"),
        ("/elsewhere", "404 page not found"),
    ],
)
def test_paths_that_lead_nowhere(path: str, message: str):
    with pytest.raises(ApiError) as caught:
        parse_target(path)
    assert (caught.value.code, str(caught.value)) == (404, message)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.OBJECT),
        ("*/*", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form.TABLE),
        ("application/json;as=PartialObjectMetadata;v=v1,application/json", Form.OBJECT),
    ],
)
def test_forms(accept: str, form: Form):
    assert form_of(accept) is form


@pytest.mark.parametrize("accept", ["application/vnd.kubernetes.protobuf", "text/html"])
def test_a_form_nobody_can_give_is_406(accept: str):
    with pytest.raises(ApiError) as caught:
        form_of(accept)
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "x"}, 400),
        ({"resourceVersion": "x"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"continue": "x", "resourceVersion": "5"}, 400),
        ({"sendInitialEvents": "true", "watch": "1"}, 422),
    ],
)
def test_parameters_that_do_not_go_together(query: dict[str, str], code: int):
    with pytest.raises(ApiError) as caught:
        list_params(Target(PODS), query)
    assert caught.value.code == code
