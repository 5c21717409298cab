"""Rules about what the code says: exceptions, clocks, unfinished work, patched modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from tests.house import tree

PURE_ROOMS = ("app/domain/", "app/placement/")
CLOCK_READS = {"now", "utcnow", "today", "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter"}
CLOCK_OWNERS = {"datetime", "date", "dt", "time"}
OUR_PACKAGES = ("app", "agent")
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b(?!.{0,12}#\d)")
CODE_SUFFIXES = (".py", ".js", ".css", ".html", ".yaml", ".yml", ".toml", ".graphql", "Makefile", ".ci/run")


def test_no_exception_is_swallowed() -> None:
    found = [
        f"  {name}:{node.lineno}"
        for name in tree.python_files()
        for node in ast.walk(tree.parsed(name))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or does_nothing(node.body))
    ]
    advice = "name the exception and handle it; where it may be ignored, use contextlib.suppress and say why"
    assert not found, tree.report(found, advice)


def does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def test_pure_rooms_read_no_clock() -> None:
    found = [
        f"  {name}:{node.lineno}"
        for name in tree.python_files(*PURE_ROOMS)
        for node in ast.walk(tree.parsed(name))
        if reads_clock(node)
    ]
    assert not found, tree.report(found, "a decision is given `now`; take it as a parameter")


def reads_clock(node: ast.AST) -> TypeGuard[ast.ImportFrom | ast.Attribute]:
    if isinstance(node, ast.ImportFrom):
        return node.module == "time"
    if isinstance(node, ast.Attribute) and node.attr in CLOCK_READS:
        return last_name(node.value) in CLOCK_OWNERS
    return False


def last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def test_unfinished_work_names_its_issue() -> None:
    found = [
        f"  {name}:{number} {line.strip()}"
        for name in tree.files()
        if name.endswith(CODE_SUFFIXES)
        for number, line in enumerate((tree.text(name) or "").splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert not found, tree.report(found, "finish it, or open an issue and write its number, as in (#12)")


def test_tests_patch_none_of_our_modules() -> None:
    found = [
        f"  {name}:{call.lineno}" for name in tree.python_files("tests/") for call in patches_of_ours(tree.parsed(name))
    ]
    advice = "give the code its dependency (a fake, a setting, a clock) instead of patching our own modules"
    assert not found, tree.report(found, advice)


def patches_of_ours(module: ast.Module) -> Iterator[ast.Call]:
    ours = names_of_ours(module) | set(OUR_PACKAGES)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args and is_patching(ast.unparse(node.func)):
            target = node.args[0]
            written = target.value if isinstance(target, ast.Constant) else ast.unparse(target)
            if str(written).partition(".")[0] in ours:
                yield node


def is_patching(function: str) -> bool:
    return (
        function.endswith("monkeypatch.setattr")
        or re.fullmatch(r"(\w+\.)*patch(\.object|\.multiple)?", function) is not None
    )


def names_of_ours(module: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.asname and is_ours(alias.name)}
    return names


def is_ours(dotted: str) -> bool:
    return dotted.partition(".")[0] in OUR_PACKAGES
