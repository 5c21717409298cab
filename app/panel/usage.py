"""The usage page: GPU-hours over time by whom, as picture, table and file, and numbers of the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from app.domain.errors import InvalidInputError
from app.domain.tallies import TallyGroup, TallyType
from app.domain.usage import Period, UsageGroup
from app.panel import frames, guards, urls
from app.panel.contexts import Choice, FiguresFragment, Option, UsageForm, UsagePage
from app.panel.desk import Desk
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.rendering import html
from app.panel.usage_query import IDLE_WINDOWS, UsageQuery
from app.panel.usage_views import Counted, FiguresView, figures_view, usage_csv, usage_view
from app.reconcile.numbers import Numbers
from app.store import people, tallies

_ABOUT_SERVERS = (
    TallyType.TOTAL_GPUS,
    TallyType.READY_GPUS,
    TallyType.FREE_GPUS,
    TallyType.ALLOCATED_GPUS,
    TallyType.IDLE_ALLOCATED_GPUS,
)


@dataclass(frozen=True)
class UsagePages:
    desk: Desk

    async def index(self, request: Request) -> Response:
        """For htmx the numbers of the moment only, which the page asks for again."""
        asks_again = Htmx.of(request).wants_fragment
        manager = await guards.manage(self.desk, request, by_person=not asks_again)
        now = self.desk.commands.clock.now()
        projects = {it.slug: it.name for it in await people.projects_of(manager.organization.id)}
        query, counted, problem = UsageQuery.parse({}, now.date()), None, ""
        try:
            query = UsageQuery.parse(request.query_params, now.date(), projects)
            counted = None if asks_again else await self._counted(manager, query)
        except InvalidInputError as error:
            problem = "; ".join(f"“{it.field}” {it.message}" for it in error.problems)
        figures, choices = await self._figures(manager, query), _idle_choices(manager.slug, query)
        here = urls.usage(manager.slug, **query.parameters())
        if asks_again:
            return html(FiguresFragment(now, figures, here, choices))
        context = UsagePage(
            frame=await frames.frame("Usage", manager.session, manager.slug, "usage"),
            now=now,
            form=_form(manager.slug, query, request.query_params, projects, problem),
            by=query.by.value,
            usage=usage_view(counted, query, projects) if counted else None,
            file_url=urls.usage_file(manager.slug, **query.parameters()),
            figures=figures,
            figures_url=here,
            idle_choices=choices,
        )
        return html(context, HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK)

    async def download(self, request: Request) -> Response:
        """The same as the page shows, by period and group."""
        manager = await guards.manage(self.desk, request)
        projects = [it.slug for it in await people.projects_of(manager.organization.id)]
        query = UsageQuery.parse(request.query_params, self.desk.commands.clock.now().date(), projects)
        text = usage_csv(await self._counted(manager, query), query)
        name = f"gpu-hours-{manager.slug}-{query.first}-{query.last}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

    async def _counted(self, manager: Manager, query: UsageQuery) -> Counted:
        """Raises InvalidInputError. Off the event loop: of years there are many attempts."""
        stretches = await tallies.stretches(manager.organization.id, query.start, query.end)
        return await asyncio.to_thread(Counted.of, stretches, query, self.desk.commands.clock.now())

    async def _figures(self, manager: Manager, query: UsageQuery) -> FiguresView:
        organization, now = (manager.organization.id, manager.slug), self.desk.commands.clock.now()
        numbers = Numbers(self.desk.board, organization, now, window_seconds=query.idle_seconds)
        return figures_view(
            servers=await numbers.of_servers(_ABOUT_SERVERS, [TallyGroup.SERVER]),
            own=await numbers.tally(TallyType.GPU_ALLOCATION),
            ratio=await numbers.tally(TallyType.ALLOCATION_RATIO),
            waits=await numbers.tally(TallyType.PENDING_TIME),
        )


def _idle_choices(slug: str, query: UsageQuery) -> tuple[Choice, ...]:
    return tuple(
        Choice(label, urls.usage(slug, **query.parameters(idle=str(seconds))) + "#now", seconds == query.idle_seconds)
        for seconds, label in IDLE_WINDOWS.items()
    )


def _form(
    slug: str, query: UsageQuery, typed: Mapping[str, str], projects: Mapping[str, str], problem: str
) -> UsageForm:
    """As it was typed, so that what is wrong can be mended."""
    return UsageForm(
        action=urls.usage(slug),
        groups=_options({it.value: it.value for it in UsageGroup}, query.by.value),
        periods=_options({it.value: it.value for it in Period}, query.period.value),
        projects=_options({"": "all", **projects}, query.project),
        first=typed.get("from", "") or str(query.first),
        last=typed.get("to", "") or str(query.last),
        idle=str(query.idle_seconds),
        problem=problem,
    )


def _options(labels: Mapping[str, str], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(value, label, value == chosen) for value, label in labels.items())
