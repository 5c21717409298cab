"""The schema keeps what the released one promises: graphql/released.graphql is compared with what the code prints."""

from __future__ import annotations

import tomllib

import pytest

from app.graphql.schema import schema
from tests.house import tree
from tests.house.schema_changes import WHAT_TO_DO, Break, complaints, dangers, vague_deprecations

RELEASED = """
type Query { job(id: ID!, first: Int): Job jobs(state: State = OPEN): [Job!]! }
type Job { id: ID! state: State! price: Int name: String }
enum State { OPEN CLOSED LOST }
input JobInput { name: String }
type Mutation { submit(input: JobInput!): Job! }
"""
CHANGELOG = "### Removed\n- The price of a job: nobody ever filled it in.\n"


def unreleased() -> str:
    text = (tree.ROOT / "CHANGELOG.md").read_text()
    return text.partition("\n## [Unreleased]\n")[2].partition("\n## [")[0]


def test_nothing_that_was_released_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    released = (tree.ROOT / "graphql" / "released.graphql").read_text()
    meant = [Break(**e) for e in tomllib.loads((tree.ROOT / "graphql/breaks.toml").read_text()).get("break", ())]
    if told := dangers(released, schema.as_str()):
        with capsys.disabled():
            print(f"\n{tree.report(told, 'changes of the schema that a client may stumble over')}")  # noqa: T201
    found = complaints(released, schema.as_str(), meant, unreleased())
    assert not found, tree.report(found, WHAT_TO_DO)


def test_every_deprecation_names_its_replacement_and_its_end() -> None:
    found = vague_deprecations(schema.as_str())
    advice = "word these as 'Use `Type.field`, because …. May go from 1.2.0.', with a replacement that exists"
    assert not found, tree.report(found, advice)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("price: Int ", "", "Field Job.price was removed."),
        ("first: Int)", "first: Int!)", "Argument Query.job(first:) has changed type from Int to Int!."),
        ("first: Int)", "first: Int, after: ID!)", "A required argument Query.job(after:) was added."),
        (", first: Int)", ")", "Argument Query.job(first:) was removed."),
        (" LOST", "", "Enum value State.LOST was removed."),
        ("price: Int", "price: Float", "Field Job.price changed type from Int to Float."),
        ("state: State!", "state: State", "Field Job.state changed type from State! to State."),
        ("{ name: String }", "{ name: String! }", "Field JobInput.name changed type from String to String!."),
        ("{ name: String }", "{ name: String size: Int! }", "A required field JobInput.size was added."),
        ("type Mutation { submit(input: JobInput!): Job! }", "", "Mutation was removed."),
    ],
)
def test_a_break_is_told(old: str, new: str, said: str) -> None:
    assert old in RELEASED
    assert f"  {said}" in complaints(RELEASED, RELEASED.replace(old, new), [], CHANGELOG)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: String }", "name: String! }\ntype More { id: ID }"),
        ("price: Int", 'price: Int @deprecated(reason: "Use `Job.name`. May go from 1.0.0.")'),
        ("first: Int)", "first: Int, last: Int)"),
        ("{ name: String }", "{ name: String size: Int = 1 }"),
    ],
)
def test_what_adds_or_deprecates_is_no_break(old: str, new: str) -> None:
    assert complaints(RELEASED, RELEASED.replace(old, new, 1), [], CHANGELOG) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (" LOST", " LOST FOUND", "FOUND"),
        ("first: Int)", "first: Int, last: Int)", "last"),
        ("= OPEN", "= CLOSED", "state"),
        ("{ name: String }", "{ name: String size: Int }", "size"),
    ],
)
def test_what_a_client_may_stumble_over_is_told(old: str, new: str, said: str) -> None:
    assert any(said in line for line in dangers(RELEASED, RELEASED.replace(old, new)))
    assert dangers(RELEASED, RELEASED) == []


GONE = RELEASED.replace("price: Int ", "")
PRICE = Break("Field Job.price was removed.", "never filled in", "The price of a job")


@pytest.mark.parametrize(
    ("current", "meant", "said"),
    [
        (GONE, PRICE, None),
        (RELEASED, PRICE, "no such break"),
        (GONE, Break(PRICE.change, " ", PRICE.changelog), "say why"),
        (GONE, Break(PRICE.change, PRICE.reason, "cost"), "CHANGELOG.md says nothing like 'cost'"),
        (GONE, Break(PRICE.change, PRICE.reason, ""), "CHANGELOG.md says nothing like ''"),
    ],
)
def test_a_break_may_be_meant_with_a_reason_and_a_line_in_the_changelog(
    current: str, meant: Break, said: str | None
) -> None:
    found = complaints(RELEASED, current, [meant], CHANGELOG)
    assert (found == []) if said is None else (len(found) == 1 and said in found[0])


@pytest.mark.parametrize(
    ("reason", "is_fine"),
    [
        ("Use `Job.name`. May go from 1.0.0.", True),
        ("Use `Job.name`, which says more. May go from 1.0.0.", True),
        ("Use `State.OPEN`. May go from 1.0.0.", True),
        ("Use `Job.nothing`. May go from 1.0.0.", False),
        ("Use `Job.name`.", False),
        ("May go from 1.0.0.", False),
        ("No longer supported", False),
    ],
)
@pytest.mark.parametrize("place", ["price: Int", "first: Int", "LOST", "{ name: String"])
def test_a_deprecation_says_what_to_use_and_until_when(place: str, reason: str, is_fine: bool) -> None:
    sdl = RELEASED.replace(place, f'{place} @deprecated(reason: "{reason}")', 1)
    assert (vague_deprecations(sdl) == []) is is_fine
