"""From flags to the API's input, and its complaints back to flags."""

from __future__ import annotations

import pytest

from app.client.errors import ClientError
from app.client.flags import SUBMISSION, in_flags
from app.client.submission import project_id, submission


def test_what_is_not_given_is_not_sent():
    assert submission({"image": "i", "cpu": None, "envVars": []}, [], are_command=False) == {
        "image": "i",
        "envVars": [],
    }


def test_words_are_arguments_unless_they_are_the_command():
    assert submission({}, ["a", "b"], are_command=False) == {"args": ["a", "b"]}
    assert submission({}, ["a", "b"], are_command=True) == {"command": ["a", "b"]}


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("gpuCount: must be between 1 and 1024; it is 0", "--gpus: must be between 1 and 1024; it is 0"),
        ("envVars[3].name: X is taken", "--env: X is taken"),
        ("organization: no such", "organization: no such"),
        ("it can't be: told", "it can't be: told"),
        ("Variable '$input' has invalid value at .gpuCount: Int cannot represent", "--gpus: Int cannot represent"),
        ("Variable '$input' has invalid value at .envVars[3].name: x", "--env: x"),
        ("Variable '$input' has invalid value: x", "Variable '$input' has invalid value: x"),
    ],
)
def test_complaints_name_the_flag(sentence: str, shown: str):
    assert in_flags(sentence, SUBMISSION) == shown


def test_a_project_by_its_slug():
    projects = [{"id": "1", "slug": "a"}, {"id": "2", "slug": "b"}]
    assert project_id(projects, "b") == "2"
    with pytest.raises(ClientError, match="no project 'c'; there are: a, b"):
        project_id(projects, "c")
    with pytest.raises(ClientError, match="there are: none"):
        project_id([], "c")
