"""How many statements reading costs: as many for one workload as for hundreds, whatever of them is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type

from app.domain.lifecycle import place
from app.domain.people import Role, Scope
from app.domain.volumes import Volume, VolumeKind
from app.graphql.schema import schema
from app.store import mapping, people, servers, volumes
from app.store.models import AttemptRow, EventRow, WorkloadRow
from tests.api.test_reading import statements
from tests.api.test_reports import send
from tests.api.world import Api
from tests.clock import START
from tests.placement.builders import node
from tests.reports import a_holder, a_report, an_inventory
from tests.store.builders import CLUSTER, GPU, SERVER, a_new_workload

TYPES = schema._schema.type_map
# What an organization has, and the most of it that one request may ask for with everything in it.
NESTED = {
    "project": 500,
    "gpuRequirements": 500,
    "attempts": 500,
    "envVars": 500,
    "labels": 500,
    "mounts": 500,
    "events": 90,
    "waits": 200,
    "waitTotals": 220,
    "devices": 500,
}
PAGE = '{ organization(slug: "acme") { workloads(first: %d) { totalCount edges { node { id %s } } } } }'


def leaves(type_name: str) -> str:
    """The fields of a type that need no selection of their own."""
    kind = TYPES[type_name]
    assert isinstance(kind, GraphQLObjectType)
    return " ".join(name for name, field in kind.fields.items() if is_leaf_type(get_named_type(field.type)))


def nested(type_name: str) -> dict[str, str]:
    """The fields that lead to objects, by name: what they lead to."""
    kind = TYPES[type_name]
    assert isinstance(kind, GraphQLObjectType)
    types = {name: get_named_type(field.type) for name, field in kind.fields.items()}
    return {name: found.name for name, found in types.items() if isinstance(found, GraphQLObjectType)}


async def store(api: Api, count: int) -> None:
    """So many workloads, each with a project, an attempt and two events."""
    organization, project = api.organizations["acme"], api.projects["vision"].id
    made = [a_new_workload(organization, spec={"project_id": project}) for _ in range(count)]
    await WorkloadRow.bulk_create([WorkloadRow(**mapping.workload_values(noun)) for noun in made])
    attempts = [place(noun, SERVER, GPU, START, CLUSTER).attempt for noun in made]
    await AttemptRow.bulk_create([AttemptRow(**mapping.attempt_values(it)) for it in attempts if it])
    numbered = enumerate([noun for noun in made for _ in range(2)], 1)
    await EventRow.bulk_create([_event(noun, number) for number, noun in numbered])


def _event(noun: Any, number: int) -> EventRow:
    return EventRow(
        organization_id=noun.organization_id,
        sequence=number,
        workload_id=noun.id,
        type="submitted",
        status=noun.status.value,
        phase=noun.phase.value,
        reason=noun.reason.value,
        message="",
        at=START,
        attempt=0,
    )


async def cost(api: Api, query: str, who: str = "service") -> tuple[int, Any]:
    with statements() as sent:
        answer = await api.data(query, who=who)
    return len(sent), answer["organization"]


def test_every_list_below_a_workload_is_counted():
    # Logs and curves are read one by one; a request may ask for ten logs and a few dozen curves. `queue` is kept.
    assert set(nested("Workload")) == {*NESTED, "log", "metrics", "queue"}
    assert nested("WorkloadEvent") == {"workload": "Workload"}
    assert nested("Attempt") == {"devices": "GpuHolding"}


@pytest.mark.parametrize("field", NESTED)
async def test_a_page_costs_the_same_for_any_number_of_workloads(api: Api, field: str):
    await store(api, 500)
    inside = f"{field} {{ {leaves(nested('Workload')[field])} }}"
    costs = [await cost(api, PAGE % (size, inside)) for size in (1, 50, NESTED[field])]
    assert [len(found["workloads"]["edges"]) for _, found in costs] == [1, 50, NESTED[field]]
    assert len({count for count, _ in costs}) == 1
    assert costs[0][0] <= 6  # the token, the organization, its servers, the page, its count, the field


async def test_workloads_of_events_of_workloads_are_read_at_once(api: Api):
    await store(api, 20)
    one, many = [
        (await cost(api, PAGE % (size, "events { workload { name project { slug } attempts { number } } }")))[0]
        for size in (1, 20)
    ]
    assert one == many == 9


async def add_thirty(api: Api) -> None:
    """Of everything else that an organization has."""
    acme = api.organizations["acme"]
    for number in range(30):
        user_id = (await people.add_user(f"person{number}@example.org", "", START)).id
        await people.set_membership(acme.id, user_id, Role.MEMBER, START)
        await people.add_project(acme.id, f"project{number}", "", START)
        scopes, secret_hash = frozenset([Scope.WORKLOADS_READ]), f"{number}"
        await people.add_token(secret_hash, "", scopes, START, organization_id=acme.id, role=Role.ADMIN)
        await volumes.add_volume(Volume(acme.id, f"volume{number}", VolumeKind.PVC, "claim"), START)
    await servers.record_nodes("east", [(node(f"gpu-{number}", 8), "acme") for number in range(30)], START)


LISTS = {"projects": "Project", "members": "Member", "tokens": "Token", "servers": "Server", "volumes": "Volume"}


async def test_an_organizations_lists_cost_the_same_at_any_length(api: Api):
    queries = {name: f"{name} {{ {leaves(kind)} }}" for name, kind in LISTS.items()}
    others = {"workload", "workloads", "gpu", "gpus", "telemetry", "usage"}
    assert set(nested("Organization")) == {*LISTS, *others}

    async def costs() -> dict[str, tuple[int, int]]:
        """Statements and entries, by the list's name."""
        found = {}
        for name, query in queries.items():
            statements_sent, organization = await cost(api, f'{{ organization(slug: "acme") {{ {query} }} }}', "owner")
            found[name] = statements_sent, len(organization[name])
        return found

    few = await costs()
    await add_thirty(api)
    many = await costs()
    assert {name: sent for name, (sent, _) in few.items()} == {name: sent for name, (sent, _) in many.items()}
    assert all(many[name][1] == few[name][1] + 30 for name in LISTS)


