"""Every refusal of a submission: its class, its code, its words; and it writes nothing but one row of the audit."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from app.commands.submit_workload import submit_workload
from app.domain.errors import (
    DomainError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PreconditionFailedError,
)
from app.domain.people import Principal, Role, Scope
from app.domain.submission import Draft
from app.store import people
from app.store.database import Database
from app.store.models import AuditRow
from tests.clock import START, ManualClock
from tests.store.builders import an_organization
from tests.store.desk import Desk, a_desk, a_draft, nobody, refusals, rows

NOTHING = {"workloads": 0, "attempts": 0, "events": 0}


async def refused(desk: Desk, principal: Principal, draft: Draft, code: str, slug: str = "acme") -> DomainError:
    """The refusal, after a look at what it wrote."""
    with pytest.raises(DomainError) as caught:
        await submit_workload(desk.context, principal, slug, draft)
    assert caught.value.code == code
    assert await rows() == NOTHING
    assert await refusals() == [(principal.name, "submit_workload", slug, code)]
    assert desk.woken == []
    return caught.value


@pytest.fixture
async def desk(database: Database, clock: ManualClock) -> Desk:
    return await a_desk(clock)


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no image": ({"image": None, "tag": None}, "image", "image"),
    "blank image": ({"image": "  ", "tag": None}, "image", "image"),
    "image no reference": ({"image": "nvidia/CUDA", "tag": None}, "image", "nvidia/CUDA"),
    "two tags": ({"image": "nvidia/cuda:11.8", "tag": "12.2"}, "tag", "11.8"),
    "no GPU": ({"gpu_count": 0}, "gpuCount", "between 1 and"),
    "too many GPUs": (
        {"gpu_count": 9},
        "gpuCount",
        "9 GPUs on one server were asked for; the largest server on record, gpu-1, has 8. Ask for 8 or fewer",
    ),
    "reserved variable": ({"env_vars": [("CUDA_VISIBLE_DEVICES", "0")]}, "envVars[0].name", "device plugin"),
    "another reserved": ({"env_vars": [("A", ""), ("NVIDIA_VISIBLE_DEVICES", "all")]}, "envVars[1].name", "leave it"),
    "variable's name": ({"env_vars": [("1A", "")]}, "envVars[0].name", "'1A' is not a variable name"),
    "variable twice": ({"env_vars": [("A", "1"), ("A", "2")]}, "envVars[1].name", "A is given twice"),
    "NUL in a variable": ({"env_vars": [("A", "\0")]}, "envVars[0].value", "NUL"),
    "no time to run": ({"timeout_seconds": 0}, "timeoutSeconds", "between 1 and 2592000"),
    "too long": ({"timeout_seconds": 2_592_001}, "timeoutSeconds", "it is 2592001"),
    "memory": ({"memory": "a lot"}, "memory", "a lot"),
    "unknown project": ({"project_id": uuid4()}, "projectId", "acme has no project"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_wrong_input_is_named_by_field(desk: Desk, case: str):
    change, field, words = WRONG[case]
    error = await refused(desk, desk.person(), a_draft(**change), "BAD_USER_INPUT")
    assert isinstance(error, InvalidInputError)
    assert [problem.field for problem in error.problems] == [field]
    assert words in error.problems[0].message


async def test_all_that_is_wrong_is_said_at_once(desk: Desk):
    draft = a_draft(image="", tag=None, gpu_count=0, timeout_seconds=-1)
    error = await refused(desk, desk.person(), draft, "BAD_USER_INPUT")
    assert isinstance(error, InvalidInputError)
    assert {problem.field for problem in error.problems} == {"image", "gpuCount", "timeoutSeconds"}


async def test_another_organizations_project_is_as_unknown_as_none(desk: Desk):
    other = await an_organization("other", is_default=False)
    theirs = await people.add_project(other.id, "vision", "Vision", START)
    error = await refused(desk, desk.person(), a_draft(project_id=theirs.id), "BAD_USER_INPUT")
    assert error.message == f"projectId: acme has no project {theirs.id}"


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
async def test_members_and_viewers_may_not(desk: Desk, role: Role):
    error = await refused(desk, desk.person(role), a_draft(), "FORBIDDEN")
    assert isinstance(error, ForbiddenError)
    assert error.message == f"GPU workloads are for owners and admins of acme; your role is {role}"


async def test_a_token_that_only_reads_may_not(desk: Desk):
    reader = desk.person(scopes=frozenset({Scope.WORKLOADS_READ}))
    error = await refused(desk, reader, a_draft(), "FORBIDDEN")
    assert "lacks the scope workloads:write; it has workloads:read" in error.message


async def test_a_foreign_organization_looks_like_none(desk: Desk):
    foreign = await refused(desk, nobody(), a_draft(), "NOT_FOUND")
    await AuditRow.all().delete()
    unknown = await refused(desk, desk.person(), a_draft(), "NOT_FOUND", slug="acne")
    assert isinstance(foreign, NotFoundError)
    assert foreign.message.replace("acme", "acne") == unknown.message


async def test_where_the_feature_is_off_nothing_is_taken(database: Database, clock: ManualClock):
    desk = await a_desk(clock, enabled=False)
    error = await refused(desk, desk.person(), a_draft(), "PRECONDITION_FAILED")
    assert isinstance(error, PreconditionFailedError)
    assert error.precondition == "feature_disabled"
    assert error.message == "GPU workloads are not enabled for acme; an operator can enable them"


async def test_where_no_server_has_a_gpu_nothing_is_taken(database: Database, clock: ManualClock):
    desk = await a_desk(clock, gpus=0)
    error = await refused(desk, desk.person(), a_draft(), "PRECONDITION_FAILED")
    assert isinstance(error, PreconditionFailedError)
    assert error.precondition == "no_gpu_server"
    assert "has no server with a GPU on record" in error.message


async def test_a_person_without_the_role_learns_nothing_of_the_set_up(database: Database, clock: ManualClock):
    desk = await a_desk(clock, gpus=0, enabled=False)
    await refused(desk, desk.person(Role.VIEWER), a_draft(), "FORBIDDEN")


@pytest.mark.parametrize("slug", ["a\0b", "\ud800", "x" * 5000, "", "Acme", "'; --"])
async def test_a_slug_of_any_text_is_an_unknown_organization(desk: Desk, slug: str):
    with pytest.raises(NotFoundError, match="there is no organization"):
        await submit_workload(desk.context, desk.person(), slug, a_draft())
    assert await rows() == NOTHING
    assert [outcome for *_, outcome in await refusals()] == ["NOT_FOUND"]


@pytest.mark.parametrize(
    "change",
    [
        {"image": "\0", "tag": None},
        {"image": "\ud800", "tag": None},
        {"tag": "\ud800"},
        {"cpu": "\0"},
        {"memory": "\ud800"},
        {"name": "\ud800"},
        {"idempotency_key": "\0"},
        {"command": ["\0"]},
        {"args": ["\ud800"]},
        {"env_vars": [("\ud800", "")]},
        {"env_vars": [("A\0", "")]},
    ],
)
async def test_text_that_no_database_holds_is_wrong_input(desk: Desk, change: dict[str, Any]):
    await refused(desk, desk.person(), a_draft(**change), "BAD_USER_INPUT")
