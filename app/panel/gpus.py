"""The page of one GPU: what it is, how it is, who has and had it. It asks for itself again while it is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.domain.people import unknown_gpu
from app.panel import frames, guards, urls
from app.panel.contexts import GpuFragment, GpuPage
from app.panel.desk import Desk
from app.panel.fleet import Naming, Standing
from app.panel.gpu_curves import read_gpu_curves
from app.panel.gpu_views import GpuView, Known, gpu_view
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.list_views import numbered_links, page_number
from app.panel.rendering import html
from app.store import gpus, reads
from app.store.gpus import GpuRecord, Holding
from app.store.servers import ServerRecord

HISTORY = 25  # a page


@dataclass(frozen=True)
class GpuPages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        asks_again = Htmx.of(request).wants_fragment
        manager = await guards.manage(self.desk, request, by_person=not asks_again)
        gpu_id: UUID = request.path_params["id"]
        found = await gpus.find_gpu(manager.slug, gpu_id)
        if found is None:
            raise unknown_gpu(gpu_id)
        view = await self._view(manager, *found, page_number(request.query_params))
        now = self.desk.commands.clock.now()
        if not asks_again:
            title = f"GPU {view.index} of {view.server}"
            frame = await frames.frame(title, manager.session, manager.slug, "gpu")
            curves = await read_gpu_curves(self.desk, manager.slug, found[0], request)
            return html(GpuPage(frame, now, view, curves, urls.servers(manager.slug)))
        if request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(GpuFragment(now, view))

    async def _view(self, manager: Manager, gpu: GpuRecord, server: ServerRecord, number: int) -> GpuView:
        known = await self._known(manager.slug, gpu, server, number)
        naming = await Naming.of(manager.slug, manager.organization.id, [*known.holders, *known.history])
        url = _url(manager.slug, gpu.id, number)
        return gpu_view(known, naming, url, names_clusters=self.desk.board.names_clusters)

    async def _known(self, slug: str, gpu: GpuRecord, server: ServerRecord, number: int) -> Known:
        board = self.desk.board
        await board.inventory.refresh()
        history = await gpus.history_of(gpu.id, HISTORY + 1, HISTORY * (number - 1))
        return Known(
            gpu=gpu,
            standing=Standing.of(server, board.servers().get(server.server_id), board),
            siblings=await gpus.gpus_of([server.id]),
            holders=await gpus.holders_of([gpu.id]),
            history=history[:HISTORY],
            links=numbered_links(number, partial(_url, slug, gpu.id), has_next=len(history) > HISTORY),
            failures=await reads.gpu_failures_of(_workloads(history)),
        )


def _url(slug: str, gpu_id: UUID, number: int) -> str:
    return urls.gpu(slug, gpu_id, page=str(number) if number > 1 else "")


def _workloads(history: Sequence[Holding]) -> set[UUID]:
    return {it.workload_id for it in history if it.workload_id}
