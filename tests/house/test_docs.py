"""Docs and printed files say what the code says. What does not exist yet is skipped with the reason."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from types import ModuleType

import pytest
from pydantic_settings import BaseSettings

from tests.house import tree


def existing_module(name: str) -> ModuleType:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} does not exist yet")
    return importlib.import_module(name)


def existing_text(name: str) -> str:
    if not (tree.ROOT / name).exists():
        pytest.skip(f"{name} does not exist yet")
    return (tree.ROOT / name).read_text()


def difference(found: str, wanted: str, name: str) -> str:
    lines = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), name, "what the code prints", lineterm="", n=1
    )
    return "\n".join(lines)


def test_every_setting_is_documented() -> None:
    config = existing_module("app.config")
    document = existing_text("docs/operations.md")
    found = [f"  {name}" for name in settings_of(config) if not re.search(rf"\b{name}\b", document)]
    assert not found, tree.report(found, "describe these settings in docs/operations.md")


def settings_of(config: ModuleType) -> Iterator[str]:
    """The environment variable of every field."""
    for value in vars(config).values():
        if isinstance(value, type) and issubclass(value, BaseSettings) and value.__module__ == config.__name__:
            prefix = value.model_config.get("env_prefix", "")
            for name, field in value.model_fields.items():
                yield str(field.validation_alias or f"{prefix}{name}").upper()


def test_lifecycle_document_is_printed_from_the_code() -> None:
    existing_module("app.domain.lifecycle_doc")
    command = [sys.executable, "-m", "app.domain.lifecycle_doc"]
    printed = subprocess.run(command, cwd=tree.ROOT, check=True, capture_output=True, text=True).stdout
    path = tree.ROOT / "docs" / "lifecycle.md"
    found = path.read_text() if path.exists() else ""
    assert found == printed, f"run `make lifecycle-doc`\n{difference(found, printed, 'docs/lifecycle.md')}"


def test_schema_is_printed_from_the_code() -> None:
    module = existing_module("app.graphql.schema")
    printed = module.schema.as_str() + "\n"
    path = tree.ROOT / "graphql" / "schema.graphql"
    found = path.read_text() if path.exists() else ""
    advice = "the schema changed: if that was meant, run `make sdl` and add a line to CHANGELOG.md"
    assert found == printed, f"{advice}\n{difference(found, printed, 'graphql/schema.graphql')}"


def test_every_direct_dependency_is_explained() -> None:
    document = (tree.ROOT / "docs" / "dependencies.md").read_text()
    found = [f"  {name}" for name in sorted(direct_dependencies()) if f"`{name}`" not in document]
    assert not found, tree.report(found, "say in docs/dependencies.md what these are for and why these were chosen")


def direct_dependencies() -> set[str]:
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    front_end = json.loads((tree.ROOT / "package.json").read_text())
    requirements = [
        *project["project"]["dependencies"],
        *(line for group in project["project"].get("optional-dependencies", {}).values() for line in group),
        *(line for group in project["dependency-groups"].values() for line in group),
    ]
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements} | set(front_end["dependencies"])


def test_every_direct_dependency_is_locked_with_hashes() -> None:
    locks = "".join(
        (tree.ROOT / name).read_text() for name in tree.files() if re.fullmatch(r"requirements.*\.lock", name)
    )
    front_end = json.loads((tree.ROOT / "package-lock.json").read_text())["packages"]
    found = [f"  {name}" for name in sorted(direct_dependencies()) if not is_locked(name, locks, front_end)]
    assert not found, tree.report(found, "run `make lock`")


def is_locked(name: str, locks: str, front_end: dict[str, dict[str, str]]) -> bool:
    pinned = re.search(rf"^{re.escape(name.lower())}==[^\n]* \\\n    --hash=sha256:", locks, re.MULTILINE)
    return pinned is not None or "integrity" in front_end.get(f"node_modules/{name}", {})
