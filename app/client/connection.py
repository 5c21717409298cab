"""Where the service is and what the command shows it: from options, the environment and a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from app.client.errors import ClientError

SERVER, TOKEN, TOKEN_FILE = "GPUYARD_SERVER", "GPUYARD_TOKEN", "GPUYARD_TOKEN_FILE"
DEFAULT_SERVER = "http://127.0.0.1:8000"
_LONGEST_TOKEN = 4096


@dataclass(frozen=True)
class Connection:
    """`server` has neither a slash at its end nor /graphql; `told` says for error texts where each value came from."""

    server: str
    token: str = field(repr=False)
    server_told: str = ""
    token_told: str = ""

    @property
    def graphql(self) -> str:
        return f"{self.server}/graphql"

    @property
    def socket(self) -> str:
        return self.graphql.replace("http", "ws", 1)


def connection(server: str | None, token_file: Path | None, environment: Mapping[str, str]) -> Connection:
    """Options first, then the environment. Raises ClientError where the address or the token can't be used."""
    address, address_told = _address(server, environment)
    token, token_told = _token(token_file, environment)
    return Connection(_checked(address, address_told), token, address_told, token_told)


def _address(server: str | None, environment: Mapping[str, str]) -> tuple[str, str]:
    if server is not None:
        return server, "--server"
    if environment.get(SERVER):
        return environment[SERVER], SERVER
    return DEFAULT_SERVER, f"the default, as neither --server nor {SERVER} is given"


def _checked(address: str, told: str) -> str:
    try:
        url = httpx2.URL(address.strip())
    except httpx2.InvalidURL as error:
        msg = f"{address[:200]!r} ({told}) is not an address: {error}"
        raise ClientError(msg) from None
    if url.scheme not in ("http", "https") or not url.host or url.query or url.userinfo:
        msg = f"{address[:200]!r} ({told}) is not an address such as https://gpuyard.example.org"
        raise ClientError(msg)
    return str(url).split("#", 1)[0].rstrip("/").removesuffix("/graphql").rstrip("/")


def _token(token_file: Path | None, environment: Mapping[str, str]) -> tuple[str, str]:
    if token_file is None and environment.get(TOKEN):
        return _usable(environment[TOKEN], TOKEN), TOKEN
    path = token_file or (Path(environment[TOKEN_FILE]) if environment.get(TOKEN_FILE) else None)
    if path is None:
        msg = f"there is no token: put it into {TOKEN}, or name a file that holds it with --token-file or {TOKEN_FILE}"
        raise ClientError(msg)
    told = f"the file {path}"
    try:
        return _usable(path.expanduser().read_text(), told), told
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the token's file can't be read: {error}"
        raise ClientError(msg) from None


def _usable(text: str, told: str) -> str:
    """The token in it; never shown, whatever is wrong with it."""
    token = text.strip()
    if not token:
        raise ClientError(f"{told} is empty; a token is expected there")
    if len(token) > _LONGEST_TOKEN or any(not "!" <= character <= "~" for character in token):
        raise ClientError(f"what is in {told} is not a token: one word of ASCII letters, digits and signs is expected")
    return token
