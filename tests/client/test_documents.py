"""What the command sends fits the schema."""

from __future__ import annotations

from pathlib import Path

import graphql
import pytest

from app.client.documents import FOLDER, document
from app.client.flags import SUBMISSION
from tests.docs.pages import ROOT

SCHEMA = graphql.build_schema((ROOT / "graphql" / "schema.graphql").read_text())
OWN = sorted((FOLDER / "command").glob("*.graphql"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_documents_are_valid(path: Path):
    assert graphql.validate(SCHEMA, graphql.parse(document(f"command/{path.stem}"))) == []


@pytest.mark.parametrize("path", SUBMISSION)
def test_flags_belong_to_fields(path: str):
    wanted: object = SCHEMA.type_map["SubmitWorkloadInput"]
    for name in path.split("."):
        assert isinstance(wanted, graphql.GraphQLInputObjectType)
        wanted = graphql.get_named_type(wanted.fields[name].type)
