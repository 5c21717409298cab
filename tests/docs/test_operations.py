"""docs/operations.md: every setting with its default, every command, every reason of waiting, every label."""

from __future__ import annotations

import re

from pydantic_core import PydanticUndefined
from typer.core import TyperGroup
from typer.main import get_command

from app.cli import operate
from app.cluster import labels
from app.config import PREFIX, Settings
from app.domain.states import Reason
from tests.docs.pages import page, rows, section

PAGE = "docs/operations.md"
WAITING = (
    Reason.SUBMITTED,
    Reason.WAITING_FOR_GPUS,
    Reason.BEHIND_RESERVATION,
    Reason.WAITING_FOR_CPU_OR_MEMORY,
    Reason.MAKING_ROOM,
    Reason.OVER_QUOTA,
    Reason.NO_USABLE_SERVER,
    Reason.DRIVER_TOO_OLD,
    Reason.NO_MATCHING_GPU,
    Reason.NEVER_FITS,
    Reason.BACKING_OFF,
    Reason.PREEMPTED,
    Reason.HELD,
    Reason.JOB_NOT_CREATED,
)


def as_typed(default: object) -> str:
    """A default as the environment would spell it."""
    if default is PydanticUndefined:
        return "required"
    if default in (None, "", ()):
        return "none"
    text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return f"`{text.lower() if isinstance(default, bool) else text}`"


def test_settings_and_their_defaults():
    described = {cells[0].strip("`"): cells[1] for cells in rows(section(PAGE, "## Settings"))[1:]}
    assert described == {
        f"{PREFIX}{name}".upper(): as_typed(field.default) for name, field in Settings.model_fields.items()
    }


def test_every_admin_command_is_shown_and_exists():
    commands = get_command(operate.admin)
    assert isinstance(commands, TyperGroup)
    shown = set(re.findall(r"gpuyard admin ([a-z]+(?:-[a-z]+)*)", page(PAGE)))
    assert shown == set(commands.commands)


def test_every_reason_of_waiting_is_explained():
    explained = [cells[0].strip("`") for cells in rows(section(PAGE, "### A workload waits"))[1:]]
    assert explained == [reason.name for reason in WAITING]


def test_labels_and_finalizer():
    named = {cells[0].strip("`") for cells in rows(section(PAGE, "## What it makes in the cluster"))[1:]}
    ids = {labels.WORKLOAD, labels.ATTEMPT, labels.INSTALLATION}
    recommended = {labels.NAME, labels.INSTANCE, labels.COMPONENT, labels.PART_OF, labels.MANAGED_BY}
    assert named == {*recommended, *ids, labels.ORGANIZATION, labels.PROJECT}
    assert f'["{labels.FINALIZER}"]' in section(PAGE, "## Uninstall")
    assert labels.OURS in section(PAGE, "## Uninstall")
