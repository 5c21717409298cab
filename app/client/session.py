"""What every command does first and last: connect, find the organization, turn errors into a line and a code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import stamina
import typer

from app.client.api import Api, tls_context
from app.client.connection import Connection, connection
from app.client.errors import ClientError, RefusedError
from app.client.screen import Screen
from app.client.waiting import EXIT_DETACHED

ORGANIZATION = "GPUYARD_ORGANIZATION"
_JOB = re.compile(r"gw-([0-9a-f]{32})-\d+")
_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")


class Session:
    """One command's: its connection, its organization, its screen."""

    def __init__(self, connection: Connection, organization: str | None, screen: Screen) -> None:
        self.connection, self.screen, self._given = connection, screen, organization
        self.tls = tls_context()
        self.api = Api(connection, self.tls)

    @cached_property
    def organization(self) -> str:
        """The one that was named, or the only one there is. Raises ClientError."""
        if self._given:
            return self._given
        viewer = self.api.ask("viewer", {})["viewer"]
        slugs = [it["slug"] for it in viewer["organizations"]]
        if len(slugs) == 1:
            return str(slugs[0])
        if not slugs:
            raise ClientError(f"{viewer['name']} belongs to no organization")
        found = ", ".join(slugs)
        raise ClientError(f"choose an organization with --organization or {ORGANIZATION}; there are {found}")

    def of_organization(self, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """What an operation says below `organization`."""
        slug = self.organization
        found: dict[str, Any] | None = self.api.ask(name, {"organization": slug, **variables})["organization"]
        if found is None:
            raise ClientError(f"there is no organization {slug}, or none that you may see")
        return found

    def workload(self, name: str, workload_id: str, **variables: Any) -> dict[str, Any]:
        """What an operation says below `workload`. Raises ClientError where there is none."""
        found: dict[str, Any] | None = self.of_organization(name, {"id": workload_id, **variables})["workload"]
        if found is None:
            raise ClientError(f"there is no workload {workload_id} in {self.organization}")
        return found


@contextmanager
def session(
    server: str | None, token_file: Path | None, organization: str | None, *, failure: int = 1
) -> Iterator[Session]:
    """Ends the command with `failure` and one line for each error, with 130 on Ctrl-C."""
    screen = Screen()
    stamina.instrumentation.set_on_retry_hooks([])  # it would print each try
    try:
        made = Session(connection(server, token_file, os.environ), organization, screen)
        with made.api:
            yield made
    except RefusedError as refusal:
        for sentence in refusal.sentences:
            screen.say(f"gpuyard: {sentence}")
        raise typer.Exit(failure) from None
    except ClientError as error:
        screen.say(f"gpuyard: {error}")
        raise typer.Exit(failure) from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        words = f"what the service answers is not what this command expects ({type(error).__name__}: {error})"
        screen.say(f"gpuyard: {words}; are they of the same version?")
        raise typer.Exit(failure) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_DETACHED) from None
    except BrokenPipeError:
        raise  # `… | head`, which the library ends quietly
    except OSError as error:
        screen.say(f"gpuyard: what was found can't be written: {error}")
        raise typer.Exit(failure) from None


def workload_id(text: str) -> str:
    """An id, with dashes or without, or the name of one of its Jobs. Raises typer.BadParameter."""
    wanted = text.strip().lower()
    job = _JOB.fullmatch(wanted)
    digits = job[1] if job else wanted.replace("-", "")
    if not job and not _ID.fullmatch(wanted):
        raise typer.BadParameter(f"{text[:80]!r} is neither a workload's id nor the name of its Job")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
