"""Servers with GPUs of every look, told of by node agents, for pages that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agent.report import Report
from app.cluster.port import Kind
from app.domain.observed import ObservedNode
from app.domain.workload import Workload
from app.store import reports, servers
from app.store.gpu_models import GpuRow
from tests.panel.world import Panel
from tests.placement.builders import node
from tests.reports import a_report

SERVERS = "/orgs/acme/platform/servers"
GPUS = "/orgs/acme/platform/gpus"


async def report(panel: Panel, sequence: int = 1, **changes: Any) -> None:
    """At this moment, of gpu-1 unless another `node` is named."""
    told: Report = a_report(sequence, at=panel.clock.now(), **changes)
    server_id = await reports.find_server("default", told.node)
    assert server_id is not None
    await reports.keep_report("default", server_id, told, panel.clock.now(), 90)


async def gpu(number: int = 0, server: str = "gpu-1") -> str:
    """The address of its page."""
    return f"{GPUS}/{(await GpuRow.get(uuid=f'GPU-{number:04}', server__name=server)).id}"


def see(panel: Panel, *nodes: ObservedNode) -> None:
    """As the cluster shows them now; each its pool's."""
    panel.background.clusters[0].projection.replace(Kind.NODES, list(nodes or (node("gpu-1", 8), node("gpu-2", 2))))


async def put_on_record(panel: Panel, nodes: Sequence[ObservedNode]) -> None:
    await servers.record_nodes("default", [(it, it.pool) for it in nodes], panel.clock.now())
    see(panel, *nodes)


def pod_of(workload: Workload | UUID, attempt: int = 1) -> str:
    """The name of its pod."""
    return f"gw-{(workload if isinstance(workload, UUID) else workload.id).hex}-{attempt}-x7k2p"
