"""The commands that talk to a running service. Each is the API's answer, printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from app.client import views
from app.client.attending import detaching, follow_log, stay_to_the_end
from app.client.changing import cancel, prioritize, resume, suspend
from app.client.flags import LISTING, LOG, named_by
from app.client.options import Organization, Server, TextOrJson, TokenFile, WorkloadId, statuses
from app.client.servers import cordon, servers, uncordon
from app.client.session import Session, session
from app.client.submit import retry, submit
from app.client.waiting import EXIT_UNKNOWN, exit_code

LARGEST_PAGE, MOST_LINES = 500, 50_000  # the API's own bounds

PANEL = "Talk to a running service"

app = typer.Typer()
app.command(rich_help_panel=PANEL)(submit)
app.command(rich_help_panel=PANEL)(retry)


@app.command("list", rich_help_panel=PANEL)
def list_workloads(  # noqa: PLR0913 — one parameter a flag
    *,
    status: Annotated[
        list[str] | None, typer.Option(parser=statuses, metavar="STATUS", help="Only these, as running,pending.")
    ] = None,
    expressions: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="EXPRESSION", help="Only where it holds, as gpuCount>=2 or name=@train."),
    ] = None,
    search: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only where all of these words are found.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Sort by it, as gpuCount; -gpuCount: largest first.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="The most to show; 0: all.")] = 50,
    output: Annotated[
        Literal["table", "wide", "json"], typer.Option("--output", "-o", help="How they are printed.")
    ] = "table",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """List workloads, newest first unless sorted otherwise."""
    wanted = {
        "status": [word for words in status or [] for word in words] or None,
        "filterBy": expressions,
        "search": search,
        **_order(sort),
    }
    with session(server, token_file, organization) as here, named_by(LISTING):
        found, total = _listed(here, wanted, limit)
        if output == "json":
            here.screen.json(found)
            return
        if not found:
            here.screen.say(f"gpuyard: no workloads in {here.organization}, or none that match")
            return
        here.screen.table(views.workloads_table(found, datetime.now(UTC), wide=output == "wide"))
        if len(found) < total:
            here.screen.say(f"gpuyard: the first {len(found)} of {total}; --limit shows more")


def _order(sort: str | None) -> dict[str, str]:
    """`-gpuCount` as the API's enums have it."""
    if sort is None:
        return {}
    spelled = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", sort.removeprefix("-")).upper()
    return {"sortBy": spelled, "sortOrder": "DESC" if sort.startswith("-") else "ASC"}


def _listed(here: Session, wanted: Mapping[str, Any], limit: int) -> tuple[list[dict[str, Any]], int]:
    """As many as wanted, and how many there are."""
    found: list[dict[str, Any]] = []
    total = 0
    for page in _pages(here, wanted, limit):
        total = page["totalCount"]
        found += [edge["node"] for edge in page["edges"]]
    return found, total


def _pages(here: Session, wanted: Mapping[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    after, left = None, limit or None
    while left is None or left > 0:
        first = LARGEST_PAGE if left is None else min(left, LARGEST_PAGE)
        page = here.of_organization("command/workloads", {**wanted, "first": first, "after": after})["workloads"]
        yield page
        after, left = page["pageInfo"]["endCursor"], None if left is None else left - len(page["edges"])
        if not (page["edges"] and page["pageInfo"]["hasNextPage"]):
            return


@app.command(rich_help_panel=PANEL)
def get(
    workload: WorkloadId,
    *,
    output: TextOrJson = "text",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Show everything about a workload.

    Values of its environment are in --output json alone.
    """
    with session(server, token_file, organization) as here:
        found = here.workload("command/workload", workload)
        if output == "json":
            here.screen.json(found)
            return
        here.screen.facts(views.details(found, datetime.now(UTC)))
        for table in (views.attempts_table(found), views.events_table(found)):
            if table.rows:
                here.screen.result("")
                here.screen.table(table)


@app.command(rich_help_panel=PANEL)
def wait(
    workload: WorkloadId,
    *,
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Wait for a workload's end and exit as it did.

    With the container's code where it ended by itself, else 70 (failed), 124 (timeout) or 143 (cancelled).
    """
    with session(server, token_file, organization, failure=EXIT_UNKNOWN) as here:
        here.workload("command/progress", workload)  # what is wrong from the start is not waited for
        with detaching(here, workload):
            end = stay_to_the_end(here, workload, follows=False)
        raise typer.Exit(exit_code(end))


@app.command(rich_help_panel=PANEL)
def logs(
    workload: WorkloadId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="From its beginning, as it comes, to its end.")
    ] = False,
    tail: Annotated[
        int | None, typer.Option(min=1, max=MOST_LINES, help="Only so many lines, the last ones. All unless given.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Number of the attempt. The last unless given.")] = None,
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Print the log of a workload.

    Where there is none the reason is told, and the exit code is 1.
    """
    if follow and (tail or attempt):
        raise typer.BadParameter("--follow prints all of the log; it goes without --tail and --attempt")
    with session(server, token_file, organization) as here, named_by(LOG):
        if follow:
            here.workload("command/progress", workload)  # as above
            with detaching(here, workload):
                follow_log(here, workload)
            return
        variables = {"attempt": attempt, "tailLines": tail or MOST_LINES}
        found = here.workload("workload_log", workload, **variables)["log"]
        here.screen.log(found["text"])
        here.screen.end_of_log()
        if found["wasCut"] and tail is None:
            here.screen.say("gpuyard: this is the end of the log; what came before it is not kept")
        if found["whyNone"] is not None:
            here.screen.say(f"gpuyard: {found['whyNone']}")
            raise typer.Exit(1)


for command in (cancel, suspend, resume, prioritize):
    app.command(rich_help_panel=PANEL)(command)
app.command(rich_help_panel=PANEL)(servers)
app.command(rich_help_panel=PANEL)(cordon)
app.command(rich_help_panel=PANEL)(uncordon)
