"""docs/graphql.md: its documents are valid, its tables complete, its examples run and answer what the page shows."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import graphql
import pytest

from app.domain.errors import DomainError
from app.domain.filters import FIELDS
from tests.docs.pages import ROOT, Block, blocks, page, rows, section
from tests.e2e.product import Product

GUIDE = "docs/graphql.md"
OPERATIONS = sorted((ROOT / "graphql" / "operations").glob("*.graphql"))
SCHEMA = graphql.build_schema((ROOT / "graphql" / "schema.graphql").read_text())
CURSORS = 'query($id: UUID!) { organization(slug: "demo") { workload(id: $id) { events { cursor } } } }'
MARK = "---- next ----"
# A reader waits for some seconds; here it is made sure that they were enough. `ask` and the ids are the guide's.
UNTIL = """
sleep() {
  case $1 in
    7) local id=$ID wanted=COMPLETED ;;
    2) local id=$LONG_ID wanted=RUNNING ;;
    3) local id=$LONG_ID wanted=CANCELLED ;;
  esac
  local one="{\\"organization\\": \\"demo\\", \\"id\\": \\"$id\\"}"
  until ask workload "$one" | grep -c "\\"status\\": *\\"$wanted\\"" > /dev/null; do command sleep 0.1; done
}
"""
# What is different in each run, in the order in which it is looked for.
CHANGING = {
    "<gpu>": r"GPU-[0-9a-f-]{36}",
    "<id>": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "<job>": r"gw-[0-9a-f]{32}-\d+",
    "<time>": r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00",
    "<cursor>": r"\bWyJ3[\w-]+",
}


@pytest.mark.parametrize("path", OPERATIONS, ids=lambda path: path.stem)
def test_operations_are_valid_and_shown(path: Path):
    document = path.read_text()
    assert graphql.validate(SCHEMA, graphql.parse(document)) == []
    assert document in [block.text for block in blocks(GUIDE, "graphql")], f"show {path.name} in {GUIDE}"


def test_every_document_of_the_guide_is_an_operation():
    assert len(blocks(GUIDE, "graphql")) == len(OPERATIONS)


def test_every_input_field_is_described():
    names = " ".join(cells[0] for cells in rows(section(GUIDE, "## Submit")))
    described = set(re.findall(r"`(\w+)`", names))
    wanted, gpus = SCHEMA.type_map["SubmitWorkloadInput"], SCHEMA.type_map["GpuRequirementsInput"]
    assert isinstance(wanted, graphql.GraphQLInputObjectType)
    assert isinstance(gpus, graphql.GraphQLInputObjectType)
    assert described == {*wanted.fields, *gpus.fields}


def test_every_field_to_filter_by_is_described_with_its_operators():
    described = {
        name: set(re.findall(r"`([^`\w]{2})`", operators))
        for _, names, operators, _ in rows(section(GUIDE, "### Filters"))
        for name in re.findall(r"`(\w+)`", names)
    }
    assert described == {name: {op.value for op in field.kind.operators} for name, field in FIELDS.items()}


def test_every_error_code_is_described():
    described = {cells[0].strip("`") for cells in rows(section(GUIDE, "## Errors").partition("### ")[0])}
    domain = {kind.code for kind in DomainError.__subclasses__()}
    sources = "".join(path.read_text() for path in (ROOT / "graphql").glob("*.py"))
    edge = set(re.findall(r'"code": "(\w+)"', sources)) | set(re.findall(r'"(GRAPHQL_\w+|RATE_LIMITED)"', sources))
    assert described - {"code"} == domain | edge


async def test_the_examples_answer_what_the_guide_shows(shell: dict[str, str]):
    steps = commands_with_answers()
    script = "\n".join(["set -euo pipefail", UNTIL, *(f"{command}\necho; echo '{MARK}'" for command, _ in steps)])
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, cwd=ROOT, env=shell, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    printed = output.decode().split(MARK)
    for (command, shown), found in zip(steps, printed, strict=False):
        if shown is not None:
            assert settled(json.loads(found)) == settled(json.loads(shown)), command


def commands_with_answers() -> list[tuple[str, str | None]]:
    """Each shell block, with the JSON block that follows it as its answer."""
    found = blocks(GUIDE)
    following: list[Block | None] = [*found[1:], None]
    return [
        (block.text, after.text if after and after.language == "json" else None)
        for block, after in zip(found, following, strict=True)
        if block.language == "sh"
    ]


def settled(value: Any) -> Any:
    """Without what is different in each run. Steps on the way to the start are seen or not, as the cluster is quick."""
    text = json.dumps(value)
    for word, pattern in CHANGING.items():
        text = re.sub(pattern, word, text)
    return json.loads(re.sub(r'\{"type": "PROGRESSED"[^}]*\}, ', "", text))


async def test_the_follower_goes_on_where_it_stopped(product: Product, shell: dict[str, str], tmp_path: Path):
    follower, _ = blocks(GUIDE, "python")
    (tmp_path / "graphql").symlink_to(ROOT / "graphql")
    (tmp_path / "follow.py").write_text(follower.text)
    quick = {"SIM_SECONDS": "0.2"}
    seen = await product.submit("id events { cursor }", envVars=quick)
    (tmp_path / "cursor.txt").write_text(seen["events"][0]["cursor"])
    first = await followed(tmp_path, shell)
    [*_, last] = (await product.ask(CURSORS, {"id": seen["id"]}))["data"]["organization"]["workload"]["events"]
    (tmp_path / "cursor.txt").write_text(last["cursor"])  # killed right after printing, it may not have got so far
    missed = await product.submit(envVars=quick)
    await product.until(missed["id"], status="COMPLETED")
    second = await followed(tmp_path, shell)
    assert {line.split()[1] for line in first} == {seen["id"]}
    assert {line.split()[1] for line in second} == {missed["id"]}
    stored = (await product.workload(missed["id"]))["events"]
    assert [line.split()[2] for line in second] == [event["type"] for event in stored]


async def followed(folder: Path, environment: dict[str, str]) -> list[str]:
    """What the follower prints from its start to the end of one workload."""
    process = await asyncio.create_subprocess_exec(
        "python", "follow.py", cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    lines: list[str] = []
    try:
        async with asyncio.timeout(60):
            while not lines or " ENDED " not in lines[-1]:
                lines.append((await process.stdout.readline()).decode())
                assert lines[-1], "the follower ended"
    finally:
        process.kill()
        await process.wait()
    return lines


async def test_the_follower_is_told_why_it_is_refused(shell: dict[str, str], tmp_path: Path):
    follower, _ = blocks(GUIDE, "python")
    (tmp_path / "graphql").symlink_to(ROOT / "graphql")
    (tmp_path / "follow.py").write_text(follower.text)
    process = await asyncio.create_subprocess_exec(
        "python", "follow.py", cwd=tmp_path, env={**shell, "TOKEN": "wrong"}, stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()
    assert process.returncode == 1
    assert b"4403" in told
    assert "4403" in page(GUIDE)
