"""Subscription: one file each."""

from __future__ import annotations

import strawberry

from app.graphql.subscriptions.servers import servers
from app.graphql.subscriptions.workload_events import workload_events
from app.graphql.subscriptions.workload_logs import workload_logs
from app.graphql.subscriptions.workload_status import workload_status


@strawberry.type(description="What can be followed, over graphql-transport-ws or as server-sent events.")
class Subscription:
    workload_events = strawberry.subscription(
        resolver=workload_events,
        description="Events of all workloads of an organization, each once, in order; all of them from `after` on.",
    )
    workload_status = strawberry.subscription(
        resolver=workload_status,
        description="A workload as it is now and after each of its events; over when it has ended.",
    )
    workload_logs = strawberry.subscription(
        resolver=workload_logs,
        description="A workload's log from its beginning, or from a cursor: live, over all attempts, to its end.",
    )
    servers = strawberry.subscription(
        resolver=servers,
        description="The servers of an organization's pool and what is free on them: now, and whenever it has changed.",
    )
