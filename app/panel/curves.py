"""The curves of a workload: a part of its page, asked for again while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.domain.metric_words import why_no_curves
from app.domain.metrics import Edges, round_parts
from app.domain.people import unknown_workload
from app.domain.workload import Attempt, Workload
from app.panel import guards, urls
from app.panel.charts import Chart
from app.panel.contexts import Choice, CurvesFragment, CurvesView
from app.panel.curve_views import MOST_PARTS, PICTURES, WHOLE_RUN, WINDOWS, Run, again_after, note, pictures
from app.panel.desk import Desk
from app.panel.digests import digest_of
from app.panel.rendering import html
from app.store import reads
from app.store.curves import Measured, curves_of, measured

_NO_USE = Measured()


@dataclass(frozen=True)
class CurvePages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        """204 while there is nothing new: the fragment on the page, which asks again, stays as it is."""
        manager = await guards.manage(self.desk, request, by_person=False)
        workload_id: UUID = request.path_params["id"]
        workload = await reads.find_workload(manager.organization.id, workload_id)
        if workload is None:
            raise unknown_workload(workload_id)
        view = await read_curves(self.desk, manager.slug, workload, request)
        if view.follow_url and request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(CurvesFragment(view))


@dataclass(frozen=True)
class _Asked:
    """A workload's curves at `now`, of the window that the address names. `run` None: it has not started."""

    workload: Workload
    attempts: Sequence[Attempt]
    window: str
    run: Run | None
    now: datetime
    kept_for: timedelta

    @property
    def stretch(self) -> Run:
        return self.run.last(self.window) if self.run else Run(self.now, self.now)


async def read_curves(desk: Desk, slug: str, workload: Workload, request: Request) -> CurvesView:
    """Of the window that the address names; of the whole run for none."""
    now, attempts = desk.commands.clock.now(), await reads.attempts_of([workload.id])
    named = request.query_params.get("window", "")
    kept_for = timedelta(seconds=desk.samples.kept_for)
    asked = _Asked(workload, attempts, named if named in WINDOWS else "", Run.of(attempts, now), now, kept_for)
    stretch = asked.stretch
    found = await measured(workload, attempts, PICTURES, stretch.start, stretch.end) if asked.run else _NO_USE
    parts, charts = await asyncio.to_thread(_drawn, asked, found)
    return _view(slug, asked, found, parts, charts)


def _drawn(asked: _Asked, found: Measured) -> tuple[Edges, tuple[Chart, ...]]:
    """Off the event loop: of a long run there are very many readings."""
    stretch = asked.stretch
    parts = round_parts(stretch.start, stretch.end, [*found.readings.values(), found.of_pods], MOST_PARTS)
    curves = curves_of(found, asked.workload, asked.attempts, list(PICTURES), parts, asked.now)
    return parts, pictures(curves, parts)


def _view(slug: str, asked: _Asked, found: Measured, parts: Edges, charts: tuple[Chart, ...]) -> CurvesView:
    id_, window = asked.workload.id, asked.window
    words = note(found.uses) if any(found.readings.values()) else _why_none(asked, found)
    why_none, beside = ("", words) if charts else (words, "")
    digest = digest_of((charts, why_none, beside))
    is_followed = asked.run is not None and not asked.workload.status.is_terminal
    return CurvesView(
        charts=charts,
        why_none=why_none,
        note=beside,
        windows=_choices(slug, asked),
        url=urls.curves(slug, id_, window=window),
        digest=digest,
        follow_url=urls.curves(slug, id_, window=window, have=digest) if is_followed else "",
        again_after=again_after(parts),
    )


def _why_none(asked: _Asked, found: Measured) -> str:
    return why_no_curves(
        started_at=asked.run.start if asked.run else None,
        is_over=asked.workload.status.is_terminal,
        devices=len(found.uses),
        shared=sum(use.is_shared for use in found.uses),
        end=asked.stretch.end,
        now=asked.now,
        kept_for=asked.kept_for,
    )


def _choices(slug: str, asked: _Asked) -> tuple[Choice, ...]:
    """Links to the windows that are shorter than the run; none where there is nothing to choose."""
    names = asked.run.windows() if asked.run else []
    page = urls.workload(slug, asked.workload.id)
    labels = {"": WHOLE_RUN} | {name: WINDOWS[name][0] for name in names}
    links = tuple(
        Choice(label, urls.with_query(page, window=name) + "#curves", name == asked.window)
        for name, label in labels.items()
    )
    return links if names else ()
