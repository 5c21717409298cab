"""Numbers that a field is asked with: whatever does not fit is wrong input, and every such argument is tried."""

from __future__ import annotations

import graphql
import pytest

from app.graphql.schema import schema
from tests.api.world import Api
from tests.store.builders import a_stored_workload

SCHEMA = graphql.build_schema(schema.as_str())
NUMBERS = {
    ("workloads", "first"): "{ workloads(first: $n) { totalCount } }",
    ("workloads", "offset"): "{ workloads(offset: $n) { totalCount } }",
    ("log", "attempt"): "{ workload(id: $id) { log(attempt: $n) { text } } }",
    ("log", "tailLines"): "{ workload(id: $id) { log(tailLines: $n) { text } } }",
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
    for asked in NUMBERS.values():
        variables = "$n: Int!, $id: UUID!" if "$id" in asked else "$n: Int!"
        document = f'query({variables}) {{ organization(slug: "acme") {asked} }}'
        error = await api.refusal(document, {"n": number, "id": str(workload.id)})
        assert error["code"] == "BAD_USER_INPUT", (asked, error)
