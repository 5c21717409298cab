"""How large a request may be: read no further than that, and refuse it in the words of the API."""

from __future__ import annotations

from http import HTTPStatus

from starlette.types import Message, Receive

from app.graphql.negotiation import WrongRequestError

MAX_BODY_BYTES = 2 * 2**20


def within_limit(receive: Receive) -> Receive:
    """Receives as `receive` does; WrongRequestError (413) with the first piece that is over the limit."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            words = f"the body must be at most {MAX_BODY_BYTES} bytes; send less at a time"
            raise WrongRequestError.of(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words, Connection="close")
        return message

    return limited
