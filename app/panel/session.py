"""Signing in and out, and the start page, which leads on."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.auth import cookies, sessions
from app.auth.signin import SignInError, TooManyTriesError
from app.panel import frames, guards, urls
from app.panel.contexts import LoginPage, LogoutPage, NoOrganizationPage
from app.panel.desk import Desk
from app.panel.rendering import html
from app.panel.wording import span

_WRONG = "The address or the password is wrong."


@dataclass(frozen=True)
class SessionPages:
    desk: Desk

    async def home(self, request: Request) -> Response:
        """To the projects of the person's first organization."""
        session = await guards.find_session(self.desk, request)
        if session is None:
            return _see_other(urls.LOGIN)
        places = await frames.places_of(session)
        if places:
            return _see_other(urls.projects(places[0].slug))
        return html(NoOrganizationPage(await frames.frame("No organization", session)))

    async def login_form(self, request: Request) -> Response:
        after = urls.safe_next(request.query_params.get("next", ""))
        if await guards.find_session(self.desk, request):
            return _see_other(after)
        return await self._login_page(request, after)

    async def login(self, request: Request) -> Response:
        form = await guards.read_form(request)
        guards.check_login_form(request, form)
        email, after = form.get("email", ""), urls.safe_next(form.get("next", ""))
        address = request.client.host if request.client else ""
        present = cookies.SESSION.read(request)
        try:
            secret = await self.desk.sign_in.sign_in(email, form.get("password", ""), address, present)
        except TooManyTriesError as refusal:
            words = f"Too many tries. Try again in {span(max(60.0, refusal.seconds))}."
            answer = await self._login_page(request, after, email, words, HTTPStatus.TOO_MANY_REQUESTS)
            answer.headers["retry-after"] = str(int(refusal.seconds) + 1)
            return answer
        except SignInError:
            return await self._login_page(request, after, email, _WRONG, HTTPStatus.UNPROCESSABLE_ENTITY)
        answer = _see_other(after)
        cookies.SESSION.write(request, answer, secret)
        cookies.VISITOR.clear(request, answer)
        return answer

    async def logout_form(self, request: Request) -> Response:
        session = await guards.find_session(self.desk, request)
        return html(LogoutPage(await frames.frame("Sign out", session))) if session else _see_other(urls.LOGIN)

    async def logout(self, request: Request) -> Response:
        form = await guards.read_form(request)
        secret = cookies.SESSION.read(request)
        if await guards.find_session(self.desk, request):
            guards.check_form(request, form, secret)
            await sessions.end(secret)
        answer = _see_other(urls.LOGIN)
        cookies.SESSION.clear(request, answer)
        return answer

    async def _login_page(
        self, request: Request, after: str, email: str = "", problem: str = "", status: int = HTTPStatus.OK
    ) -> Response:
        """The visitor's cookie is kept while it lasts, so that two open sign-in pages both work."""
        visitor = cookies.VISITOR.read(request) or sessions.new_secret()
        frame = await frames.frame("Sign in")
        context = LoginPage(frame, sessions.form_token(visitor), email[:254], after, problem)
        answer = html(context, status)
        cookies.VISITOR.write(request, answer, visitor)
        return answer


def _see_other(location: str) -> Response:
    return RedirectResponse(location, HTTPStatus.SEE_OTHER)
