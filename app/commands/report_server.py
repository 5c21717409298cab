"""A node agent's report: who may send it, what of it is taken, and who is to look again then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from agent.report import Receipt, Report
from app.commands.context import CommandContext, noting_refusals
from app.domain.agents import AgentBinding, AgentPolicy
from app.domain.errors import ForbiddenError, NotFoundError
from app.domain.people import Principal
from app.domain.reports import check_report
from app.store import holders, reads, reports
from app.store.devices import Failure
from app.store.gpu_failures import tell_gpu_failures

# The device plugin and the agent hear of the same XIDs: what either told so lately is the same failure.
_TOLD_BY_BOTH = timedelta(minutes=5)


async def report_server(context: CommandContext, principal: Principal, report: Report, policy: AgentPolicy) -> Receipt:
    """Keep the report. Raises ForbiddenError, NotFoundError for a node that the cluster has not shown yet."""
    async with noting_refusals(context, principal, "report_server", "", report.node):
        binding = _binding(principal, report.node)
    server_id = await reports.find_server(binding.cluster, report.node)
    if server_id is None:
        raise _unknown_node(binding.cluster, report.node)
    check_report(report)
    now = context.clock.now()
    kept = await reports.keep_report(binding.cluster, server_id, report, now, policy.stale_after)
    if kept.changed_devices:
        context.bus.wake_queue()
    if kept.failed:
        await _tell_workloads(context, kept.failed)
    return Receipt(now, kept.wants_everything, kept.is_late, policy.interval, kept.pod_uids)


async def _tell_workloads(context: CommandContext, failures: Sequence[Failure]) -> None:
    """An event for each live workload that has a GPU which failed. It is not stopped: it may not have noticed."""
    failed = {failure.gpu_id: failure for failure in failures}
    on = await holders.workloads_on(list(failed))
    workloads = await reads.workloads_by_id(list({it for ids in on.values() for it in ids}))
    for workload in workloads.values():
        if not workload.status.is_terminal:
            its = [failure for gpu_id, failure in failed.items() if workload.id in on.get(gpu_id, ())]
            why = {failure.uuid: failure.message or failure.reason for failure in its}
            if await tell_gpu_failures(workload, why, context.clock.now(), _TOLD_BY_BOTH):
                context.bus.wake_events(workload.organization_id)


def _binding(principal: Principal, node: str) -> AgentBinding:
    if principal.agent is None:
        raise ForbiddenError(
            "only node agents report; make a token for one with 'gpuyard admin create-agent-token --node NAME'"
        )
    if not principal.agent.covers(node):
        raise ForbiddenError(f"this token is bound to the node {principal.agent.node}; it can't report {node[:80]!r}")
    return principal.agent


def _unknown_node(cluster: str, node: str) -> NotFoundError:
    return NotFoundError(
        f"the cluster {cluster} has shown no node {node[:80]!r} yet, so nothing of the report was kept; report again "
        "in a while, and if it lasts, hold the agent's node name and its token's cluster against the list of servers"
    )
