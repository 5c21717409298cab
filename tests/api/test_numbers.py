"""Numbers that a field is asked with: whatever does not fit is wrong input, and every such argument is tried."""

from __future__ import annotations

import graphql
import pytest

from app.graphql.schema import schema
from tests.api.test_reports import send
from tests.api.world import Api
from tests.reports import a_report, an_inventory
from tests.store.builders import a_stored_workload

SCHEMA = graphql.build_schema(schema.as_str())
TIME = 'types: [GPU_POWER], start: "2026-11-30T12:00:00Z", end: "2026-11-30T13:00:00Z"'
NUMBERS = {
    ("workloads", "first"): "{ workloads(first: $n) { totalCount } }",
    ("workloads", "offset"): "{ workloads(offset: $n) { totalCount } }",
    ("log", "attempt"): "{ workload(id: $id) { log(attempt: $n) { text } } }",
    ("log", "tailLines"): "{ workload(id: $id) { log(tailLines: $n) { text } } }",
    ("metrics", "numberOfSamples"): f"{{ workload(id: $id) {{ metrics({TIME}, numberOfSamples: $n) {{ type }} }} }}",
    ("idleAllocatedGpus", "windowSeconds"): "{ workload(id: $id) { idleAllocatedGpus(windowSeconds: $n) } }",
    ("telemetry", "windowSeconds"): "{ telemetry(type: IDLE_ALLOCATED_GPUS, windowSeconds: $n) { type } }",
    ("history", "first"): "{ gpu(id: $gpu) { history(first: $n) { pod } } }",
}


def test_every_number_to_ask_an_organization_with_is_known_here():
    objects = [of for of in SCHEMA.type_map.values() if isinstance(of, graphql.GraphQLObjectType)]
    found = {
        (name, argument)
        for of in objects
        if of is not SCHEMA.subscription_type
        for name, field in of.fields.items()
        for argument, given in field.args.items()
        if graphql.get_named_type(given.type).name in ("Int", "Long", "Float")
    }
    assert found == set(NUMBERS)


@pytest.mark.parametrize("number", [-(2**63) - 1, -(2**31) - 1, -(2**31), -1, 2**31 - 1, 2**31, 2**63, 10**30])
async def test_a_number_out_of_range_is_wrong_input(api: Api, number: int):
    workload = await a_stored_workload(api.organizations["acme"])
    await send(api, a_report(inventory=an_inventory(1)))
    gpu = (await api.data('{ organization(slug: "acme") { gpus { id } } }'))["organization"]["gpus"][0]["id"]
    for asked in NUMBERS.values():
        variables = "".join(f", ${name}: UUID!" for name in ("id", "gpu") if f"${name}" in asked)
        document = f'query($n: Int!{variables}) {{ organization(slug: "acme") {asked} }}'
        error = await api.refusal(document, {"n": number, "id": str(workload.id), "gpu": gpu})
        assert error["code"] == "BAD_USER_INPUT", (asked, error)
