"""A throw-away PostgreSQL server for tests, or the one named in GPUYARD_TEST_DATABASE_URL.

Fixtures, registered by tests/conftest.py:

- `postgres_server`: a URL template `asyncpg://user@host:port/test_{}`; the test makes and drops databases itself, as
  Tortoise's test helpers do.
- `postgres_url`: the URL of an empty database, made for the test and dropped after it.

Both skip with the reason where there is no PostgreSQL. Under pytest-xdist each worker has a server of its own: it
starts in about a second, and sharing would need a lock and a count of users. `python -m tests.postgres`, part of
`make test`, installs Debian's packages where it may; the fixtures install nothing, as a test's time limit counts their
work.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

VARIABLE = "GPUYARD_TEST_DATABASE_URL"
START_SECONDS = 20

# The shell outlives the server and ends with its standard input, so that no server stays behind a killed test run.
SUPERVISOR = 'postgres=$1 data=$2; "$postgres" -D "$data" & cat >/dev/null; kill -QUIT $!; wait; rm -rf "${data%/*}"'

# Nothing here has to survive a power cut, and there is no socket folder to get permissions for.
SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = 64MB
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
"""


class NoServerError(Exception):
    """PostgreSQL did not start; the message ends with its own words."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    given = os.environ.get(VARIABLE)
    if given:
        yield template_of(given)
        return
    programs = find_programs()
    if programs is None:
        pytest.skip(f"no PostgreSQL here: run `make postgres`, install it, or set {VARIABLE}")
    with throw_away_server(programs) as port:
        yield f"asyncpg://postgres@127.0.0.1:{port}/test_{{}}"


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database."""
    url = postgres_server.format(uuid.uuid4().hex)
    name = urlsplit(url).path[1:]
    admin = os.environ.get(VARIABLE) or urlunsplit(urlsplit(url)._replace(path="/postgres"))
    asyncio.run(_execute(admin, f'CREATE DATABASE "{name}"'))
    yield url
    asyncio.run(_execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)'))


def template_of(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(scheme="asyncpg", path="/test_{}"))


def find_programs() -> Path | None:
    """The folder of the newest PostgreSQL: Debian keeps it off the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    found = debian[-1] if debian else shutil.which("initdb")
    return Path(found).parent if found else None


@contextlib.contextmanager
def throw_away_server(programs: Path) -> Iterator[int]:
    """Yields the port of a fresh server on loopback that anyone on this machine may use as `postgres`."""
    user = _account()
    folder = Path(tempfile.mkdtemp(prefix="gpuyard-postgres-"))
    if user is not None:
        shutil.chown(folder, user)
    port = _free_port()
    _make_data(programs, folder, user, port)
    supervisor = _start(programs, folder, user)
    try:
        _wait_until_ready(programs, folder, port)
        yield port
    finally:
        supervisor.communicate(timeout=START_SECONDS)


def _account() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    accounts = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in accounts else "nobody"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _make_data(programs: Path, folder: Path, user: str | None, port: int) -> None:
    options = ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
    command: list[str | Path] = [programs / "initdb", "-D", folder / "data", *options]
    made = subprocess.run(command, cwd=folder, user=user, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise NoServerError(f"initdb failed: {made.stderr}")
    with (folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write(f"{SETTINGS}port = {port}\n")


def _start(programs: Path, folder: Path, user: str | None) -> subprocess.Popen[bytes]:
    command: list[str | Path] = ["sh", "-c", SUPERVISOR, "supervisor", programs / "postgres", folder / "data"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=folder, user=user, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )


def _wait_until_ready(programs: Path, folder: Path, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    question: list[str | Path] = [programs / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={port}"]
    while subprocess.run(question, check=False).returncode != 0:
        if time.monotonic() > deadline:
            raise NoServerError(f"no answer after {START_SECONDS} s: {(folder / 'log').read_text()}")
        time.sleep(0.05)


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url.replace("asyncpg://", "postgresql://", 1))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def provide() -> str:
    """Installs Debian's PostgreSQL where there is none and this user may; says in a sentence what tests will use."""
    if os.environ.get(VARIABLE):
        return f"the server named in {VARIABLE}"
    if find_programs() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
            subprocess.run(["apt-get", "-qq", *arguments], check=False, stdout=subprocess.DEVNULL)
    programs = find_programs()
    return f"a throw-away server of {programs}" if programs else "none, so its tests are skipped"


if __name__ == "__main__":
    print(f"PostgreSQL for tests: {provide()}")
