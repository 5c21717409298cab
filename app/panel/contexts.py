"""What each template gets: one frozen dataclass a page and a fragment. Templates know nothing else, and a name that is
not here fails (`StrictUndefined`). tests/panel/test_templates.py renders each with each.

`now` is the moment of rendering: ages are counted from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.panel import urls
from app.panel.charts import Chart
from app.panel.form import FormView, ReferenceView
from app.panel.gpu_views import GpuView
from app.panel.list_views import Difference, Heading, ListView, SearchView
from app.panel.project_views import ProjectsView
from app.panel.prospects import ProspectView
from app.panel.server_views import ServersView
from app.panel.usage_views import FiguresView, UsageView
from app.panel.workload_views import RowView, WorkloadView


@dataclass(frozen=True)
class Place:
    """An organization that the person belongs to. `manages`: GPU workloads are for this role."""

    slug: str
    name: str
    role: str
    manages: bool


@dataclass(frozen=True)
class Frame:
    """What is around every page. Without `person` nobody is signed in; without `place` it is no organization's page."""

    title: str
    person: str = ""
    form_token: str = ""
    places: tuple[Place, ...] = ()
    place: Place | None = None
    section: str = ""


@dataclass(frozen=True)
class Context:
    """Base of all. `template` is the file that renders it."""

    template: ClassVar[str]


@dataclass(frozen=True)
class LoginPage(Context):
    template: ClassVar[str] = "login.html"
    frame: Frame
    form_token: str
    email: str
    after: str
    problem: str


@dataclass(frozen=True)
class LogoutPage(Context):
    template: ClassVar[str] = "logout.html"
    frame: Frame


@dataclass(frozen=True)
class ErrorPage(Context):
    """`incident` is what an operator finds the log line by; empty where nothing went wrong on our side."""

    template: ClassVar[str] = "error.html"
    frame: Frame
    status: int
    heading: str
    message: str
    incident: str


@dataclass(frozen=True)
class ProjectsPage(Context):
    """`refusal` says why the person was sent here, empty where nobody was; `notice` what was wrong with a quota."""

    template: ClassVar[str] = "projects.html"
    frame: Frame
    refusal: str
    listed: ProjectsView
    form_token: str
    notice: str = ""


@dataclass(frozen=True)
class NoOrganizationPage(Context):
    template: ClassVar[str] = "no_organization.html"
    frame: Frame


@dataclass(frozen=True)
class Choice:
    """A filter of the list."""

    label: str
    url: str
    is_chosen: bool


@dataclass(frozen=True)
class WorkloadsPage(Context):
    template: ClassVar[str] = "workloads.html"
    frame: Frame
    now: datetime
    form: FormView
    form_token: str
    choices: tuple[Choice, ...]
    search: SearchView
    headings: tuple[Heading, ...]
    listed: ListView
    live_url: str


@dataclass(frozen=True)
class Notice:
    """What became of something that was asked for; `link` leads to `url`, where there is one."""

    words: str
    link: str = ""
    url: str = ""
    is_problem: bool = False


@dataclass(frozen=True)
class FormFragment(Context):
    template: ClassVar[str] = "_form.html"
    form: FormView
    form_token: str


@dataclass(frozen=True)
class ReferenceFragment(Context):
    template: ClassVar[str] = "_reference.html"
    reference: ReferenceView


@dataclass(frozen=True)
class ProspectFragment(Context):
    template: ClassVar[str] = "_prospect.html"
    prospect: ProspectView


@dataclass(frozen=True)
class RowFragment(Context):
    """The answer to an action in the list. `is_gone`: the row is taken away."""

    template: ClassVar[str] = "_row_answer.html"
    now: datetime
    row: RowView
    form_token: str
    notice: Notice | None
    is_gone: bool


@dataclass(frozen=True)
class RowsMessage(Context):
    """What a live list takes over: `changes`, or without them the whole of `listed`. `left` are named beside it."""

    template: ClassVar[str] = "_rows_message.html"
    now: datetime
    listed: ListView
    changes: Difference | None
    left: tuple[RowView, ...]
    form_token: str
    spoken: tuple[str, ...]


