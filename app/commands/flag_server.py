"""Cordon and uncordon a server: our own flag, nothing is written to the node. What runs there goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from app.commands.context import CommandContext, note_done, noting_refusals, open_gpu_workloads
from app.domain.errors import ConflictError, NotFoundError
from app.domain.people import Permission, Principal, unknown_server
from app.domain.server import Cordon, ServerFlags, cordon_reason
from app.store import servers
from app.store.servers import ServerRecord

_TRIES = 20

Decide = Callable[[ServerRecord], ServerFlags]


async def cordon_server(
    context: CommandContext, principal: Principal, server_id: UUID, reason: str, version: int | None = None
) -> ServerRecord:
    """Nothing is placed there from now on, not even what is just being planned. The same reason again changes nothing.

    Raises ConflictError where `version` is given and no longer the server's.
    """

    def decide(record: ServerRecord) -> ServerFlags:
        at, why = context.clock.now(), cordon_reason(reason)
        return record.flags.cordoned(Cordon(record.organization_slug, principal.name, at, why))

    return await _change(context, principal, "cordon_server", server_id, version, decide)


async def uncordon_server(
    context: CommandContext, principal: Principal, server_id: UUID, version: int | None = None
) -> ServerRecord:
    """It takes work again. Asking again changes nothing. Raises ConflictError as above."""
    return await _change(
        context, principal, "uncordon_server", server_id, version, lambda record: record.flags.uncordoned()
    )


async def _change(
    context: CommandContext, principal: Principal, action: str, server_id: UUID, version: int | None, decide: Decide
) -> ServerRecord:
    found = await servers.find_server(server_id)
    slug = found.organization_slug if found else ""
    async with noting_refusals(context, principal, action, slug, str(server_id)):
        if found is None:
            raise unknown_server(server_id)
        try:
            await open_gpu_workloads(principal, slug, Permission.MANAGE_SERVERS)
        except NotFoundError:
            raise unknown_server(server_id) from None
        changed = await _until_it_wins(found, version, decide)
    context.bus.wake_queue()
    reason = changed.flags.cordon.reason if changed.flags.cordon else ""
    detail = f"{changed.server_id} {reason}".rstrip()
    await note_done(context, principal, action, slug, str(server_id), detail)
    return changed


async def _until_it_wins(record: ServerRecord, version: int | None, decide: Decide) -> ServerRecord:
    """The server as it is then. One that becomes another organization's meanwhile is not the caller's to change."""
    slug = record.organization_slug
    for _ in range(_TRIES):
        after = decide(record)
        if after == record.flags:
            return record
        if version not in (None, record.flags.version):
            now = record.cordon.words if record.cordon else "not cordoned"
            raise ConflictError(
                f"somebody changed the server since version {version}; it is at version {record.flags.version}, {now}. "
                "Read it and try again"
            )
        if await servers.write_flags(record.id, record.flags, after):
            return replace(record, flags=replace(after, version=record.flags.version + 1))
        reread = await servers.find_server(record.id)
        if reread is None or reread.organization_slug != slug:
            raise unknown_server(record.id)
        record = reread
    raise ConflictError(f"server {record.server_id} keeps changing; try again")
