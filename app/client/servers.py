"""`gpuyard servers`, `cordon` and `uncordon`: the organization's servers, and keeping new work off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from app.client.errors import ClientError
from app.client.flags import CORDON, named_by
from app.client.options import Organization, Server, TokenFile
from app.client.session import Session, session
from app.client.tables import Table
from app.client.views import text

Record = Mapping[str, Any]
ServerName = Annotated[str, typer.Argument(metavar="SERVER", help="Its name, as cluster/name where there are several.")]


def servers(
    *,
    output: Annotated[Literal["table", "json"], typer.Option("--output", "-o", help="How they are printed.")] = "table",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """List the organization's servers, with what is free on each."""
    with session(server, token_file, organization) as here:
        found = _servers(here)
        if output == "json":
            here.screen.json(found)
        else:
            here.screen.table(servers_table(found))


def cordon(
    name: ServerName,
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Told to those who wait for it.")] = "",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Keep new workloads off a server. What runs there goes on."""
    with session(server, token_file, organization) as here, named_by(CORDON):
        _change(here, "cordon", name, reason=reason)


def uncordon(
    name: ServerName,
    *,
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Let workloads be placed on a server again."""
    with session(server, token_file, organization) as here:
        _change(here, "uncordon", name)


def servers_table(found: Sequence[Record]) -> Table:
    """Names with their cluster only where there are several, slices and shares only where there are any."""
    several, parts = len({it["cluster"] for it in found}) > 1, any(map(_parts, found))
    header = ("SERVER", "GPUS", "FREE", *(("SLICES FREE",) if parts else ()), "PRODUCT", "DRIVER", "STATE")
    rows = tuple(
        (
            _full(it) if several else it["name"],
            text(it["gpuCount"]),
            text(it["gpusFree"]),
            *((_parts(it),) if parts else ()),
            it["product"] or "",
            it["driverVersion"] or "",
            _state(it),
        )
        for it in found
    )
    return Table(header, rows)


def _parts(it: Record) -> str:
    """As `1g.10gb 5/7, shared 3/40`; a dash for what is free where that is not known."""
    return ", ".join(
        f"{' '.join(filter(None, (each['migProfile'], 'shared' if each['shared'] else '')))} "
        f"{'-' if each['free'] is None else each['free']}/{each['total']}"
        for each in it["gpuResources"]
        if each["migProfile"] or each["shared"]
    )


def chosen(found: Sequence[Record], name: str) -> Record:
    """The one of that name, or `cluster/name`. Raises ClientError."""
    named = [it for it in found if name in (it["name"], _full(it))]
    if len(named) == 1:
        return named[0]
    if named:
        raise ClientError(f"{name} is the name of several; say {' or '.join(_full(it) for it in named)}")
    raise ClientError(f"there is no server {name}; there are {', '.join(it['name'] for it in found) or 'none'}")


def _change(here: Session, verb: str, name: str, **wanted: str) -> None:
    asked = {"id": chosen(_servers(here), name)["id"], **wanted}
    changed = here.api.ask(f"{verb}_server", {"input": asked})[f"{verb}Server"]["server"]
    here.screen.result(f"{changed['name']}  {_state(changed)}")


def _servers(here: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = here.of_organization("command/servers", {})["servers"]
    return found


def _full(it: Record) -> str:
    return f"{it['cluster']}/{it['name']}"


def _state(it: Record) -> str:
    return "takes work" if it["usable"] else text(it["unusableReason"])
