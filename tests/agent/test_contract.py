"""The agent carries a document of its own, as it may not import the app: both must mean the same."""

from __future__ import annotations

from graphql import GraphQLInputObjectType, GraphQLNonNull, build_schema, coerce_input_value, parse, validate

from agent.wire import DOCUMENT, request_of
from tests.agent.test_wire import REPORT
from tests.house.tree import ROOT


def test_the_document_is_the_one_that_the_service_publishes() -> None:
    assert (ROOT / "graphql/operations/agent/report_server.graphql").read_text() == DOCUMENT


def test_the_services_schema_takes_the_report() -> None:
    schema = build_schema((ROOT / "graphql" / "schema.graphql").read_text())
    assert validate(schema, parse(DOCUMENT)) == []
    kind = schema.get_type("ReportServerInput")
    assert isinstance(kind, GraphQLInputObjectType)
    coerce_input_value(request_of(REPORT)["variables"]["input"], GraphQLNonNull(kind))
