"""Mutation: one file each, one input and one payload type each."""

from __future__ import annotations

import strawberry

from app.graphql.mutations.cancel_workload import CancelWorkloadPayload, cancel_workload
from app.graphql.mutations.submit_workload import SubmitWorkloadPayload, submit_workload


@strawberry.type(description="What can be done.")
class Mutation:
    submit_workload: SubmitWorkloadPayload = strawberry.mutation(
        resolver=submit_workload, description="Accept a workload; it runs as soon as a server has the GPUs free."
    )
    cancel_workload: CancelWorkloadPayload = strawberry.mutation(
        resolver=cancel_workload,
        description="Cancel a pending or running workload. What it has already written elsewhere stays.",
    )