async def test_gpus_and_who_has_them_cost_the_same_for_any_number_of_them(api: Api):
    time = 'start: "2026-11-30T12:00:00Z", end: "2026-11-30T13:00:00Z"'
    inside = f"uuid holders {{ pod workload {{ name }} }} metrics(types: [GPU_POWER], {time}) {{ values {{ value }} }}"
    servers_too = "servers { name agent { version } gpus { uuid } }"
    query = f'{{ organization(slug: "acme") {{ gpus {{ {inside} }} {servers_too} }} }}'
    costs = []
    for sequence, count in ((1, 1), (2, 32)):
        held = tuple(a_holder(f"pod-{number}", number) for number in range(count))
        await send(api, a_report(sequence, inventory=an_inventory(count), holders=held))
        sent, found = await cost(api, query)
        assert len(found["gpus"]) == count
        costs.append(sent)
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("given", "statements_sent"),
    [("", 4), ("offset: 3", 5), ("sortBy: EXIT_CODE", 5), ('search: "x"', 5), ('filterBy: ["gpuCount>=1"]', 4)],
)
async def test_what_a_list_costs(api: Api, given: str, statements_sent: int):
    """The token, the organization, its servers, the page; behind an offset its ids first; what lacks a value last."""
    await store(api, 60)
    arguments = ", ".join(part for part in ("first: 50", given) if part)
    query = f'{{ organization(slug: "acme") {{ workloads({arguments}) {{ edges {{ node {{ id }} }} }} }} }}'
    assert (await cost(api, query))[0] == statements_sent
