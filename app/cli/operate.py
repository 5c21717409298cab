"""What an operator does at the machine: demo, serve, admin."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import UUID

import typer
from rich.console import Console

from app.auth.secrets import hash_password, hash_token, new_token
from app.cli.release import Release, run_release
from app.clock import SystemClock
from app.cluster.port import ClusterError
from app.cluster_settings import DEFAULT_CLUSTER
from app.commands import administer, agent_tokens
from app.config import ConfigurationError, load_database_url, load_settings
from app.demo.cluster import ClusterDidNotStartError
from app.demo.folder import FolderInUseError
from app.demo.run import DemoOptions, run_demo
from app.domain.agents import AgentBinding
from app.domain.errors import DomainError
from app.domain.gpus import WHOLE
from app.domain.people import Role, Scope
from app.domain.volumes import VolumeKind
from app.domain.wording import gpus
from app.main import serve as run_server
from app.store.database import DatabaseUnavailableError, UnsupportedDatabaseError, opened
from app.telemetry import LogFormat, LogLevel, configure_logging

PANEL = "Run a service"

app = typer.Typer()
admin = typer.Typer(no_args_is_help=True, help="Set up an installation; works on the database of GPUYARD_DATABASE_URL.")
app.add_typer(admin, name="admin", rich_help_panel=PANEL)

_EXPECTED = (
    ConfigurationError,
    DomainError,
    FolderInUseError,
    ClusterDidNotStartError,
    ClusterError,
    DatabaseUnavailableError,
    UnsupportedDatabaseError,
    OSError,
)
_out, _err = Console(), Console(stderr=True)
_SHORTEST_PASSWORD = 12


def _fail(message: str) -> NoReturn:
    _err.print(message, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)


def _run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run to the end; expected failures become one message and exit code 1."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(work())
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except _EXPECTED as error:
        _fail(f"gpuyard: {error}")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 — not there on Windows

    return uvloop.new_event_loop


def _on_database(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def with_database() -> None:
        async with opened(load_database_url()):
            await work()

    _run(with_database)


@app.command(rich_help_panel=PANEL)
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data: Annotated[Path, typer.Option(help="Folder for the database and the simulated cluster.")] = Path("data"),
    ready_file: Annotated[Path | None, typer.Option(help="Write address and secrets there as JSON.")] = None,
    log_level: Annotated[LogLevel, typer.Option(help="The least that is logged.")] = "warning",
) -> None:
    """Run everything on this machine with a simulated cluster."""
    configure_logging("console", log_level)
    options = DemoOptions(data.resolve(), host, port, ready_file)
    _run(lambda: run_demo(options, _out))


@app.command(rich_help_panel=PANEL)
def serve() -> None:
    """Run the service with the settings of the environment (docs/operations.md)."""
    try:
        settings = load_settings()
    except ConfigurationError as error:
        _fail(f"gpuyard can't start:\n{error}")
    log_format: LogFormat = settings.log_format
    configure_logging(log_format, settings.log_level)
    _run(lambda: run_server(settings, lambda url: _err.print(f"GPUYard serves {url}", markup=False, highlight=False)))


@app.command(rich_help_panel=PANEL)
def release(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which pods are held.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Pods of any GPUYard, in any namespace.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also while a service works; with --all the database is not asked.")
    ] = False,
) -> None:
    """Take GPUYard's finalizer off its pods, before it is uninstalled. Stop the service first."""
    configure_logging("console", "warning")

    async def work() -> None:
        say = partial(_out.print, markup=False, highlight=False, soft_wrap=True)
        await run_release(load_settings(), Release(dry_run, everything, force), say)

    _run(work)


