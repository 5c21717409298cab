"""Mutation: one input and one payload type each. Those that are told apart by their command alone are made here."""

from __future__ import annotations

import strawberry

from app.commands.cancel_workload import cancel_workload
from app.commands.delete_workload import delete_workload
from app.commands.hold_workload import hold_workload
from app.commands.restore_workload import restore_workload
from app.commands.resume_workload import resume_workload as resume
from app.commands.suspend_workload import suspend_workload
from app.graphql.mutations import members, projects, servers, tokens
from app.graphql.mutations import prioritize_workload as prioritize
from app.graphql.mutations import retry_workload as retry
from app.graphql.mutations.change import on_workloads
from app.graphql.mutations.report_server import report_server
from app.graphql.mutations.submit_workload import submit_workload


@strawberry.type(description="What can be done. The forms in the plural take up to 100 ids and report on each.")
class Mutation:
    submit_workload = strawberry.mutation(
        resolver=submit_workload,
        description="Accept a workload; it runs as soon as a server has the GPUs free.",
    )
    cancel_workload, cancel_workloads = on_workloads(
        "cancel",
        cancel_workload,
        "Cancel a pending or running workload. What it has already written elsewhere stays.",
        "Cancelled, or STOPPING until the cluster confirms.",
    )
    retry_workload = strawberry.mutation(
        resolver=retry.retry_workload,
        description="Submit an ended workload's request once more, as a workload of its own.",
    )
    retry_workloads = retry.retry_workloads
    suspend_workload, suspend_workloads = on_workloads(
        "suspend",
        suspend_workload,
        "Keep a workload from the GPUs until it is resumed. What runs is sent SIGTERM and stopped; nothing in its "
        "container is kept.",
        "With phase SUSPENDED, or STOPPING until the cluster confirms.",
    )
    resume_workload, resume_workloads = on_workloads(
        "resume",
        resume,
        "Let a suspended workload be placed again; what had run starts anew. The time it was suspended does not count "
        "as waiting.",
        "Waiting for a server again.",
    )
    hold_workload, hold_workloads = on_workloads(
        "hold",
        hold_workload,
        "Suspend a workload that waits; what is under way is left alone.",
        "With phase SUSPENDED.",
        instead="suspend",
    )
    release_workload, release_workloads = on_workloads(
        "release",
        resume,
        "Let a held workload be placed again. The time it was held does not count as waiting.",
        "Waiting for a server again.",
        instead="resume",
    )
    prioritize_workload = strawberry.mutation(
        resolver=prioritize.prioritize_workload,
        description="Give a workload another priority. It has another place in the queue at once.",
    )
    prioritize_workloads = strawberry.mutation(
        resolver=prioritize.prioritize_workloads,
        description="As `prioritizeWorkload`, for each of several.",
    )
    delete_workload, delete_workloads = on_workloads(
        "delete",
        delete_workload,
        "Take an ended workload out of the lists. Nothing of it is lost, and it can be restored.",
        "With `deletedAt` set.",
    )
    restore_workload, restore_workloads = on_workloads(
        "restore",
        restore_workload,
        "Put a deleted workload back into the lists.",
        "With `deletedAt` null.",
    )
    create_project = strawberry.mutation(
        resolver=projects.create_project, description="Create a project. Owners and admins may."
    )
    rename_project = strawberry.mutation(
        resolver=projects.rename_project, description="Give a project another name. Owners and admins may."
    )
    set_project_quota = strawberry.mutation(
        resolver=projects.set_project_quota,
        description="Say how many GPUs a project is guaranteed, and may use at most. Owners and admins may.",
    )
    set_member = strawberry.mutation(
        resolver=members.set_member, description="Give a person a role in an organization. Owners may."
    )
    remove_member = strawberry.mutation(
        resolver=members.remove_member, description="Take a person's role away. Owners may; the last owner stays."
    )
    create_token = strawberry.mutation(
        resolver=tokens.create_token,
        description="Make a token of one's own, or as an owner one of a service. Needs the scope `organization:admin`.",
    )
    revoke_token = strawberry.mutation(
        resolver=tokens.revoke_token, description="Revoke a token of one's own, or as an owner one of a service."
    )
    cordon_server = strawberry.mutation(
        resolver=servers.cordon_server,
        description="Keep new workloads off a server; what runs there goes on. Owners and admins may.",
    )
    uncordon_server = strawberry.mutation(
        resolver=servers.uncordon_server,
        description="Let workloads be placed on a server again. Owners and admins may.",
    )
    report_server = strawberry.mutation(
        resolver=report_server,
        description="What a node agent knows of its server. For agents' tokens, which can do nothing else.",
    )
