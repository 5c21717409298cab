"""Every refusal of submitWorkload: its code, its fields, its words, and that nothing but an audit row is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from tests.api.world import Api, last_audit, written

NOTHING = {"workloads": 0, "attempts": 0, "events": 0, "audit": 0}
LONG_SLUG = "a" * 64


@dataclass(frozen=True)
class Refused:
    """`fields` are the wrong ones, in order; each of `words` is in the message."""

    code: str
    words: tuple[str, ...]
    fields: tuple[str, ...] = ()
    who: str = "admin"
    wanted: dict[str, Any] = field(default_factory=dict)


def wrong(fields: tuple[str, ...], words: tuple[str, ...], **wanted: Any) -> Refused:
    return Refused("BAD_USER_INPUT", words, fields, wanted=wanted)


def variable(name: str, value: str = "x") -> dict[str, str]:
    return {"name": name, "value": value}


WRONG_INPUT = {
    "blank image": wrong(("image",), ("an image is required", "it is blank"), image=" \n"),
    "upper-case repository": wrong(("image",), ("'Train'", "repository name"), image="team/Train"),
    "bad tag": wrong(("tag",), ("'-v'", "not starting with"), tag="-v"),
    "two tags": wrong(("tag",), ("'1.36'", "'1.37'", "leave one out"), tag="1.37"),
    "too many GPUs": wrong(("gpuCount",), ("9 GPUs", "gpu-1", "has 8", "Ask for 8 or fewer"), gpuCount=9),
    "no GPU": wrong(("gpuCount",), ("between 1 and 1024", "it is 0"), gpuCount=0),
    "no time": wrong(("timeoutSeconds",), ("between 1 and 2592000",), timeoutSeconds=0),
    "31 days": wrong(("timeoutSeconds",), ("it is 2678400",), timeoutSeconds=31 * 86400),
    "reserved variable": wrong(
        ("envVars[1].name",),
        ("NVIDIA_VISIBLE_DEVICES", "leave it out"),
        envVars=[variable("A"), variable("NVIDIA_VISIBLE_DEVICES", "all")],
    ),
    "no variable name": wrong(("envVars[0].name",), ("'1A'",), envVars=[variable("1A")]),
    "repeated variable": wrong(("envVars[1].name",), ("A is given twice",), envVars=[variable("A"), variable("A")]),
    "NUL in a value": wrong(("envVars[0].value",), ("NUL",), envVars=[variable("A", "\0")]),
    "NUL in a word": wrong(("args[0]",), ("NUL",), args=["\0"]),
    "cpu": wrong(("cpu",), ("'4 cores'", "500m"), cpu="4 cores"),
    "memory": wrong(("memory",), ("between 16Mi and 64Ti",), memory="1Ki"),
    "unprintable name": wrong(("name",), ("printable",), name="a\0b"),
    "unknown project": wrong(("projectId",), ("acme has no project",), projectId=str(UUID(int=5))),
    "all at once": wrong(
        ("image", "gpuCount", "envVars[0].name", "name"),
        ("required", "it is -1", "'='", "at most 100"),
        image="",
        gpuCount=-1,
        envVars=[variable("=")],
        name="n" * 101,
    ),
}
NOT_HERE = {
    "feature off": Refused("PRECONDITION_FAILED", ("not enabled for paused",), wanted={"organization": "paused"}),
    "no servers": Refused("PRECONDITION_FAILED", ("empty has no server",), wanted={"organization": "empty"}),
    "unknown": Refused("NOT_FOUND", ("no organization 'nowhere'",), wanted={"organization": "nowhere"}),
    "foreign": Refused("NOT_FOUND", ("no organization 'other'",), wanted={"organization": "other"}),
    "no slug": Refused("NOT_FOUND", ("no organization",), wanted={"organization": "a\0b"}),
    "long slug": Refused("NOT_FOUND", (f"'{LONG_SLUG}'",), wanted={"organization": LONG_SLUG}),
    "member": Refused("FORBIDDEN", ("owners and admins of acme", "your role is member"), who="member"),
    "viewer": Refused("FORBIDDEN", ("owners and admins of acme", "your role is viewer"), who="viewer"),
    "reads only": Refused("FORBIDDEN", ("lacks the scope workloads:write", "it has workloads:read"), who="reader"),
    "other scope": Refused("FORBIDDEN", ("it has organization:admin",), who="manager"),
}
REFUSALS = WRONG_INPUT | NOT_HERE


@pytest.mark.parametrize("expected", REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_says_what_is_wrong_and_writes_one_audit_row(api: Api, expected: Refused):
    error = await api.refuse_submit(who=expected.who, **expected.wanted)
    assert error["code"] == expected.code
    assert tuple(problem["field"] for problem in error.get("fields", ())) == expected.fields
    for words in expected.words:
        assert words in error["message"]
    assert await written() == {**NOTHING, "audit": 1}
    audit = await last_audit()
    assert (audit["action"], audit["outcome"]) == ("submit_workload", expected.code)
    assert audit["actor"] == f"{'admin' if expected.who in ('reader', 'manager') else expected.who}@example.org"
    assert audit["detail"] == error["message"]


async def test_a_foreign_project_looks_like_none(api: Api):
    error = await api.refuse_submit(projectId=str(api.projects["theirs"].id))
    assert error["code"] == "BAD_USER_INPUT"
    assert error["message"] == f"projectId: acme has no project {api.projects['theirs'].id}"
    assert await written() == {**NOTHING, "audit": 1}


@pytest.mark.parametrize(
    ("who", "words"), [(None, "no credential was given"), ("nobody", "unknown, expired or revoked")], ids=str
)
async def test_who_has_no_good_credential_is_told_and_nothing_is_written(api: Api, who: str | None, words: str):
    error = await api.refuse_submit(who=who)
    assert error["code"] == "UNAUTHENTICATED"
    assert words in error["message"]
    assert await written() == NOTHING


async def test_nobody_learns_why_a_token_is_no_good(api: Api):
    errors = [await api.refuse_submit(who=who) for who in ("revoked", "expired", "nobody")]
    assert errors[0] == errors[1] == errors[2]
    assert await written() == NOTHING


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic Z3B1eWFyZA==", "gpuyard_admin", "Bearer é"])
async def test_what_is_no_bearer_token_is_no_credential(api: Api, header: str):
    sent = {b"authorization": header.encode("latin-1")}
    async with api.client(None) as client:
        answer = await client.post("/graphql", json={"query": "{ viewer { name } }"}, headers=sent)
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(("who", "precondition"), [("paused", "feature_disabled"), ("empty", "no_gpu_server")])
async def test_a_precondition_has_a_code_of_its_own(api: Api, who: str, precondition: str):
    assert (await api.refuse_submit(organization=who))["precondition"] == precondition


async def test_the_role_is_told_before_the_preconditions(api: Api):
    assert (await api.refuse_submit(organization="paused", who="viewer"))["code"] == "FORBIDDEN"


async def test_another_request_under_the_same_key_is_a_conflict(api: Api):
    first = await api.submit(idempotencyKey="k")
    error = await api.refuse_submit(idempotencyKey="k", gpuCount=2)
    assert error["code"] == "CONFLICT"
    assert first["id"] in error["message"]
    assert await written() == {"workloads": 1, "attempts": 0, "events": 1, "audit": 1}
