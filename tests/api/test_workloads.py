"""The list of workloads: pages that stay stable under inserts, bounds, cursors, filters, the count."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from app.domain.filters import NEWEST
from app.domain.workload import Resources
from app.graphql.cursors import event_cursor
from app.store.cursors import workload_cursor
from app.store.listing import Position
from tests.api.world import CANCEL, PAGE, Api
from tests.clock import START
from tests.store.builders import a_stored_workload


async def fill(api: Api, count: int, *, at_once: int = 1) -> list[str]:
    """Ids, newest first. `at_once` of them share each moment."""
    moments = [START + timedelta(seconds=i // at_once) for i in range(count)]
    made = [await a_stored_workload(api.organizations["acme"], created_at=moment) for moment in moments]
    return [str(w.id) for w in sorted(made, key=lambda w: (w.created_at, w.id), reverse=True)]


async def page(api: Api, **wanted: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await api.data(PAGE, {"org": "acme", **wanted}))["organization"]["workloads"]
    return found


def ids(found: dict[str, Any]) -> list[str]:
    return [edge["node"]["id"] for edge in found["edges"]]


async def test_an_empty_list(api: Api):
    found = await page(api)
    assert (found["totalCount"], found["edges"]) == (0, [])
    assert found["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startCursor": None,
        "endCursor": None,
    }


async def test_pages_go_from_the_newest_to_the_oldest(api: Api):
    made = await fill(api, 7, at_once=3)
    seen: list[str] = []
    after, flags = None, []
    while True:
        found = await page(api, first=3, after=after)
        seen += ids(found)
        flags.append((found["pageInfo"]["hasPreviousPage"], found["pageInfo"]["hasNextPage"]))
        assert found["totalCount"] == 7
        assert [found["edges"][0]["cursor"], found["edges"][-1]["cursor"]] == [
            found["pageInfo"]["startCursor"],
            found["pageInfo"]["endCursor"],
        ]
        after = found["pageInfo"]["endCursor"]
        if not found["pageInfo"]["hasNextPage"]:
            break
    assert seen == made
    assert flags == [(False, True), (True, True), (True, False)]


async def test_what_is_submitted_meanwhile_moves_no_page(api: Api):
    made = await fill(api, 6)
    first = await page(api, first=3)
    api.clock.advance(60)
    for _ in range(3):
        await api.submit()
    second = await page(api, first=3, after=first["pageInfo"]["endCursor"])
    assert ids(first) + ids(second) == made
    assert second["totalCount"] == 9


async def test_a_cursor_outlives_its_workloads_change(api: Api):
    made = await fill(api, 3)
    first = await page(api, first=1)
    await api.data(CANCEL, {"id": made[0]})
    assert ids(await page(api, first=5, after=first["pageInfo"]["endCursor"])) == made[1:]


async def test_behind_the_last_comes_nothing(api: Api):
    await fill(api, 2)
    found = await page(api, after=(await page(api))["pageInfo"]["endCursor"])
    assert (found["edges"], found["totalCount"]) == ([], 2)
    assert (found["pageInfo"]["hasPreviousPage"], found["pageInfo"]["hasNextPage"]) == (True, False)


async def test_a_page_has_fifty_unless_told(api: Api):
    made = await fill(api, 51)
    query = '{ organization(slug: "acme") { workloads { edges { node { id } } pageInfo { hasNextPage } } } }'
    found = (await api.data(query))["organization"]["workloads"]
    assert ids(found) == made[:50]
    assert found["pageInfo"]["hasNextPage"]


@pytest.mark.parametrize(("first", "is_taken"), [(1, True), (500, True), (0, False), (501, False), (-1, False)])
async def test_the_size_of_a_page_is_bounded(api: Api, first: int, is_taken: bool):
    answer = await api.ask(PAGE, {"org": "acme", "first": first})
    if is_taken:
        assert "errors" not in answer
        return
    [error] = answer["errors"]
    message = f"must be between 1 and 500; it is {first}"
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "fields": [{"field": "first", "message": message}]}


def forged(*parts: object) -> str:
    return urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


ZERO = UUID(int=0).hex
BY = ("w", "createdAt", True)
MALFORMED = [
    "",
    "x",
    "é",
    "\0",
    "A" * 100_000,
    event_cursor(UUID(int=1), 5),
    workload_cursor(NEWEST, Position(START, UUID(int=1))) + "=",
    workload_cursor(NEWEST, Position(START, UUID(int=1))) + "\n",
    forged(*BY, "2026-01-01T00:00:00", ZERO),
    forged(*BY, "2026-01-01T00:00:00+01:00", ZERO),
    forged(*BY, "0001-01-01T00:00:00+23:59", ZERO),
    forged(*BY, "2026-01-01T00:00:00+00:00", f"{{{ZERO}}}"),
    forged(*BY, "2026-01-01T00:00:00+00:00", ZERO, ""),
    forged("w", "message", True, "x", ZERO),
    forged("w", "gpuCount", True, 2**31, ZERO),
    forged("w", "gpuCount", True, True, ZERO),
    forged("w", "name", True, "a\0b", ZERO),
    forged("w", "name", 1, "a", ZERO),
    forged("w", "gpuCount", True, "a", ZERO),
    forged("w", "status", True, "no status", ZERO),
    forged("w", "name", True, "a" * 101, ZERO),
    forged("w", "imageReference", True, "a" * 701, ZERO),
    urlsafe_b64encode(b"[" * 4500).decode(),
    forged("w", [], True, "a", ZERO),
    forged("x", "createdAt", True, "2026-01-01T00:00:00+00:00", ZERO),
]


@pytest.mark.parametrize("cursor", MALFORMED, ids=range(len(MALFORMED)))
async def test_a_cursor_that_was_not_given_out_is_refused(api: Api, cursor: str):
    error = await api.refusal(PAGE, {"org": "acme", "after": cursor})
    assert error["code"] == "BAD_USER_INPUT"
    assert [problem["field"] for problem in error["fields"]] == ["after"]
    assert "is not a cursor that this field gave out" in error["message"]


async def test_only_the_wanted_statuses(api: Api):
    made = await fill(api, 4)
    await api.data(CANCEL, {"id": made[1]})
    for statuses, expected in (
        (["CANCELLED"], [made[1]]),
        (["PENDING"], [made[0], *made[2:]]),
        (["PENDING", "CANCELLED"], made),
        (["RUNNING"], []),
        ([], []),
        (None, made),
    ):
        found = await page(api, status=statuses)
        assert (ids(found), found["totalCount"]) == (expected, len(expected))


async def test_filtered_pages_go_on_behind_their_cursor(api: Api):
    made = await fill(api, 5)
    await api.data(CANCEL, {"id": made[2]})
    first = await page(api, first=2, status=["PENDING"])
    second = await page(api, first=2, status=["PENDING"], after=first["pageInfo"]["endCursor"])
    assert ids(first) + ids(second) == [*made[:2], *made[3:]]


async def test_other_organizations_workloads_are_not_in_the_list(api: Api):
    await a_stored_workload(api.organizations["other"])
    [mine] = await fill(api, 1)
    assert ids(await page(api)) == [mine]


COUNT = """
query($org: String!, $filterBy: [String!], $search: String) {
  organization(slug: $org) { workloadsCount(filterBy: $filterBy, search: $search) }
}
"""


async def named(api: Api, **gpus: int) -> dict[str, str]:
    """Ids of pending workloads by their names."""
    acme = api.organizations["acme"]
    made = {
        name: await a_stored_workload(
            acme,
            created_at=START + timedelta(seconds=i),
            spec={"name": name, "resources": Resources(count, 1000, 2**30)},
        )
        for i, (name, count) in enumerate(gpus.items())
    }
    return {name: str(workload.id) for name, workload in made.items()}


async def test_filters_search_and_order_work_together_with_the_count(api: Api):
    made = await named(api, train_a=4, train_b=1, evaluate=8, train_c=2)
    found = await page(
        api, filterBy=["gpuCount>=2", "status==PENDING"], search="TRAIN", sortBy="GPU_COUNT", sortOrder="ASC"
    )
    assert ids(found) == [made["train_c"], made["train_a"]]
    assert found["totalCount"] == 2
    answer = await api.data(COUNT, {"org": "acme", "filterBy": ["gpuCount>=2"]})
    assert answer["organization"]["workloadsCount"] == 3


async def test_sort_orders_and_offsets(api: Api):
    made = await named(api, b=1, a=2, c=3)
    in_order = [made[name] for name in "abc"]
    assert ids(await page(api, sortBy="NAME")) == in_order
    assert ids(await page(api, sortBy="NAME", sortOrder="DESC")) == in_order[::-1]
    assert ids(await page(api, sortOrder="ASC")) == [made[name] for name in "bac"]
    assert ids(await page(api)) == [made[name] for name in "cab"]
    second = await page(api, sortBy="NAME", first=1, offset=1)
    assert (ids(second), second["pageInfo"]["hasPreviousPage"]) == ([made["b"]], True)
    assert ids(await page(api, sortBy="NAME", after=second["pageInfo"]["endCursor"])) == [made["c"]]


async def test_a_cursor_of_another_order_is_refused_with_both_named(api: Api):
    await named(api, a=1, b=1)
    cursor = (await page(api, first=1))["pageInfo"]["endCursor"]
    error = await api.refusal(PAGE, {"org": "acme", "after": cursor, "sortBy": "NAME"})
    assert error["code"] == "BAD_USER_INPUT"
    assert "from a list in the order createdAt DESC; this one is in the order name ASC" in error["message"]


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        ({"filterBy": ["gpuCount>=two"]}, "filterBy[0]", "at character 11: expected a whole number"),
        ({"filterBy": ["name==a", "colour==red"]}, "filterBy[1]", "there is no field 'colour'"),
        ({"search": "x" * 201}, "search", "at most 5 words and 200 characters"),
        ({"filterBy": ["submittedBy!=" + "x" * 255]}, "filterBy[0]", "at most 254 characters"),
        ({"offset": -1}, "offset", "must be between 0 and 1000000; it is -1"),
    ],
)
async def test_what_cannot_be_understood_is_refused_with_its_place(
    api: Api, wanted: dict[str, Any], field: str, words: str
):
    error = await api.refusal(PAGE, {"org": "acme", **wanted})
    assert error["code"] == "BAD_USER_INPUT"
    assert [problem["field"] for problem in error["fields"]] == [field]
    assert words in error["message"]
