"""The list: search, filters, orders and pages, all in the address."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.domain.filters import FIELDS, SortField
from app.domain.workload import Workload
from app.panel.list_views import Added, Difference, difference
from app.panel.workload_views import RowView, row_view
from tests.domain.builders import a_workload
from tests.panel.world import LIST, Page, Panel, row_ids


async def listed(panel: Panel, **query: str) -> tuple[list[str], Page]:
    async with panel.browser() as browser:
        answer = await browser.client.get(LIST, params=query)
    assert answer.status_code == 200, answer.text[:300]
    return row_ids(answer.text), Page.of(answer.text)


async def three(panel: Panel) -> tuple[Workload, Workload, Workload]:
    """One waits, one runs, one has ended with 0; made in this order, a second apart."""
    made = []
    for name in ("b train", "a train", "c serve"):
        panel.clock.advance(1)
        made.append(await panel.workload(spec={"name": name}))
    second = await panel.running(made[1])
    panel.clock.advance(5)
    return made[0], second, await panel.ended(await panel.running(made[2]))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", [2, 1, 0]),
        ("train", [1, 0]),
        ("TRAIN gpu-1", [1]),
        ("status==running", [1]),
        ("train status!=running", [0]),
        ('name=="a train"', [1]),
        ("startedAt!= exitCode==", [1]),
        ("gpuCount>=2", []),
        ("admin-nobody", []),
    ],
)
async def test_the_box_takes_words_and_expressions(panel: Panel, typed: str, expected: list[int]):
    workloads = await three(panel)
    found, page = await listed(panel, q=typed)
    assert found == [str(workloads[i].id) for i in expected]
    assert page.value("q") == typed
    assert bool(page.all("a", href=LIST)) is True


async def test_what_is_wrong_is_said_beside_the_box_and_nothing_is_lost_or_shown(panel: Panel):
    await panel.workload()
    typed = 'train gpus>=2 "status'
    async with panel.browser() as browser:
        answer = await browser.client.get(LIST, params={"q": "train gpus>=2 status=x", "show": "live"})
        unclosed = await browser.client.get(LIST, params={"q": typed})
    page = Page.of(answer.text)
    assert (answer.status_code, unclosed.status_code) == (422, 422)
    assert "At character 7: there is no field 'gpus'; there are id, name" in page.text
    assert "At character 21: expected one of the operators == !=" in page.text
    [box] = page.all("input", id="q")
    assert (box["value"], box["aria-invalid"]) == ("train gpus>=2 status=x", "true")
    assert "q-problem" in box["aria-describedby"]
    assert page.value("show") == "live"
    assert row_ids(answer.text) == []
    assert "the search can't be understood" in page.text
    assert Page.of(unclosed.text).value("q") == typed


async def test_an_empty_result_says_so(panel: Panel):
    assert "No workloads yet" in (await listed(panel))[1].text
    await panel.workload()
    for query in ({"q": "nothing-like-it"}, {"show": "timeout"}, {"show": "deleted"}):
        found, page = await listed(panel, **query)
        assert (found, "Nothing here matches." in page.text) == ([], True)


async def test_the_search_form_keeps_filter_and_order_and_begins_at_the_first_page(panel: Panel):
    _, page = await listed(panel, q="x", show="live", sort="name")
    hidden = {a["name"]: a["value"] for a in page.all("input", type="hidden") if a["name"] in ("show", "sort", "q")}
    assert hidden == {"show": "live", "sort": "name"}
    assert page.all("a", href=f"{LIST}?show=live&sort=name")
    assert page.all("a", href=f"{LIST}?show=failed&q=x&sort=name")


async def test_help_names_every_field(panel: Panel):
    _, page = await listed(panel)
    assert [name for name in FIELDS if name not in page.text] == []


async def test_headings_sort_and_turn_around(panel: Panel):
    workloads = await three(panel)
    _, page = await listed(panel)
    assert page.all("th", **{"aria-sort": "descending"})
    for sort, expected in {
        "name": [1, 0, 2],
        "-name": [2, 0, 1],
        "-startedAt": [2, 1, 0],
        "startedAt": [1, 2, 0],
        "completedAt": [2, 0, 1],
        "createdAt": [0, 1, 2],
    }.items():
        found, page = await listed(panel, sort=sort)
        if sort != "completedAt":
            assert found == [str(workloads[i].id) for i in expected], sort
        assert found[0] == str(workloads[expected[0]].id), sort
        turned = sort.removeprefix("-") if sort.startswith("-") else f"-{sort}"
        turned = "" if turned == "-createdAt" else f"?sort={turned}"
        assert page.all("a", href=f"{LIST}{turned}"), sort
        direction = "descending" if sort.startswith("-") else "ascending"
        assert len(page.all("th", **{"aria-sort": direction})) == 1


@pytest.mark.parametrize("sort", ["", "name", "-startedAt", "completedAt", "-gpuCount"])
async def test_pages_lead_on_and_back_in_every_order(panel: Panel, sort: str):
    for i in range(120):
        panel.clock.advance(1)
        workload = await panel.workload(spec={"name": f"n{i % 7}"})
        if i % 3 == 0:
            await panel.running(workload)
    pages: list[list[str]] = []
    async with panel.browser() as browser:
        url, last = f"{LIST}?sort={sort}", ""
        while url:
            last, html = url, (await browser.get(url)).text
            pages.append(row_ids(html))
            url = next((a["href"] for a in Page.of(html).all("a", rel="next")), "")
        assert [len(page) for page in pages] == [50, 50, 20]
        assert len({row for page in pages for row in page}) == 120
        back: list[list[str]] = []
        while last:
            html = (await browser.get(last)).text
            back.append(row_ids(html))
            last = next((a["href"] for a in Page.of(html).all("a", rel="prev")), "")
    assert back == pages[::-1]


@pytest.mark.parametrize("query", ["show=nonsense", "before=x", "after=x", "sort=nonsense", "sort=--name"])
async def test_a_place_that_there_is_not_is_not_found(panel: Panel, query: str):
    async with panel.browser() as browser:
        assert (await browser.get(f"{LIST}?{query}")).status_code == 404


async def test_a_page_of_another_order_is_not_found(panel: Panel):
    for _ in range(51):
        await panel.workload()
    async with panel.browser() as browser:
        [older] = Page.of((await browser.get(LIST)).text).all("a", rel="next")
        assert (await browser.get(f"{older['href']}&sort=name")).status_code == 404


def test_every_order_of_a_heading_is_one():
    assert {"name", "status", "createdAt", "startedAt", "completedAt"} <= set(SortField)


def rows(text: str) -> list[RowView]:
    """A row for each letter; an upper-case one looks different from the lower-case one."""
    return [
        row_view("acme", a_workload(id=UUID(int=ord(it.lower())), message=it), {}, names_clusters=False) for it in text
    ]


def ids(text: str) -> tuple[UUID, ...]:
    return tuple(row.id for row in rows(text))


@pytest.mark.parametrize(
    ("shown", "true", "gone", "added", "changed"),
    [
        ("abc", "abc", "", [], ""),
        ("abc", "aBc", "", [], "B"),
        ("abc", "xyabc", "", [(None, "xy")], ""),
        ("abc", "axbyc", "", [("a", "x"), ("b", "y")], ""),
        ("abc", "xab", "c", [(None, "x")], ""),
        ("abc", "", "abc", [], ""),
        ("", "ab", "", [(None, "ab")], ""),
    ],
)
def test_what_to_do_to_the_shown_rows(
    shown: str, true: str, gone: str, added: list[tuple[str | None, str]], changed: str
):
    expected = tuple(Added(ids(after)[0] if after else None, tuple(rows(new))) for after, new in added)
    assert difference(rows(shown), rows(true)) == Difference(ids(gone), expected, tuple(rows(changed)))


def test_rows_that_change_places_are_told_anew():
    assert difference(rows("abc"), rows("acb")) is None
