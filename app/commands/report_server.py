"""A node agent's report: who may send it, what of it is taken, and who is to look again then."""

from __future__ import annotations

from agent.report import Receipt, Report
from app.commands.context import CommandContext, noting_refusals
from app.domain.agents import AgentBinding, AgentPolicy
from app.domain.errors import ForbiddenError, NotFoundError
from app.domain.people import Principal
from app.domain.reports import check_report
from app.store import reports


async def report_server(context: CommandContext, principal: Principal, report: Report, policy: AgentPolicy) -> Receipt:
    """Keep the report. Raises ForbiddenError, NotFoundError for a node that the cluster has not shown yet."""
    async with noting_refusals(context, principal, "report_server", "", report.node):
        binding = _binding(principal, report.node)
    server_id = await reports.find_server(binding.cluster, report.node)
    if server_id is None:
        raise _unknown_node(binding.cluster, report.node)
    check_report(report)
    now = context.clock.now()
    kept = await reports.keep_report(server_id, report, now, policy.stale_after)
    if kept.changed_devices:
        context.bus.wake_queue()
    return Receipt(now, kept.wants_everything, kept.is_late, policy.interval)


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
