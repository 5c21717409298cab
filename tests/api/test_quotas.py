"""How many GPUs a project is guaranteed and may use at most, over the API."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.gpus import GpuRequirements
from app.domain.workload import Resources
from app.store.models import AuditRow
from tests.api.test_managing import done, refused
from tests.api.world import Api
from tests.store.builders import a_placed_workload

SET = (
    "mutation($input: SetProjectQuotaInput!) { setProjectQuota(input: $input) "
    "{ warning project { version quota { guaranteedGpus maxGpus usedGpus overGpus } } } }"
)
READ = '{ organization(slug: "acme") { projects { slug quota { guaranteedGpus maxGpus usedGpus overGpus } } } }'


async def quota_of(api: Api, who: str = "owner") -> Any:
    projects = (await api.data(READ, who=who))["organization"]["projects"]
    return next(it["quota"] for it in projects if it["slug"] == "vision")


async def holds(api: Api, gpus: int, **spec: object) -> None:
    resources = Resources(gpus, 1000, 2**30)
    of_it = {"resources": resources, "project_id": api.projects["vision"].id, **spec}
    await a_placed_workload(api.organizations["acme"], spec=of_it)


async def test_a_project_has_no_quota_until_it_is_given_one(api: Api):
    nothing = {"guaranteedGpus": None, "maxGpus": None, "usedGpus": 0, "overGpus": None}
    assert await quota_of(api) == nothing
    project = str(api.projects["vision"].id)
    answer = await done(api, SET, "admin", id=project, guaranteedGpus=2, maxGpus=4, version=1)
    given = {"guaranteedGpus": 2, "maxGpus": 4, "usedGpus": 0, "overGpus": 0}
    assert answer == {"warning": "", "project": {"version": 2, "quota": given}}
    row = await AuditRow.filter(action="set_project_quota").first()
    assert row is not None
    assert (row.actor, row.target, row.detail) == ("admin@example.org", project, "2 guaranteed, 4 at most")
    await done(api, SET, id=project, version=2)
    assert await quota_of(api) == nothing


async def test_what_its_workloads_hold_is_counted_in_whole_gpus(api: Api):
    await done(api, SET, id=str(api.projects["vision"].id), guaranteedGpus=4, version=1)
    await holds(api, 3)
    await holds(api, 2)
    await holds(api, 1, gpu_requirements=GpuRequirements(mig_profile="1g.10gb"))
    await holds(api, 1, gpu_requirements=GpuRequirements(is_shared=True))
    await holds(api, 7, project_id=None)
    found = await quota_of(api)
    assert (found["usedGpus"], found["overGpus"]) == (5, 1)
    found = await quota_of(api, "member")
    assert found == {"guaranteedGpus": 4, "maxGpus": None, "usedGpus": None, "overGpus": None}


async def test_guarantees_beyond_the_servers_are_taken_with_a_warning(api: Api):
    answer = await done(api, SET, id=str(api.projects["vision"].id), guaranteedGpus=1000, version=1)
    assert answer["project"]["quota"]["guaranteedGpus"] == 1000
    assert answer["warning"].startswith("all guarantees together are 1000 GPUs, but the servers on record have ")


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        ({"guaranteedGpus": -1}, "BAD_USER_INPUT", "guaranteedGpus: must be between 0 and"),
        ({"guaranteedGpus": 3, "maxGpus": 2}, "BAD_USER_INPUT", "maxGpus: must not be less than"),
        ({"version": 7}, "CONFLICT", "somebody changed the project since version 7"),
    ],
)
async def test_a_quota_that_is_refused(api: Api, wanted: dict[str, Any], code: str, words: str):
    error = await refused(api, SET, "owner", **{"id": str(api.projects["vision"].id), "version": 1, **wanted})
    assert (error["code"], words in error["message"]) == (code, True)


async def test_a_strangers_project_is_none(api: Api):
    error = await refused(api, SET, "owner", id=str(api.projects["theirs"].id), maxGpus=0, version=1)
    assert error["code"] == "NOT_FOUND"