@admin.command()
def create_organization(
    slug: Annotated[str, typer.Argument(help="Short name for addresses: lower-case letters, digits, '-'.")],
    name: Annotated[str, typer.Option(help="Name for people.")] = "",
    enabled: Annotated[bool, typer.Option(help="Whether GPU workloads may be used.")] = True,
) -> None:
    """Create an organization. The first one owns the servers without a pool label."""

    async def work() -> None:
        made = await administer.create_organization(slug, name, SystemClock().now(), enabled=enabled)
        owns = "; servers without a pool label are its own" if made.is_default else ""
        _out.print(f"organization {made.slug} {made.id}{owns}", soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def enable(slug: str) -> None:
    """Let an organization use GPU workloads."""
    _on_database(lambda: administer.set_gpu_workloads_enabled(slug, SystemClock().now(), enabled=True))


@admin.command()
def disable(slug: str) -> None:
    """Stop an organization from using GPU workloads; what runs goes on."""
    _on_database(lambda: administer.set_gpu_workloads_enabled(slug, SystemClock().now(), enabled=False))


@admin.command()
def create_user(
    email: str,
    organization: Annotated[str, typer.Option(help="Slug of the organization.")],
    role: Annotated[Role, typer.Option(help="What the person is there.")] = Role.MEMBER,
    password: Annotated[
        str,
        typer.Option(
            help="At least 12 characters.",
            prompt=True,
            hide_input=True,
            show_default=False,
            envvar="GPUYARD_NEW_PASSWORD",
        ),
    ] = "",
) -> None:
    """Create a person, or give one that exists a role in another organization."""
    if len(password) < _SHORTEST_PASSWORD:
        _fail(f"gpuyard: a password must have at least {_SHORTEST_PASSWORD} characters; this one has {len(password)}")

    async def work() -> None:
        hashed = await hash_password(password)
        user_id = await administer.create_user(email, hashed, organization, role, SystemClock().now())
        _out.print(f"user {email} {user_id} is {role} of {organization}", soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def create_project(organization: str, slug: str, name: str = "") -> None:
    """Create a project in an organization."""

    async def work() -> None:
        made = await administer.create_project(organization, slug, name, SystemClock().now())
        _out.print(f"project {made.slug} {made.id}", soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def set_quota(
    organization: str,
    project: str,
    guaranteed: Annotated[int | None, typer.Option(help="Whole GPUs it has a right to; none unless given.")] = None,
    most: Annotated[int | None, typer.Option("--max", help="Whole GPUs it may use at most; no maximum else.")] = None,
) -> None:
    """Say how many GPUs a project is guaranteed and may use at most. What is not given is taken away."""

    async def work() -> None:
        changed, warning = await administer.set_quota(organization, project, (guaranteed, most), SystemClock().now())
        _out.print(f"project {changed.slug}: {changed.quota.words}", soft_wrap=True, highlight=False)
        if warning:
            _err.print(f"gpuyard: {warning}", markup=False, highlight=False, soft_wrap=True)

    _on_database(work)


@admin.command()
def create_volume(
    organization: str,
    name: Annotated[str, typer.Argument(help="What its workloads call it: lower-case letters, digits, '-'.")],
    pvc: Annotated[str, typer.Option(help="Name of a PersistentVolumeClaim in the Jobs' namespace.")] = "",
    nfs: Annotated[str, typer.Option(help="Directory of an NFS server, as server:/path.")] = "",
    host_path: Annotated[str, typer.Option(help="Directory that the servers themselves have.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Never let a workload write to it.")] = False,
) -> None:
    """Name storage that an organization's workloads may mount. Give --pvc, --nfs or --host-path."""
    sources = {VolumeKind.PVC: pvc, VolumeKind.NFS: nfs, VolumeKind.HOST_PATH: host_path}
    given = [(kind, source) for kind, source in sources.items() if source]
    if len(given) != 1:
        _fail("gpuyard: give one of --pvc, --nfs and --host-path")
    [(kind, source)] = given
    _on_database(
        lambda: administer.create_volume(organization, name, kind, source, SystemClock().now(), read_only=read_only)
    )


@admin.command()
def list_volumes(organization: str) -> None:
    """What an organization's workloads may mount, and where it lies."""

    async def work() -> None:
        for volume in await administer.list_volumes(organization):
            access = "read-only" if volume.read_only else "read-write"
            line = f"{volume.name} {volume.kind} {volume.source} {access}"
            _out.print(line, markup=False, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def remove_volume(organization: str, name: str) -> None:
    """Let no further workload mount it; its data stays. What still waits with it fails, what runs goes on."""
    _on_database(lambda: administer.remove_volume(organization, name, SystemClock().now()))


@admin.command()
def list_servers() -> None:
    """Every server on record: whose it is, by its node's label or by assignment, and whether it is cordoned."""

    async def work() -> None:
        for server in await administer.list_servers():
            by = "by assignment" if server.flags.assigned_to else "by its label"
            owner = f"{server.organization_slug} {by}" if server.organization_slug else "nobody's"
            counts = server.gpu_counts or {WHOLE: 0}
            has = ", ".join(gpus(count, kind) for kind, count in sorted(counts.items()))
            line = f"{server.server_id} {has} {owner}"
            line += ", gone" if server.gone_at else ""
            line += f", {server.cordon.words}" if server.cordon else ""
            _out.print(line, markup=False, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def assign_server(
    server: Annotated[str, typer.Argument(help="Its node's name, as cluster/name where several have it.")],
    organization: Annotated[str, typer.Argument(help="Slug of its new organization.", show_default=False)] = "",
    clear: Annotated[bool, typer.Option("--clear", help="Let the label of its node decide again.")] = False,
) -> None:
    """Give a server to an organization, whatever the label of its node says. What runs there goes on."""
    if bool(organization) == clear:
        _fail("gpuyard: give either an organization or --clear")

    async def work() -> None:
        found = await administer.assign_server(server, organization, SystemClock().now())
        by = "by assignment" if found.flags.assigned_to else "by its label"
        line = f"server {found.server_id} is {found.organization_slug or 'nobody'}'s {by}"
        _out.print(line, markup=False, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def create_token(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    user: Annotated[str, typer.Option(help="Address of the person it acts for.")] = "",
    organization: Annotated[str, typer.Option(help="For a service's token: the organization.")] = "",
    role: Annotated[Role, typer.Option(help="For a service's token: its role.")] = Role.ADMIN,
    scope: Annotated[list[Scope] | None, typer.Option(help="What it may be used for; all unless named.")] = None,
    days: Annotated[int, typer.Option(min=0, help="Days until it expires; 0: never.")] = 0,
) -> None:
    """Create an API token and print it, once. Give --user or --organization."""
    if scope and Scope.AGENT_REPORT in scope:
        _fail("gpuyard: node agents have tokens of their own kind; make one with 'gpuyard admin create-agent-token'")
    if bool(user) == bool(organization):
        _fail("gpuyard: give either --user for a person's token or --organization for a service's")

    async def work() -> None:
        token, now = new_token(), SystemClock().now()
        secret, expires = hash_token(token), now + timedelta(days=days) if days else None
        if user:
            await administer.create_person_token(user, secret, name, scope or (), now, expires)
        else:
            await administer.create_service_token(organization, role, secret, name, scope or (), now, expires)
        _out.print(token, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def create_agent_token(
    node: Annotated[str, typer.Option(help="Name of the node that the agent runs on.")] = "",
    cluster: Annotated[str, typer.Option(help="The node's cluster, as the settings name it.")] = DEFAULT_CLUSTER,
    all_nodes: Annotated[
        bool, typer.Option("--all-nodes", help="Good for every node of the cluster: weaker, see docs/security.md.")
    ] = False,
) -> None:
    """Create a node agent's token and print it, once. It can do nothing but report for that node."""
    if bool(node) == all_nodes:
        _fail("gpuyard: give either --node, or --all-nodes for one token that all agents of the cluster share")

    async def work() -> None:
        token = new_token()
        await agent_tokens.create_agent_token(AgentBinding(cluster, node), hash_token(token), SystemClock().now())
        _out.print(token, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def list_agent_tokens() -> None:
    """The tokens of node agents: id, cluster/node ('*' for all of the cluster), when made, when revoked."""

    async def work() -> None:
        for token in await agent_tokens.list_agent_tokens():
            ended = f" revoked {token.revoked_at:%Y-%m-%d %H:%M}" if token.revoked_at else ""
            line = f"{token.id} {agent_tokens.whose(token.binding)} made {token.created_at:%Y-%m-%d %H:%M}{ended}"
            _out.print(line, markup=False, soft_wrap=True, highlight=False)

    _on_database(work)


@admin.command()
def revoke_agent_token(token_id: Annotated[UUID, typer.Argument(help="As list-agent-tokens shows it.")]) -> None:
    """Refuse the reports of a node agent's token from now on."""
    _on_database(lambda: agent_tokens.revoke_agent_token(token_id, SystemClock().now()))
