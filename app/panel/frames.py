"""The frame around a page: who is signed in, and where they may go."""

from __future__ import annotations

from app.auth.sessions import Session
from app.domain.people import Permission, may
from app.panel.contexts import Frame, Place
from app.store import people


async def frame(title: str, session: Session | None = None, slug: str = "", section: str = "") -> Frame:
    if session is None:
        return Frame(title)
    places = await places_of(session)
    place = next((place for place in places if place.slug == slug), None)
    return Frame(title, session.principal.email, session.form_token, places, place, section)


async def places_of(session: Session) -> tuple[Place, ...]:
    """The person's organizations, by slug."""
    principal = session.principal
    found = await people.organizations_by_id(list(principal.roles))
    places = [
        Place(it.slug, it.name, principal.roles[it.id].value, may(principal, it, Permission.READ_WORKLOADS))
        for it in found.values()
    ]
    return tuple(sorted(places, key=lambda place: place.slug))
