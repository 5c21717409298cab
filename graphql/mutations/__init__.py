"""Mutation: one file each, one input and one payload type each."""

from __future__ import annotations

import strawberry

from app.graphql.mutations.cancel_workload import (
    CancelWorkloadPayload,
    CancelWorkloadsPayload,
    cancel_workload,
    cancel_workloads,
)
from app.graphql.mutations.delete_workload import (
    DeleteWorkloadPayload,
    DeleteWorkloadsPayload,
    delete_workload,
    delete_workloads,
)
from app.graphql.mutations.hold_workload import HoldWorkloadPayload, HoldWorkloadsPayload, hold_workload, hold_workloads
from app.graphql.mutations.members import RemoveMemberPayload, SetMemberPayload, remove_member, set_member
from app.graphql.mutations.projects import CreateProjectPayload, RenameProjectPayload, create_project, rename_project
from app.graphql.mutations.release_workload import (
    ReleaseWorkloadPayload,
    ReleaseWorkloadsPayload,
    release_workload,
    release_workloads,
)
from app.graphql.mutations.restore_workload import (
    RestoreWorkloadPayload,
    RestoreWorkloadsPayload,
    restore_workload,
    restore_workloads,
)
from app.graphql.mutations.retry_workload import (
    RetryWorkloadPayload,
    RetryWorkloadsPayload,
    retry_workload,
    retry_workloads,
)
from app.graphql.mutations.submit_workload import SubmitWorkloadPayload, submit_workload
from app.graphql.mutations.tokens import CreateTokenPayload, RevokeTokenPayload, create_token, revoke_token


@strawberry.type(description="What can be done. The forms in the plural take up to 100 ids and report on each.")
class Mutation:
    submit_workload: SubmitWorkloadPayload = strawberry.mutation(
        resolver=submit_workload,
        description="Accept a workload; it runs as soon as a server has the GPUs free.",
    )
    cancel_workload: CancelWorkloadPayload = strawberry.mutation(
        resolver=cancel_workload,
        description="Cancel a pending or running workload. What it has already written elsewhere stays.",
    )
    cancel_workloads: CancelWorkloadsPayload = strawberry.mutation(
        resolver=cancel_workloads, description="As `cancelWorkload`, for each of several."
    )
    retry_workload: RetryWorkloadPayload = strawberry.mutation(
        resolver=retry_workload,
        description="Submit an ended workload's request once more, as a workload of its own.",
    )
    retry_workloads: RetryWorkloadsPayload = strawberry.mutation(
        resolver=retry_workloads, description="As `retryWorkload`, for each of several."
    )
    hold_workload: HoldWorkloadPayload = strawberry.mutation(
        resolver=hold_workload,
        description="Keep a workload that waits from being placed until it is released.",
    )
    hold_workloads: HoldWorkloadsPayload = strawberry.mutation(
        resolver=hold_workloads, description="As `holdWorkload`, for each of several."
    )
    release_workload: ReleaseWorkloadPayload = strawberry.mutation(
        resolver=release_workload,
        description="Let a held workload be placed again. The time it was held does not count as waiting.",
    )
    release_workloads: ReleaseWorkloadsPayload = strawberry.mutation(
        resolver=release_workloads, description="As `releaseWorkload`, for each of several."
    )
    delete_workload: DeleteWorkloadPayload = strawberry.mutation(
        resolver=delete_workload,
        description="Take an ended workload out of the lists. Nothing of it is lost, and it can be restored.",
    )
    delete_workloads: DeleteWorkloadsPayload = strawberry.mutation(
        resolver=delete_workloads, description="As `deleteWorkload`, for each of several."
    )
    restore_workload: RestoreWorkloadPayload = strawberry.mutation(
        resolver=restore_workload, description="Put a deleted workload back into the lists."
    )
    restore_workloads: RestoreWorkloadsPayload = strawberry.mutation(
        resolver=restore_workloads, description="As `restoreWorkload`, for each of several."
    )
    create_project: CreateProjectPayload = strawberry.mutation(
        resolver=create_project, description="Create a project. Owners and admins may."
    )
    rename_project: RenameProjectPayload = strawberry.mutation(
        resolver=rename_project, description="Give a project another name. Owners and admins may."
    )
    set_member: SetMemberPayload = strawberry.mutation(
        resolver=set_member, description="Give a person a role in an organization. Owners may."
    )
    remove_member: RemoveMemberPayload = strawberry.mutation(
        resolver=remove_member, description="Take a person's role away. Owners may; the last owner stays."
    )
    create_token: CreateTokenPayload = strawberry.mutation(
        resolver=create_token,
        description="Make a token of one's own, or as an owner one of a service. Needs the scope `organization:admin`.",
    )
    revoke_token: RevokeTokenPayload = strawberry.mutation(
        resolver=revoke_token, description="Revoke a token of one's own, or as an owner one of a service."
    )
