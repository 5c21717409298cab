"""The curves of one GPU, whoever had it: a part of its page, asked for again while the page is open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.domain.metric_words import NO_SAMPLES_OF_IT
from app.domain.metrics import OF_GPUS, Edges, MetricType, curve, round_parts
from app.domain.people import unknown_gpu
from app.domain.samples import Reading
from app.panel import guards, urls
from app.panel.axes import Unit
from app.panel.charts import Chart, Series, line_chart
from app.panel.contexts import Choice, CurvesFragment, CurvesView
from app.panel.curve_views import MOST_PARTS, PICTURES, WINDOWS, again_after, picture_name
from app.panel.desk import Desk
from app.panel.digests import digest_of
from app.panel.rendering import html
from app.store import gpus, samples
from app.store.gpus import GpuRecord
from app.store.samples import Device

_OF_ONE = {MetricType.GPU_TEMPERATURE: ("GPU temperature", Unit("°C"))}  # of several it says nothing
GPU_PICTURES = {it: words for it, words in PICTURES.items() if it in OF_GPUS} | _OF_ONE
_USUAL = "1h"
Readings = Mapping[Device, Sequence[Reading]]


@dataclass(frozen=True)
class GpuCurvePages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        """204 while there is nothing new."""
        manager = await guards.manage(self.desk, request, by_person=False)
        gpu_id: UUID = request.path_params["id"]
        found = await gpus.find_gpu(manager.slug, gpu_id)
        if found is None:
            raise unknown_gpu(gpu_id)
        view = await read_gpu_curves(self.desk, manager.slug, found[0], request)
        if request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(CurvesFragment(view))


async def read_gpu_curves(desk: Desk, slug: str, gpu: GpuRecord, request: Request) -> CurvesView:
    """Of the window that the address names, up to now; the last hour for none."""
    named, end = request.query_params.get("window", ""), desk.commands.clock.now()
    window = named if named in WINDOWS else _USUAL
    start = end - WINDOWS[window][1]
    devices = _devices(gpu)
    found = await samples.GPUS.readings_of(list(devices), start, end)
    parts, charts = await asyncio.to_thread(_drawn, devices, found, start, end)
    return _view(slug, gpu.id, window, parts, charts)


def _devices(gpu: GpuRecord) -> dict[Device, str]:
    """The GPU and its MIG instances, as their lines are called."""
    found = {Device(gpu.id): f"GPU {gpu.index}"}
    for number, (uuid, profile) in enumerate(gpu.mig_profiles.items(), 1):
        found[Device(gpu.id, uuid)] = f"slice {number} ({profile})"
    return found


def _drawn(
    devices: Mapping[Device, str], found: Readings, start: datetime, end: datetime
) -> tuple[Edges, tuple[Chart, ...]]:
    """Off the event loop: of a week there are very many readings."""
    parts = round_parts(start, end, found.values(), MOST_PARTS)
    return parts, tuple(_charts(devices, found, parts))


def _charts(devices: Mapping[Device, str], found: Readings, parts: Edges) -> Iterator[Chart]:
    """Of each metric of which anything is known, a line for each device that tells it."""
    for type_, (title, unit) in GPU_PICTURES.items():
        values = {name: curve(found.get(device, ()), type_, parts) for device, name in devices.items()}
        known = [Series(name, it) for name, it in values.items() if any(value is not None for value in it)]
        if known:
            yield line_chart(picture_name(type_), title, unit, parts, known)


def _view(slug: str, gpu_id: UUID, window: str, parts: Edges, charts: tuple[Chart, ...]) -> CurvesView:
    digest = digest_of(charts)
    page = urls.gpu(slug, gpu_id)
    return CurvesView(
        charts=charts,
        why_none="" if charts else NO_SAMPLES_OF_IT,
        note="",
        windows=tuple(
            Choice(label, urls.with_query(page, window=name) + "#curves", name == window)
            for name, (label, _) in WINDOWS.items()
        ),
        url=urls.gpu_curves(slug, gpu_id, window=window),
        digest=digest,
        follow_url=urls.gpu_curves(slug, gpu_id, window=window, have=digest),
        again_after=again_after(parts),
    )
