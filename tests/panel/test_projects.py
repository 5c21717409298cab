"""The projects' page: who sees quotas and what is used of them, and who sets them."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.domain.quota import Quota
from app.domain.workload import Resources
from app.store import managing, people
from app.store.models import AuditRow
from tests.panel.world import Page, Panel, location

PROJECTS = "/orgs/acme/projects"


def at(project_id: UUID) -> str:
    return f"{PROJECTS}/{project_id}/quota"


async def quota_of(panel: Panel, name: str = "vision") -> Quota:
    project = panel.projects[name]
    return (await people.projects_by_id([project.id]))[project.id].quota


async def test_a_quota_is_set_shown_and_taken_away(panel: Panel):
    project = panel.projects["vision"]
    await panel.running(await panel.workload(spec={"project_id": project.id, "resources": Resources(4, 1000, 2**30)}))
    async with panel.browser() as browser:
        form = {"guaranteedGpus": "2", "maxGpus": "8", "version": "1"}
        assert location(await browser.post(at(project.id), form)) == PROJECTS
        page = Page.of((await browser.get(PROJECTS)).text)
        assert "Vision vision 2 GPUs 8 GPUs 4 2 over the guarantee" in " ".join(page.text.split())
        assert await quota_of(panel) == Quota(2, 8)
        await browser.post(at(project.id), {"guaranteedGpus": "", "maxGpus": " ", "version": "2"})
    assert await quota_of(panel) == Quota()


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"guaranteedGpus": "9", "maxGpus": "8"}, 422, "Vision: the maximum must not be less than what is guaranteed"),
        ({"guaranteedGpus": "many"}, 422, "Vision: what is guaranteed must be a whole number, or empty for none"),
        ({"maxGpus": "-1"}, 422, "Vision: the maximum must be a whole number"),
        ({"maxGpus": "1", "version": "7"}, 409, "Somebody changed the project since version 7"),
        ({"maxGpus": "1", "version": "x"}, 422, "version must be a whole number"),
    ],
)
async def test_what_is_wrong_with_a_quota_is_told(panel: Panel, form: dict[str, str], status: int, words: str):
    async with panel.browser() as browser:
        answer = await browser.post(at(panel.projects["vision"].id), {"version": "1", **form})
    assert (answer.status_code, words in Page.of(answer.text).text) == (status, True)
    assert await quota_of(panel) == Quota()


@pytest.mark.parametrize("who", ["member", "viewer"])
async def test_others_see_quotas_and_neither_use_nor_form(panel: Panel, who: str):
    project = panel.projects["vision"]
    await managing.set_quota(project.id, Quota(2, 8), 1)
    async with panel.browser(who) as browser:
        page = Page.of((await browser.get(PROJECTS)).text)
        assert "2 GPUs 8 GPUs" in " ".join(page.text.split())
        assert "in use" not in page.text
        assert page.all("form", action=at(project.id)) == []
        where = location(await browser.post(at(project.id), {"maxGpus": "1", "version": "2"}))
    assert where == f"{PROJECTS}?reason=owner_or_admin_only"
    assert await quota_of(panel) == Quota(2, 8)
    assert await AuditRow.filter(action="set_project_quota", outcome="FORBIDDEN").count() == 1


async def test_another_organizations_project_is_none(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.post(at(panel.projects["theirs"].id), {"maxGpus": "1", "version": "1"})
    assert (answer.status_code, await quota_of(panel, "theirs")) == (404, Quota())


async def test_guarantees_beyond_the_servers_are_warned_of(panel: Panel):
    await managing.set_quota(panel.projects["vision"].id, Quota(100), 1)
    async with panel.browser() as browser:
        page = Page.of((await browser.get(PROJECTS)).text)
    assert "All guarantees together are 100 GPUs, but the servers on record have 10 GPUs" in page.text
