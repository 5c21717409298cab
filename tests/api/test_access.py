"""Who may what: every root field, every field of an organization, every mutation and subscription, for every caller.

The tables name them all; a field that is added to the schema and not to a table fails here.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import graphql
import pytest

from app.graphql.schema import schema
from app.store import servers
from tests.api.talk import answer_to
from tests.api.world import Api, written
from tests.reports import a_report, an_inventory, as_input
from tests.store.builders import a_stored_workload

SCHEMA = graphql.build_schema(schema.as_str())
PEOPLE = frozenset({"viewer", "member", "admin", "owner", "reader", "manager", "service"})
CALLERS = (None, *sorted(PEOPLE), "stranger", "agent")
MANAGERS = frozenset({"admin", "owner", "service", "reader"})  # who read workloads; `reader` has no other scope
WRITERS = frozenset({"admin", "owner", "service"})
MANAGERS_OF_THINGS = frozenset({"admin", "owner", "service", "manager"})
OWNERS = frozenset({"owner"})

# Who may try out a request is in tests/api/test_dry_run.py.
ROOT = {"viewer": PEOPLE | {"stranger"}, "organization": PEOPLE, "dryRun": WRITERS}
FIELDS = {
    **dict.fromkeys(("id", "slug", "name", "gpuWorkloadsEnabled", "role", "projects"), PEOPLE),
    **dict.fromkeys(
        ("servers", "gpus", "gpu", "telemetry", "usage", "volumes", "workload", "workloads", "workloadsCount"), MANAGERS
    ),
    **dict.fromkeys(("members", "tokens"), OWNERS),
}
MUTATIONS = {
    **dict.fromkeys(
        [
            "submitWorkload",
            *(
                f"{verb}Workload{s}"
                for verb in (
                    "cancel",
                    "suspend",
                    "resume",
                    "hold",
                    "release",
                    "prioritize",
                    "retry",
                    "delete",
                    "restore",
                )
                for s in ("", "s")
            ),
        ],
        WRITERS,
    ),
    **dict.fromkeys(
        ("createProject", "renameProject", "setProjectQuota", "cordonServer", "uncordonServer"), MANAGERS_OF_THINGS
    ),
    **dict.fromkeys(("setMember", "removeMember", "createToken", "revokeToken"), OWNERS),
    "reportServer": frozenset({"agent"}),
}
SUBSCRIPTIONS = dict.fromkeys(("workloadEvents", "workloadStatus", "workloadLogs", "servers"), MANAGERS)
ARGUMENTS = {
    **dict.fromkeys(("workload", "gpu"), f'(id: "{UUID(int=1)}")'),
    "telemetry": "(type: FREE_GPUS)",
    "usage": '(start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z")',
}
ALLOWED_CODES = frozenset({None, "CONFLICT"})


def names(kind: str) -> set[str]:
    found = SCHEMA.type_map[kind]
    assert isinstance(found, graphql.GraphQLObjectType)
    return set(found.fields)


def test_the_tables_name_everything():
    assert set(ROOT) == names("Query")
    assert set(FIELDS) == names("Organization")
    assert set(MUTATIONS) == names("Mutation")
    assert set(SUBSCRIPTIONS) == names("Subscription")


def selection(named: graphql.GraphQLNamedType) -> str:
    """The plain fields of an object, or of the first object in it."""
    if not isinstance(named, graphql.GraphQLObjectType):
        return ""
    plain = [
        name for name, f in named.fields.items() if graphql.is_leaf_type(graphql.get_named_type(f.type)) and not f.args
    ]
    if plain:
        return "{ " + " ".join(plain[:3]) + " }"
    name, inner = next(iter(named.fields.items()))
    return f"{{ {name} {selection(graphql.get_named_type(inner.type))} }}"


def code_of(answer: dict[str, Any]) -> str | None:
    errors = answer.get("errors") or []
    return str(errors[0]["extensions"]["code"]) if errors else None


def refusal_code(who: str | None, *, is_by_id: bool) -> set[str]:
    if who is None:
        return {"UNAUTHENTICATED"}
    if who == "agent":
        return {"FORBIDDEN"}
    return {"NOT_FOUND"} if who == "stranger" else ({"FORBIDDEN", "NOT_FOUND"} if is_by_id else {"FORBIDDEN"})


def expected_code(name: str, who: str | None) -> set[str]:
    """Of a refused mutation. What node agents report is nobody's organization."""
    return {"FORBIDDEN"} if name == "reportServer" and who else refusal_code(who, is_by_id=name == "revokeToken")


