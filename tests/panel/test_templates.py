"""Each template with each of its contexts: a name that a context lacks fails here, not in front of a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from jinja2 import UndefinedError, meta

from app.domain.errors import Problem
from app.domain.metrics import edges
from app.domain.people import Project
from app.domain.quota import Quota
from app.domain.server import ServerId
from app.domain.states import Phase, Reason, Status
from app.domain.submission import Defaults
from app.domain.volumes import Volume, VolumeKind
from app.domain.workload import Attempt, Event, EventType, Workload
from app.panel import contexts
from app.panel.axes import Unit
from app.panel.charts import Role, Series, bar_chart, line_chart
from app.panel.contexts import Choice, Context, CurvesView, ErrorPage, Frame, LogView, Notice, Option, Place, UsageForm
from app.panel.form import FIELDS, AcceptedView, Surroundings, form_view
from app.panel.list_views import Added, Difference, Heading, ListView, PageLinks, SearchView
from app.panel.project_views import projects_view
from app.panel.prospects import ProspectView
from app.panel.rendering import environment, render
from app.panel.usage_views import FiguresView, GroupRow, UsageView
from app.panel.workload_views import GpuLink, WorkloadView, row_view, workload_view
from app.placement.plan import Reservation
from app.placement.relax import Change, Relaxation
from app.reconcile.forecast import Standing
from tests.domain.builders import GPU, ORGANIZATION_ID, WORKLOAD_ID, a_running_workload, a_submission, a_workload, at
from tests.panel.server_samples import of_servers

TEMPLATES = Path(__file__).parents[2] / "templates"
NOW = at(500)
PROJECT = Project(UUID(int=1), ORGANIZATION_ID, "vision", "Vision")
PLACES = (Place("acme", "Acme", "owner", manages=True), Place("other", "Other", "viewer", manages=False))
FRAMES = (Frame("Title"), Frame("Title", "a@b.c", "token", PLACES, PLACES[0], "workloads"), Frame("T", "a@b.c", "t"))
INSIDE = FRAMES[1]
VOLUMES = (
    Volume(ORGANIZATION_ID, "data", VolumeKind.PVC, "c"),
    Volume(ORGANIZATION_ID, "m", VolumeKind.NFS, "s:/", True),
)
AROUND = Surroundings("acme", (PROJECT,), ("gpu-1", 8), Defaults())


def workloads() -> Iterator[Workload]:
    """One of every look: each status, each phase, with everything and with nothing."""
    yield a_workload()
    yield a_workload(phase=Phase.RESUMING)
    running = a_running_workload(gpus=(GPU,), cancel_requested_at=None)
    yield replace(running, spec=a_submission(project_id=PROJECT.id, command=("a b",), env_vars=(("A", "1"),)))
    yield replace(running, phase=Phase.STOPPING, cancel_requested_at=at(70), cancelled_by="a@b.c")
    yield replace(running, phase=Phase.UNKNOWN, reason=Reason.SERVER_UNREACHABLE)
    for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TIMEOUT):
        yield replace(
            running, status=status, phase=Phase(status.value.replace("timeout", "timed_out")), completed_at=NOW
        )
    over = replace(running, status=Status.COMPLETED, phase=Phase.COMPLETED, exit_code=137, completed_at=NOW)
    yield over
    yield replace(over, deleted_at=NOW, retry_of=ORGANIZATION_ID)
    yield a_workload(phase=Phase.SUSPENDED, reason=Reason.HELD, held_at=NOW)


def view(workload: Workload) -> WorkloadView:
    event = Event(WORKLOAD_ID, EventType.SUBMITTED, workload.status, workload.phase, workload.reason, "m", NOW,
                  organization_id=ORGANIZATION_ID, sequence=1)  # fmt: skip
    attempts = [] if workload.waits else [
        Attempt(WORKLOAD_ID, 1, "gpu-1", "nvidia.com/gpu", at(0), ended_at=at(9), exit_code=1, message="node lost"),
        Attempt(WORKLOAD_ID, 2, "gpu-2", "nvidia.com/gpu", at(10), started_at=workload.started_at, gpus=(GPU,)),
    ]  # fmt: skip
    standing = STANDINGS[workload.phase is Phase.RESUMING] if workload.waits else None
    row = row_view("acme", workload, {PROJECT.id: PROJECT}, standing, names_clusters=True)
    links = {2: (GpuLink(GPU, "/gpu"), GpuLink("GPU-2"))}
    could = [Relaxation(Change.CPU, "3", ServerId("a"), "fits now on a with cpu <= 3")] if standing else []
    return workload_view(row, workload, attempts, [event], links, could, names_clusters=True)


STANDINGS = (Standing(3, 9, Reservation(ServerId("gpu-1"), NOW)), Standing(None, 9))
VIEWS = [view(workload) for workload in workloads()]
ROWS = tuple(it.row for it in VIEWS)
LISTED = ListView(ROWS, PageLinks("/first", "/previous", "/next"), "nothing")
PROSPECTS = (
    ProspectView("would start now, on gpu-1", starts_now=True),
    ProspectView("gpuCount: is wrong", is_problem=True),
    ProspectView("needs 4 GPUs", position=3, total=9, could_start=("fits now on a with 1 GPU",)),
)
EMPTY = ListView((), PageLinks(), "nothing")
HEADINGS = (Heading("State"), Heading("Status", "/?sort=-status", "ascending"))
SEARCHES = (
    SearchView("/", "", (), {}, ""),
    SearchView("/", "a=b", ("at character 2: expected",), {"show": "live"}, "/?show=live"),
)
CHANGES = Difference((WORKLOAD_ID,), (Added(None, ROWS[:2]), Added(WORKLOAD_ID, ROWS[2:4])), ROWS[4:])
NOTICES = (None, Notice("Submitted again as", "train", "/x"), Notice("It has ended.", is_problem=True))
ACCEPTED = AcceptedView(WORKLOAD_ID, "gw-1", "train", "/x", is_new=True)
PROBLEMS = [Problem(name, "is wrong") for name in (*FIELDS, "envVars[2].name", "somewhere else")]
FORMS = [
    form_view(AROUND),
    form_view(AROUND, accepted=ACCEPTED),
    form_view(AROUND, accepted=replace(ACCEPTED, is_new=False)),
    form_view(AROUND, dict.fromkeys(FIELDS, "typed"), PROBLEMS, problem="all of it"),
    form_view(AROUND, {**FIELDS, "image": "busybox", "projectId": str(PROJECT.id)}),
    form_view(replace(AROUND, volumes=VOLUMES), {**FIELDS, "mounts.1.name": "data", "mounts.1.readOnly": "yes"}),
]
CHOICES = (Choice("Attempt 1", "/1#log", is_chosen=True), Choice("Attempt 2", "/2#log", is_chosen=False))
LOGS = [
    LogView("a\nb", True, "", "d", True, (), "/log.txt", "/log", "/log?have=d"),
    LogView("", False, "Not yet.", "d", False, CHOICES, "", "/log", "/log"),
]
PARTS = edges(at(0), at(120), 3)
SERIES = [
    Series("all", [1.0, None, 3.0], role=Role.WHOLE),
    Series("a", [1.0, 2.0, 3.0]),
    Series("b", [None] * 3),
    Series("c", [4.0] * 3, role=Role.LIMIT),
]
LINES = line_chart("load", "Load", Unit("%"), PARTS, SERIES)
BARS = bar_chart("hours", "Hours", Unit("h"), ["Mon", "Tue", "Wed"], SERIES)
CURVES = [
    CurvesView((LINES,), "", "some are shared", CHOICES, "/curves", "d", "/curves?have=d", 15),
    CurvesView((), "Not yet.", "", (), "/curves", "d", "", 15),
]
OPTIONS = (Option("", "all", is_chosen=True), Option("a", "A", is_chosen=False))
USAGE_FORMS = [
    UsageForm("/", OPTIONS, OPTIONS, OPTIONS, "2026-11-01", "x", "900", problem) for problem in ("", "wrong")
]
TOTAL = GroupRow("Total", "5", "100 %", 3)
USAGES = [UsageView(BARS, (GroupRow("Vision", "5", "100 %", 3),), TOTAL), UsageView(None, (), TOTAL), None]
FIGURES = [
    FiguresView(10, 8, 4, 4, 2, "20 %", 1, "gpu-1: 1", 2, (("below 1 min", 2), ("2 h and more", 0))),
    FiguresView(0, 0, 0, 0, 0, "", 0, "", 0, ()),
]
PROJECT_LISTS = [
    projects_view("acme", (), {}, "", may_change=True),
    projects_view("acme", (PROJECT,), None, "", may_change=False),
    projects_view("acme", (replace(PROJECT, quota=Quota(0, 8)),), {PROJECT.id: 4}, "warned", may_change=True),
]


def pages() -> Iterator[Context]:
    for frame in FRAMES:
        yield contexts.LoginPage(frame, "token", "a@b.c", "/", "wrong")
        yield contexts.LoginPage(frame, "token", "", "/", "")
        yield contexts.LogoutPage(frame)
        yield ErrorPage(frame, 404, "Not Found", "there is nothing", "")
        yield ErrorPage(frame, 500, "Error", "ours", "abc")
        yield contexts.NoOrganizationPage(frame)
    yield from (contexts.ProjectsPage(INSIDE, "", it, "token") for it in PROJECT_LISTS)
    yield from (contexts.ProjectsPage(INSIDE, "because", it, "token", "too many") for it in PROJECT_LISTS)
    for form in FORMS:
        choices = (Choice("all", "/", is_chosen=True), Choice("live", "/?show=live", is_chosen=False))
        for search in SEARCHES:
            yield contexts.WorkloadsPage(INSIDE, NOW, form, "token", choices, search, HEADINGS, LISTED, "/live")
            yield contexts.WorkloadsPage(INSIDE, NOW, form, "token", (), search, (), EMPTY, "/live")
    for it in VIEWS:
        for log, curves in zip(LOGS, CURVES, strict=True):
            for notice in NOTICES:
                yield contexts.WorkloadPage(INSIDE, NOW, it, "token", curves, log, "/live", "/list", notice)
    for asked in USAGE_FORMS:
        for usage in USAGES:
            yield contexts.UsagePage(INSIDE, NOW, asked, "project", usage, "/f.csv", FIGURES[0], "/usage", CHOICES)


def fragments() -> Iterator[Context]:
    for form in FORMS:
        yield contexts.FormFragment(form, "token")
        yield contexts.ReferenceFragment(form.reference)
    for prospect in PROSPECTS:
        yield contexts.ProspectFragment(prospect)
    for it in VIEWS:
        for notice in NOTICES:
            yield contexts.RowFragment(NOW, it.row, "token", notice, is_gone=notice is None)
            yield contexts.WorkloadFragment(NOW, it, "token", notice)
        yield contexts.WorkloadMessage(NOW, it, "token", ("said",))
    yield contexts.RowsMessage(NOW, LISTED, CHANGES, ROWS, "token", ("a", "b"))
    yield contexts.RowsMessage(NOW, EMPTY, None, (), "token", ())
    for log in LOGS:
        yield contexts.LogFragment(log)
    for curves in CURVES:
        yield contexts.CurvesFragment(curves)
    for figures in FIGURES:
        yield contexts.FiguresFragment(NOW, figures, "/usage", CHOICES)
    yield contexts.SignedOutMessage()


SAMPLES = [*pages(), *of_servers(), *fragments()]


@pytest.mark.parametrize("context", SAMPLES, ids=lambda context: type(context).__name__)
def test_it_renders(context: Context):
    assert render(context).strip()


def test_every_context_is_rendered_here():
    kinds = {kind for kind in vars(contexts).values() if isinstance(kind, type) and issubclass(kind, Context)}
    assert kinds - {Context} == {type(sample) for sample in SAMPLES}


def test_contexts_are_frozen():
    for sample in SAMPLES:
        with pytest.raises(FrozenInstanceError):
            sample.template = "x"  # type: ignore[misc]


def referenced(name: str) -> set[str]:
    source = (TEMPLATES / name).read_text()
    found = {it for it in meta.find_referenced_templates(environment().parse(source)) if it}
    return {name}.union(*(referenced(it) for it in found))


def test_every_template_is_somebodys():
    used = set().union(*(referenced(type(sample).template) for sample in SAMPLES))
    assert used == {path.name for path in TEMPLATES.glob("*.html")}


def test_a_name_that_is_not_there_fails():
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()
    with pytest.raises(UndefinedError):
        environment().from_string("{{ frame.nothing }}").render(frame=INSIDE)


def test_nothing_of_a_context_is_unused():
    """What no template reads is not made."""
    for kind in {type(sample) for sample in SAMPLES}:
        text = "".join((TEMPLATES / name).read_text() for name in referenced(kind.template))
        assert [field.name for field in fields(kind) if field.name not in text] == [], kind


def test_views_do_not_depend_on_the_moment():
    """Live streams find changes by comparing them."""
    later = NOW + timedelta(hours=1)
    assert [view(workload) for workload in workloads()] == VIEWS
    row = contexts.RowFragment(NOW, ROWS[0], "t", None, is_gone=False)
    assert render(row) != render(replace(row, now=later))
