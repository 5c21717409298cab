"""The list of an organization's workloads, and the form that adds one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.context import noting_refusals
from app.commands.submit_workload import Submitted, check_request, submit_workload
from app.domain.errors import ConflictError, InvalidInputError, Problem
from app.domain.people import highest_priority
from app.domain.workload import Workload
from app.panel import frames, guards, urls
from app.panel.contexts import FormFragment, ProspectFragment, ReferenceFragment, WorkloadsPage
from app.panel.desk import Desk
from app.panel.form import (
    AcceptedView,
    FormView,
    Surroundings,
    form_view,
    read_draft,
    reference_view,
    typed_values,
)
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.listing import Listing
from app.panel.news import load_list
from app.panel.prospects import problem_view, prospect_view
from app.panel.rendering import html
from app.store import people, reads, volumes


@dataclass(frozen=True)
class WorkloadsPages:
    desk: Desk

    async def index(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request)
        accepted = await _accepted_before(manager, request.query_params.get("accepted", ""))
        form = form_view(await self._around(manager), accepted=accepted)
        listing = Listing.parse(request.query_params)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if listing.problems else HTTPStatus.OK
        return await self._page(manager, listing, form, status)

    async def reference(self, request: Request) -> Response:
        """What image and tag mean together, while they are typed."""
        await guards.manage(self.desk, request)
        query = request.query_params
        return html(ReferenceFragment(reference_view(query.get("image", "")[:1000], query.get("tag", "")[:200])))

    async def submit(self, request: Request) -> Response:
        commands = self.desk.commands
        manager, form = await guards.act(self.desk, request, "submit_workload")
        typed = typed_values(form)
        try:
            async with noting_refusals(commands, manager.principal, "submit_workload", manager.slug):
                draft = read_draft(typed, form.get("requestKey", ""), commands.defaults)
            done = await submit_workload(commands, manager.principal, manager.slug, draft)
        except InvalidInputError as error:
            return await self._again(request, manager, typed, error.problems)
        except ConflictError as error:
            return await self._again(request, manager, typed, problem=error.message)
        return await self._accepted(request, manager, done)

    async def check(self, request: Request) -> Response:
        """What would become of the form as it is; nothing is written but that somebody may not ask."""
        commands = self.desk.commands
        manager, form = await guards.act(self.desk, request, "check_workload")
        typed = typed_values(form)
        try:
            draft = read_draft(typed, "", commands.defaults)
            noun = await check_request(commands, manager.principal, manager.slug, draft)
            prospect = prospect_view(await self.desk.forecaster.try_out(noun))
        except InvalidInputError as error:
            if not Htmx.of(request).wants_fragment:
                return await self._again(request, manager, typed, error.problems)
            prospect = problem_view(error)
        except ConflictError as error:
            prospect = problem_view(error)
        if Htmx.of(request).wants_fragment:
            return html(ProspectFragment(prospect))
        return await self._page(manager, Listing(), form_view(await self._around(manager), typed, prospect=prospect))

    async def _accepted(self, request: Request, manager: Manager, done: Submitted) -> Response:
        if not Htmx.of(request).wants_fragment:
            location = urls.workloads(manager.slug, accepted=str(done.workload.id))
            return RedirectResponse(location, HTTPStatus.SEE_OTHER)
        accepted = _accepted_view(manager.slug, done.workload, is_new=done.is_new)
        form = form_view(await self._around(manager), accepted=accepted)
        return html(FormFragment(form, manager.session.form_token))

    async def _again(
        self,
        request: Request,
        manager: Manager,
        typed: Mapping[str, str],
        problems: Iterable[Problem] = (),
        problem: str = "",
    ) -> Response:
        """The form as it was typed, with what is wrong."""
        status = HTTPStatus.CONFLICT if problem else HTTPStatus.UNPROCESSABLE_ENTITY
        form = form_view(await self._around(manager), typed, problems, problem=problem)
        if Htmx.of(request).wants_fragment:
            return html(FormFragment(form, manager.session.form_token), status)
        return await self._page(manager, Listing(), form, status)

    async def _page(self, manager: Manager, listing: Listing, form: FormView, status: int = HTTPStatus.OK) -> Response:
        slug, names_clusters = manager.slug, self.desk.board.names_clusters
        whose, forecaster = manager.organization.id, self.desk.forecaster
        listed = await load_list(slug, whose, listing, forecaster, names_clusters=names_clusters)
        context = WorkloadsPage(
            frame=await frames.frame("GPU workloads", manager.session, slug, "workloads"),
            now=self.desk.commands.clock.now(),
            form=form,
            form_token=manager.session.form_token,
            choices=listing.choices(slug),
            search=listing.search_view(slug),
            headings=listing.headings(slug),
            listed=listed,
            live_url=listing.live_url(slug, listed.digest),
        )
        return html(context, status)

    async def _around(self, manager: Manager) -> Surroundings:
        projects = tuple(await people.projects_of(manager.organization.id))
        named = tuple(await volumes.volumes_of(manager.organization.id))
        return Surroundings(
            manager.slug,
            projects,
            manager.largest_server,
            self.desk.commands.defaults,
            named,
            highest_priority(manager.principal, manager.organization),
        )


async def _accepted_before(manager: Manager, text: str) -> AcceptedView | None:
    """What a redirect after a submission points to, if it is one of this organization."""
    try:
        workload = await reads.find_workload(manager.organization.id, UUID(text)) if text else None
    except ValueError:
        return None
    return _accepted_view(manager.slug, workload, is_new=True) if workload else None


def _accepted_view(slug: str, workload: Workload, *, is_new: bool) -> AcceptedView:
    """Its first Job's name, as every client is told it."""
    url = urls.workload(slug, workload.id)
    return AcceptedView(workload.id, workload.job_name, workload.spec.name, url, is_new)