@dataclass(frozen=True)
class LogView:
    """`why_none` instead of a text; `digest` names the text, so that an unchanged one isn't sent again. `attempts`
    has links where there are several.
    """

    text: str
    was_cut: bool
    why_none: str
    digest: str
    is_followed: bool
    attempts: tuple[Choice, ...]
    download_url: str
    url: str
    follow_url: str


@dataclass(frozen=True)
class CurvesView:
    """`why_none` instead of pictures. `digest` names what is shown, so that it isn't sent again unchanged. While more
    may come, `follow_url` is asked for after `again_after` seconds; else it is empty.
    """

    charts: tuple[Chart, ...]
    why_none: str
    note: str
    windows: tuple[Choice, ...]
    url: str
    digest: str
    follow_url: str
    again_after: int


@dataclass(frozen=True)
class WorkloadPage(Context):
    template: ClassVar[str] = "workload.html"
    frame: Frame
    now: datetime
    view: WorkloadView
    form_token: str
    curves: CurvesView
    log: LogView
    live_url: str
    list_url: str
    notice: Notice | None


@dataclass(frozen=True)
class WorkloadFragment(Context):
    """The answer to an action on the workload's page."""

    template: ClassVar[str] = "_workload_answer.html"
    now: datetime
    view: WorkloadView
    form_token: str
    notice: Notice | None


@dataclass(frozen=True)
class WorkloadMessage(Context):
    """What a live page of one workload takes over."""

    template: ClassVar[str] = "_workload_message.html"
    now: datetime
    view: WorkloadView
    form_token: str
    spoken: tuple[str, ...]


@dataclass(frozen=True)
class CurvesFragment(Context):
    template: ClassVar[str] = "_curves.html"
    curves: CurvesView


@dataclass(frozen=True)
class LogFragment(Context):
    template: ClassVar[str] = "_log.html"
    log: LogView


@dataclass(frozen=True)
class SignedOutMessage(Context):
    """The last thing that a stream says when the session, or the right to look, has ended."""

    template: ClassVar[str] = "_signed_out_message.html"
    login_url: str = urls.LOGIN


@dataclass(frozen=True)
class ServersPage(Context):
    """`notice`: why nothing was done, empty where nothing went wrong."""

    template: ClassVar[str] = "servers.html"
    frame: Frame
    now: datetime
    servers: ServersView
    form_token: str
    notice: str


@dataclass(frozen=True)
class ServersFragment(Context):
    template: ClassVar[str] = "_servers.html"
    now: datetime
    servers: ServersView
    form_token: str


@dataclass(frozen=True)
class ServersAnswer(Context):
    """The answer to a cordon."""

    template: ClassVar[str] = "_servers_answer.html"
    now: datetime
    servers: ServersView
    form_token: str
    notice: str


@dataclass(frozen=True)
class Option:
    """Of a select. `value` is what the form sends."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class UsageForm:
    """`first` and `last` are days, as they were typed. `problem` says what of it can't be understood."""

    action: str
    groups: tuple[Option, ...]
    periods: tuple[Option, ...]
    projects: tuple[Option, ...]
    first: str
    last: str
    idle: str
    problem: str


@dataclass(frozen=True)
class UsagePage(Context):
    """`usage` is None where the address can't be understood. `by` is what it is grouped by."""

    template: ClassVar[str] = "usage.html"
    frame: Frame
    now: datetime
    form: UsageForm
    by: str
    usage: UsageView | None
    file_url: str
    figures: FiguresView
    figures_url: str
    idle_choices: tuple[Choice, ...]


@dataclass(frozen=True)
class FiguresFragment(Context):
    template: ClassVar[str] = "_figures.html"
    now: datetime
    figures: FiguresView
    figures_url: str
    idle_choices: tuple[Choice, ...]


@dataclass(frozen=True)
class GpuPage(Context):
    template: ClassVar[str] = "gpu.html"
    frame: Frame
    now: datetime
    gpu: GpuView
    curves: CurvesView
    list_url: str


@dataclass(frozen=True)
class GpuFragment(Context):
    template: ClassVar[str] = "_gpu_answer.html"
    now: datetime
    gpu: GpuView
