"""Rules about what lies in the repository and what its files may name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import graphql

from tests.house import tree

# Written with a bracket so that this file does not find itself.
REGISTRIES = re.compile(
    r"(?:pypi[.]org|pythonhoste[d]|npmj[s]|yarnpk[g]|debia[n]\.org|unpk[g]|jsdelive[r]|nodesourc[e]|conda[.]anaconda)"
    r"|\"resolve[d]\":"
)
MACHINE_PATH = re.compile(r"(?<![\w.{}$-])/(?:wor[k]|roo[t])/")
TEMPORARY_PATH = re.compile(r"(?<![\w.{}$-])/tm[p]/")
THIRD_PARTY = re.compile(r"(^|/)(node_modules|site-packages|vendor|\.venv)/|\.min\.(js|css)$|\.whl$")


def lines_matching(pattern: re.Pattern[str], *, tests_too: bool) -> list[str]:
    return [
        f"  {name}:{number} {line.strip()[:120]}"
        for name in tree.files()
        if tests_too or not name.startswith("tests/")
        for number, line in enumerate((tree.text(name) or "").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_registry_is_named() -> None:
    found = lines_matching(REGISTRIES, tests_too=True)
    assert not found, tree.report(found, "pip, npm and apt use the registry they are configured with; remove its name")


def test_no_path_of_one_machine_is_named() -> None:
    found = lines_matching(MACHINE_PATH, tests_too=True) + lines_matching(TEMPORARY_PATH, tests_too=False)
    assert not found, tree.report(found, "use a path relative to the file, a setting or a temporary folder")


def test_no_third_party_file_is_tracked() -> None:
    found = [f"  {name}" for name in tree.files() if THIRD_PARTY.search(name)]
    assert not found, tree.report(found, "name the package in package.json or pyproject.toml; `make setup` brings it")


def test_places_of_third_party_files_are_ignored() -> None:
    for place in (".venv/x", "node_modules/x", "static/vendor/x.js"):
        ignored = subprocess.run(["git", "check-ignore", "-q", "--no-index", place], cwd=tree.ROOT, check=False)
        assert ignored.returncode == 0, f"put {place.rpartition('/')[0]}/ back into .gitignore"


def test_graphql_is_graphql_core() -> None:
    assert not (tree.ROOT / "graphql" / "__init__.py").exists(), "remove graphql/__init__.py: it hides graphql-core"
    assert "site-packages" in Path(graphql.__file__).parts, (
        f"`import graphql` found {graphql.__file__}, not graphql-core"
    )


def test_no_module_of_graphql_is_named_like_the_standard_library() -> None:
    names = {part.removesuffix(".py"): name for name in tree.python_files("graphql/") for part in Path(name).parts[1:]}
    found = [f"  {name}" for part, name in names.items() if part in sys.stdlib_module_names]
    assert not found, tree.report(found, "rename it: mypy and pytest take it for the standard library's")


def test_folders_of_the_wheel_are_symlinks() -> None:
    for name in ("graphql", "templates", "static"):
        link = tree.ROOT / "app" / name
        assert link.is_symlink(), f"app/{name} must be a symlink: ln -s ../{name} app/{name}"
        assert link.readlink() == Path("..", name)
