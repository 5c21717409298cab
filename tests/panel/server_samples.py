"""Contexts of servers' and GPUs' pages, of every look, for tests/panel/test_templates.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from app.domain.gpu_map import GpuState, Whose
from app.panel import contexts
from app.panel.contexts import Context, CurvesView, Frame, Place
from app.panel.fleet import User
from app.panel.gpu_views import GpuView, HistoryView, HoldingView, InstanceView, PeerView
from app.panel.list_views import PageLinks
from app.panel.map_views import CellView, LegendView, SliceView, UseView
from app.panel.server_listing import ServerListing
from app.panel.server_views import PartsView, ServersView, ServerView
from tests.domain.builders import at

NOW = at(500)
INSIDE = Frame("Title", "a@b.c", "token", (), Place("acme", "Acme", "owner", manages=True), "servers")
SERVER = ServerView(UUID(int=7), "gpu-1", "H100", "80 GiB", "580", "13.0", 8, 7, 3, "4", "16Gi", "", None, 1, "/flag")
UNSEEN = ServerView(UUID(int=8), "c", "", "", "", "", 8, None, None, "", "", "gone", NOW, 1, "/flag")
CORDONED = replace(SERVER, cordon="cordoned by a@b.c: fans", cordoned_at=NOW)
SLICES = (SliceView(GpuState.OURS, "1g.10gb ours train"), SliceView(GpuState.FREE, "1g.10gb free"))
CELLS = (
    CellView(GpuState.OURS, "GPU 0: ours", "/gpu", "0"),
    CellView(GpuState.OURS, "GPU 1: ours", "/gpu", "1", SLICES),
    CellView(GpuState.FREE, "GPU 2: free", "/gpu", "2", shares="0/4"),
    CellView(GpuState.UNKNOWN, "A GPU: unknown"),
)
MAPPED = replace(
    SERVER,
    id=UUID(int=9),
    name="d",
    cells=CELLS,
    uses=(UseView("0-1", "train", "/w"), UseView("2", "lab/x", "")),
    asked="1 GPU asked for",
    note="they differ",
    silence="stale",
    silent_since=NOW,
    parts=(PartsView("MIG slices 1g.10gb", 7, 3, 1), PartsView("shared GPUs", 4, None, None)),
)
NO_SERVERS = ServersView(
    (), 0, 0, 0, 0, "/servers", may_flag=True, legend=(), links=PageLinks(), listing=ServerListing(), found=0,
    on_record=0, all_url="/servers",
)  # fmt: skip
LEGEND = (
    LegendView(GpuState.FREE, 3, "/?show=free", is_chosen=False),
    LegendView(GpuState.IN_USE, 0, "/", is_chosen=True),
)
SERVERS = [
    NO_SERVERS,
    replace(NO_SERVERS, servers=(SERVER, replace(SERVER, name="b", total=0), CORDONED), found=3, on_record=3, free=3),
    replace(NO_SERVERS, servers=(UNSEEN, replace(CORDONED, problem="gone")), found=2, on_record=2, may_flag=False),
    replace(NO_SERVERS, servers=(MAPPED,), found=1, on_record=60, legend=LEGEND, links=PageLinks("/", "/", "/n")),
    replace(NO_SERVERS, on_record=60, url="/servers?q=x", listing=ServerListing("x", GpuState.FREE)),
]
USERS = (User(Whose.OURS, "train", "/w"), User(Whose.FOREIGN, "lab/x", "", "MIG-1", is_shared=True))
HELD = HoldingView("train", "/w", 1, "1g.10gb", at(0), None, ("its GPU has failed",))
BARE = GpuView(
    UUID(int=5), "GPU-1", 0, "gpu-1", "/servers", GpuState.FREE, "ok", "", "", None, None, "", "", None, None, at(0),
    (), (), (), (), HistoryView((), PageLinks()), "/gpu",
)  # fmt: skip
FULL = replace(
    BARE, state=GpuState.FAILED, health="failed", reason="lost", message="NVML", health_since=NOW, xid=79,
    problem="cordoned", silence="lost", silent_since=NOW, facts=(("UUID", "GPU-1"),), users=USERS,
    instances=(
        InstanceView("MIG-1", "1g.10gb", "10 GiB", GpuState.OURS, USERS), InstanceView("M", "1", "", GpuState.FREE, ()),
    ),
    peers=(PeerView("GPU 1", "/gpu"), PeerView("GPU-9", "")),
    history=HistoryView((HELD, replace(HELD, url="", attempt=None, until=NOW, told=())), PageLinks("/", "/", "/n")),
)  # fmt: skip
NO_CURVES = CurvesView((), "Not yet.", "", (), "/curves", "d", "", 15)
GPU_VIEWS = [BARE, FULL, replace(FULL, gone_at=NOW, url="/gpu?page=2")]


def of_servers() -> Iterator[Context]:
    for servers in SERVERS:
        yield contexts.ServersPage(INSIDE, NOW, servers, "token", "notice")
        yield contexts.ServersFragment(NOW, servers, "token")
        yield contexts.ServersAnswer(NOW, servers, "token", "notice")
    for gpu in GPU_VIEWS:
        yield contexts.GpuPage(INSIDE, NOW, gpu, NO_CURVES, "/servers")
        yield contexts.GpuFragment(NOW, gpu)
