"""The size budget: small functions and modules, with room in the tail but no giants.

A length is `end_lineno - lineno + 1`, docstring included. Percentiles mean nothing over a handful, so they are held
once there are enough items; the maxima hold from the first line.
"""

from __future__ import annotations

import ast
import statistics
from dataclasses import dataclass

import pytest

from tests.house import tree

CODE = ("app/", "agent/", "graphql/", "bench/", "scripts/")
ENOUGH = 10


@dataclass(frozen=True)
class Sized:
    lines: int
    where: str


def functions(*folders: str, prefix: str = "") -> list[Sized]:
    return [
        Sized(node.end_lineno - node.lineno + 1, f"{name}:{node.lineno} {node.name}")
        for name in tree.python_files(*folders)
        for node in ast.walk(tree.parsed(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith(prefix)
        and node.end_lineno is not None
    ]


def modules() -> list[Sized]:
    return [Sized(len((tree.ROOT / name).read_text().splitlines()), name) for name in tree.python_files(*CODE)]


def percentile(items: list[Sized], tenths: int) -> float:
    return statistics.quantiles([item.lines for item in items], n=10, method="inclusive")[tenths - 1]


def longest(items: list[Sized], above: float) -> list[str]:
    ordered = sorted(items, key=lambda item: -item.lines)
    return [f"  {item.lines:4} lines  {item.where}" for item in ordered if item.lines > above][:15]


@pytest.mark.parametrize(
    ("items", "tenths", "limit"),
    [
        pytest.param(functions(*CODE), 5, 10, id="functions-median"),
        pytest.param(functions(*CODE), 9, 30, id="functions-p90"),
        pytest.param(modules(), 9, 300, id="modules-p90"),
        pytest.param(functions("tests/", prefix="test_"), 9, 25, id="test-functions-p90"),
    ],
)
def test_most_are_small(items: list[Sized], tenths: int, limit: int) -> None:
    if len(items) < ENOUGH:
        pytest.skip(f"{len(items)} is too few for a percentile")
    found = percentile(items, tenths)
    advice = f"{tenths * 10}% should have at most {limit} lines, here it is {found:.0f}; make functions of the steps of"
    assert found <= limit, tree.report(longest(items, limit), advice)


def test_no_function_is_a_giant() -> None:
    found = longest(functions(*CODE), 60)
    assert not found, tree.report(found, "a function has at most 60 lines; make its steps functions")


def test_no_module_is_a_giant() -> None:
    found = longest(modules(), 450)
    assert not found, tree.report(found, "a module has at most 450 lines; split it by what its parts are for")