@pytest.mark.parametrize("who", CALLERS)
async def test_who_may_read_what_of_an_organization(api: Api, who: str | None):
    organization = SCHEMA.type_map["Organization"]
    assert isinstance(organization, graphql.GraphQLObjectType)
    before = await written()
    for name, may in FIELDS.items():
        arguments = ARGUMENTS.get(name, "")
        inner = selection(graphql.get_named_type(organization.fields[name].type))
        answer = await api.ask(f'{{ organization(slug: "acme") {{ {name}{arguments} {inner} }} }}', who=who)
        expected = {None} if who in may else refusal_code(who, is_by_id=False)
        assert code_of(answer) in expected, (name, who, answer)
    assert await written() == before


@pytest.mark.parametrize("who", CALLERS)
async def test_who_may_ask_at_all(api: Api, who: str | None):
    answer = await api.ask("{ viewer { name } }", who=who)
    assert {code_of(answer)} == ({None} if who in ROOT["viewer"] else refusal_code(who, is_by_id=False))


async def inputs(api: Api) -> dict[str, dict[str, Any]]:
    """An input for every mutation that would be fine, or a conflict, for whoever may."""
    workload = await a_stored_workload(api.organizations["acme"])
    server = (await servers.servers_of("acme"))[0]
    ids, ones = {"ids": [str(workload.id)]}, {"id": str(workload.id)}
    return {
        **{name: ids if name.endswith("s") else ones for name in MUTATIONS if "Workload" in name},
        "submitWorkload": {"organization": "acme", "image": "busybox:1.36"},
        "prioritizeWorkload": {**ones, "priority": "LOW"},
        "prioritizeWorkloads": {**ids, "priority": "LOW"},
        "createProject": {"organization": "acme", "slug": f"p{uuid4().hex[:8]}"},
        "renameProject": {"id": str(api.projects["vision"].id), "name": "x", "version": 1},
        "setProjectQuota": {"id": str(api.projects["vision"].id), "maxGpus": 1, "version": 1},
        "cordonServer": {"id": str(server.id), "reason": "fans"},
        "uncordonServer": {"id": str(server.id)},
        "setMember": {"organization": "acme", "email": "viewer@example.org", "role": "VIEWER"},
        "removeMember": {"organization": "acme", "email": "member@example.org"},
        "createToken": {"organization": "acme", "name": "x"},
        "revokeToken": {"id": str(api.token_ids["service"])},
        "reportServer": as_input(a_report(inventory=an_inventory())),
    }


def outcome_code(answer: dict[str, Any], name: str) -> str | None:
    """Of a mutation on many: what became of the one."""
    payload = (answer.get("data") or {}).get(name)
    outcomes = payload.get("outcomes") if payload else None
    if not outcomes:
        return code_of(answer)
    error = outcomes[0]["error"]
    return str(error["code"]) if error else None


@pytest.mark.parametrize("who", CALLERS)
async def test_who_may_change_what_and_a_refusal_writes_only_its_note(api: Api, who: str | None):
    mutation = SCHEMA.type_map["Mutation"]
    assert isinstance(mutation, graphql.GraphQLObjectType)
    for name, wanted in (await inputs(api)).items():
        kind = f"{name[0].upper()}{name[1:]}Input"
        inner = "{ outcomes { error { code } } }" if name.endswith("Workloads") else "{ __typename }"
        before = await written()
        answer = await api.ask(
            f"mutation($input: {kind}!) {{ {name}(input: $input) {inner} }}", {"input": wanted}, who=who
        )
        found = outcome_code(answer, name)
        if who in MUTATIONS[name]:
            assert found in ALLOWED_CODES, (name, who, answer)
            continue
        assert found in expected_code(name, who), (name, who, answer)
        notes = 0 if who in (None, "agent") else 1
        assert await written() == {**before, "audit": before["audit"] + notes}, (name, who)


@pytest.mark.parametrize("who", [caller for caller in CALLERS if caller and caller != "agent"])
async def test_who_may_follow_what(api: Api, ws_url: str, who: str):
    workload = await a_stored_workload(api.organizations["acme"])
    await api.data(
        "mutation($id: UUID!) { cancelWorkload(input: {id: $id}) { workload { id } } }", {"id": str(workload.id)}
    )
    documents = {
        "workloadStatus": f'subscription {{ workloadStatus(id: "{workload.id}") {{ status }} }}',
        "workloadLogs": f'subscription {{ workloadLogs(id: "{workload.id}") {{ text }} }}',
        "servers": 'subscription { servers(organization: "acme") { name } }',
    }
    for name, document in documents.items():
        _, payload = await answer_to(ws_url, document, who=who)
        code = code_of(payload or {})
        assert code is None if who in SUBSCRIPTIONS[name] else code in refusal_code(who, is_by_id=False), (
            name,
            payload,
        )
