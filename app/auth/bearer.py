"""`Authorization: Bearer …`, in a header or in a WebSocket's connection_init payload."""

from __future__ import annotations

from datetime import datetime

from app.auth.secrets import hash_token
from app.domain.errors import UnauthenticatedError
from app.domain.people import Principal
from app.store import people

_HOW = "send 'Authorization: Bearer <token>' with a token made by 'gpuyard admin create-token'"


async def authenticate(authorization: str | None, now: datetime) -> Principal:
    """Who the credential stands for. Raises UnauthenticatedError, without telling why a token is no good."""
    if not authorization:
        raise UnauthenticatedError(f"no credential was given; {_HOW}")
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise UnauthenticatedError(f"the credential is not a bearer token; {_HOW}")
    principal = await people.principal_of_token(hash_token(token.strip()), now)
    if principal is None:
        raise UnauthenticatedError("the token is unknown, expired or revoked")
    return principal
