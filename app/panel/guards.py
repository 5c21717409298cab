"""What stands before every page: who is it, may they, does the request come from our own form.

A guard that refuses raises `RefusedError`, which `app.panel.errors` turns into an answer: a redirect for a page, for
htmx a status with HX-Redirect (fetch would follow a redirect and swap the sign-in page into a table).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.datastructures import URL
from starlette.requests import Request

from app.auth import cookies, sessions
from app.auth.origin import Source, source_of
from app.auth.sessions import Session
from app.commands.context import Access, noting_refusals, open_gpu_workloads, open_organization
from app.domain.errors import ForbiddenError, PreconditionFailedError
from app.domain.people import Organization, Permission, Principal
from app.panel import urls
from app.panel.desk import Desk

FORM_TOKEN_FIELD = "form_token"  # noqa: S105 — the name of an input
FORM_TOKEN_HEADER = "x-form-token"  # noqa: S105
ROLE = "owner_or_admin_only"
_MOST_FIELDS = 60
_LONGEST_FIELD = 2**20
_UNAUTHORIZED, _FORBIDDEN = 401, 403


class RefusedError(Exception):
    """This request leads elsewhere. `status` is for htmx and streams, which can't be redirected."""

    def __init__(self, location: str, status: int) -> None:
        super().__init__(f"{status}, see {location}")
        self.location = location
        self.status = status


class ForeignRequestError(Exception):
    """A state-changing request that did not come from one of our forms. The message is for the person."""


@dataclass(frozen=True)
class Visitor:
    """A signed-in person and the organization whose page it is."""

    session: Session
    organization: Organization

    @property
    def principal(self) -> Principal:
        return self.session.principal

    @property
    def slug(self) -> str:
        return self.organization.slug


@dataclass(frozen=True)
class Manager(Visitor):
    """One who may use the organization's GPU workloads, with the largest server on record."""

    largest_server: tuple[str, int]


async def find_session(desk: Desk, request: Request, *, by_person: bool = True) -> Session | None:
    secret = cookies.SESSION.read(request)
    return await sessions.resume(secret, desk.commands.clock.now(), by_person=by_person)


async def signed_in(desk: Desk, request: Request, *, by_person: bool = True) -> Session:
    session = await find_session(desk, request, by_person=by_person)
    if session is None:
        raise RefusedError(urls.login(_present_page(request)), _UNAUTHORIZED)
    return session


def _present_page(request: Request) -> str:
    """Where to come back to: the page that the person sees, which the address of a fragment or a form is not."""
    if present := request.headers.get("hx-current-url"):
        return str(URL(present).replace(scheme="", netloc="", fragment=""))
    return str(request.url.replace(scheme="", netloc="")) if request.method == "GET" else ""


async def visit(desk: Desk, request: Request) -> Visitor:
    """Any member of the organization. NotFoundError for others."""
    session = await signed_in(desk, request)
    slug = request.path_params["org"]
    return Visitor(session, await open_organization(session.principal, slug, Permission.VIEW_ORGANIZATION))


async def manage(
    desk: Desk, request: Request, permission: Permission = Permission.READ_WORKLOADS, *, by_person: bool = True
) -> Manager:
    """One who may use GPU workloads here; others are led to the projects with the reason."""
    session = await signed_in(desk, request, by_person=by_person)
    access = await open_workloads(session, request.path_params["org"], permission)
    return Manager(session, access.organization, access.largest_server)


async def act(
    desk: Desk, request: Request, action: str, target: str = "", permission: Permission = Permission.WRITE_WORKLOADS
) -> tuple[Manager, dict[str, str]]:
    """One who may change something here, and the form that asks for it.

    That somebody may not is noted in the audit trail; a form that isn't ours is not: anybody could fill the trail so.
    """
    session, form, slug = await _own_form(desk, request)
    with _leading_away(slug):
        async with noting_refusals(desk.commands, session.principal, action, slug, target):
            access = await open_gpu_workloads(session.principal, slug, permission)
    return Manager(session, access.organization, access.largest_server), form


async def change(
    desk: Desk, request: Request, action: str, target: str, permission: Permission
) -> tuple[Visitor, dict[str, str]]:
    """The same where it is no matter whether GPU workloads can be used yet."""
    session, form, slug = await _own_form(desk, request)
    with _leading_away(slug):
        async with noting_refusals(desk.commands, session.principal, action, slug, target):
            organization = await open_organization(session.principal, slug, permission)
    return Visitor(session, organization), form


async def _own_form(desk: Desk, request: Request) -> tuple[Session, dict[str, str], str]:
    """Who sent it, what is in it, and the organization's slug."""
    session = await signed_in(desk, request)
    form = await read_form(request)
    check_form(request, form, session.secret)
    return session, form, request.path_params["org"]


async def open_workloads(session: Session, slug: str, permission: Permission) -> Access:
    with _leading_away(slug):
        return await open_gpu_workloads(session.principal, slug, permission)


@contextmanager
def _leading_away(slug: str) -> Iterator[None]:
    """Who may not use GPU workloads is led to the projects, with the reason."""
    try:
        yield
    except ForbiddenError:
        raise RefusedError(urls.projects(slug, ROLE), _FORBIDDEN) from None
    except PreconditionFailedError as error:
        raise RefusedError(urls.projects(slug, error.precondition), _FORBIDDEN) from None


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form post; files are none of it, and of a repeated field the last counts."""
    async with request.form(max_files=0, max_fields=_MOST_FIELDS, max_part_size=_LONGEST_FIELD) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def check_form(request: Request, form: dict[str, str], secret: str) -> None:
    """Raise unless the request carries the token of this session's forms and no sign of another site."""
    _refuse_foreign(request)
    if not sessions.is_form_token(secret, _given_token(request, form)):
        raise ForeignRequestError("This form has expired. Go back, reload the page and send it again.")


def check_login_form(request: Request, form: dict[str, str]) -> None:
    """As `check_form`; but without cookies a browser's word that the page was ours is enough."""
    _refuse_foreign(request)
    if source_of(request.headers) is not Source.OWN:
        check_form(request, form, cookies.VISITOR.read(request))


def _refuse_foreign(request: Request) -> None:
    if source_of(request.headers) is Source.FOREIGN:
        raise ForeignRequestError("This request came from another site, so nothing was done.")


def _given_token(request: Request, form: dict[str, str]) -> str:
    return form.get(FORM_TOKEN_FIELD) or request.headers.get(FORM_TOKEN_HEADER, "")
