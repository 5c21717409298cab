"""The submission form: what was typed, what it means, and what is wrong with it. The rules themselves are the domain's;
here is only what text boxes add: numbers, and words split as a shell would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID, uuid4

from app.domain.environment import parse_environment
from app.domain.errors import InvalidInputError, Problem
from app.domain.gpu_requirements import GpuDraft
from app.domain.image import resolve_image
from app.domain.labels import parse_labels
from app.domain.people import Project
from app.domain.priority import DEFAULT_PRIORITY, Priority, parse_priority
from app.domain.quantity import format_cpu, format_memory
from app.domain.shell_words import split_words
from app.domain.submission import (
    DEFAULT_START_TIMEOUT_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    Defaults,
    Draft,
    check_submission,
)
from app.domain.volumes import Volume
from app.panel import urls
from app.panel.mount_rows import MOUNT_FIELDS, MountRow, VolumeChoice, mount_rows, read_mounts, volume_choices
from app.panel.prospects import ProspectView

T = TypeVar("T")

# The API's spelling, so that a problem's field is the name of an input.
FIELDS = {
    "image": "",
    "tag": "",
    "gpuCount": "1",
    "timeoutSeconds": str(DEFAULT_TIMEOUT_SECONDS),
    "envVars": "",
    "projectId": "",
    "name": "",
    "command": "",
    "args": "",
    "cpu": "",
    "memory": "",
    "startTimeoutSeconds": str(DEFAULT_START_TIMEOUT_SECONDS),
    "queueTimeoutSeconds": "",
    "maxRetries": "0",
    "gpuProducts": "",
    "gpuMemory": "",
    "computeCapability": "",
    "migProfile": "",
    "gpuShared": "",
    "priority": DEFAULT_PRIORITY.words,
    "preemptible": "",
    "sharedMemory": "",
    "cuda": "",
    "labels": "",
    "mounts": "",  # what is wrong with the rows below it is said here
}
ALWAYS_SHOWN = frozenset({"image", "tag", "gpuCount", "timeoutSeconds", "envVars", "projectId"})
# Where the API has its fields deeper.
_INPUTS = {
    "gpuRequirements.products": "gpuProducts",
    "gpuRequirements.memory": "gpuMemory",
    "gpuRequirements.computeCapability": "computeCapability",
    "gpuRequirements.migProfile": "migProfile",
    "gpuRequirements.shared": "gpuShared",
}
_ELSEWHERE = "form"
_MOST_DIGITS = 10


@dataclass(frozen=True)
class ReferenceView:
    """What image and tag mean together, or why they mean nothing. Both empty while there is nothing to say."""

    reference: str = ""
    problem: str = ""


@dataclass(frozen=True)
class FieldView:
    """`problem` is empty where nothing is wrong. `first` is True for the first wrong one: the focus goes there."""

    name: str
    value: str
    problem: str = ""
    first: bool = False


@dataclass(frozen=True)
class AcceptedView:
    """What became of a submission. `is_new` False: this very form had been sent before."""

    workload_id: UUID
    job_name: str
    name: str
    url: str
    is_new: bool


@dataclass(frozen=True)
class FormView:
    """`request_key` makes sending the same form twice one submission."""

    fields: Mapping[str, FieldView]
    projects: tuple[tuple[str, str], ...]
    reference: ReferenceView
    largest_server: str
    most_gpus: int
    cpu_per_gpu: str
    memory_per_gpu: str
    shared_memory_per_gpu: str
    priorities: tuple[str, ...]
    volumes: tuple[VolumeChoice, ...]
    mount_rows: tuple[MountRow, ...]
    request_key: str
    action: str
    reference_url: str
    check_url: str
    problem: str
    is_more_open: bool
    prospect: ProspectView | None
    accepted: AcceptedView | None


@dataclass(frozen=True)
class Surroundings:
    """What the form shows that nobody typed."""

    slug: str
    projects: tuple[Project, ...]
    largest_server: tuple[str, int]
    defaults: Defaults
    volumes: tuple[Volume, ...] = ()
    highest_priority: Priority = DEFAULT_PRIORITY


def form_view(
    around: Surroundings,
    typed: Mapping[str, str] = FIELDS,
    problems: Iterable[Problem] = (),
    *,
    problem: str = "",
    accepted: AcceptedView | None = None,
    prospect: ProspectView | None = None,
) -> FormView:
    fields, rows = _fields(typed, problems), mount_rows(typed)
    return FormView(
        fields=fields,
        projects=tuple((str(project.id), project.name) for project in around.projects),
        reference=reference_view(typed["image"], typed["tag"]),
        largest_server=around.largest_server[0],
        most_gpus=around.largest_server[1],
        cpu_per_gpu=format_cpu(around.defaults.cpu_millis_per_gpu),
        memory_per_gpu=format_memory(around.defaults.memory_bytes_per_gpu),
        shared_memory_per_gpu=format_memory(around.defaults.shared_memory_bytes_per_gpu),
        priorities=tuple(it.words for it in Priority if it <= around.highest_priority),
        volumes=volume_choices(around.volumes),
        mount_rows=rows,
        request_key=str(uuid4()),
        action=urls.workloads(around.slug),
        reference_url=urls.reference(around.slug),
        check_url=urls.check(around.slug),
        problem=problem or fields[_ELSEWHERE].problem,
        is_more_open=any(_is_touched(field) for field in fields.values()) or not all(row.is_empty for row in rows),
        prospect=prospect,
        accepted=accepted,
    )


def _is_touched(field: FieldView) -> bool:
    """True for a folded field that has something to show."""
    is_folded = field.name in FIELDS and field.name not in ALWAYS_SHOWN
    return is_folded and bool(field.problem or field.value != FIELDS[field.name])


def _fields(typed: Mapping[str, str], problems: Iterable[Problem]) -> dict[str, FieldView]:
    """A problem deep inside a field, such as `envVars[2].name`, is shown at its input."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for wrong in problems:
        field = wrong.field.partition("[")[0]
        name = _INPUTS.get(field) or field.partition(".")[0]
        found[name if name in FIELDS else _ELSEWHERE].append(wrong.message)
    first = next((name for name in FIELDS if name in found), "")
    views = {n: FieldView(n, typed[n], "; ".join(found[n]), first=n == first) for n in FIELDS}
    return {**views, _ELSEWHERE: FieldView(_ELSEWHERE, "", "; ".join(found[_ELSEWHERE]))}


def reference_view(image: str, tag: str) -> ReferenceView:
    if not image.strip():
        return ReferenceView()
    try:
        return ReferenceView(str(resolve_image(image, tag)))
    except InvalidInputError as error:
        return ReferenceView(problem="; ".join(wrong.message for wrong in error.problems))


def typed_values(form: Mapping[str, object]) -> dict[str, str]:
    """What was typed, by field; what the form lacks is as in an untouched one. Browsers end lines with CR LF."""
    untouched = {**FIELDS, **dict.fromkeys(MOUNT_FIELDS, "")}
    return {name: str(form.get(name, default)).replace("\r\n", "\n") for name, default in untouched.items()}


def read_draft(typed: Mapping[str, str], idempotency_key: str, defaults: Defaults) -> Draft:
    """The request that the form stands for. Raises InvalidInputError with everything that is wrong."""
    problems: list[Problem] = []
    draft = Draft(
        image=typed["image"],
        tag=typed["tag"],
        gpu_count=_number(problems, typed, "gpuCount") or 0,
        timeout_seconds=_number(problems, typed, "timeoutSeconds"),
        env_vars=_read(problems, "envVars", lambda: parse_environment(typed["envVars"])) or (),
        project_id=_read(problems, "projectId", lambda: _project(typed["projectId"])),
        name=typed["name"],
        command=tuple(_read(problems, "command", lambda: split_words("command", typed["command"])) or ()),
        args=tuple(_read(problems, "args", lambda: split_words("args", typed["args"])) or ()),
        cpu=typed["cpu"].strip() or None,
        memory=typed["memory"].strip() or None,
        start_timeout_seconds=_number(problems, typed, "startTimeoutSeconds"),
        queue_timeout_seconds=_number(problems, typed, "queueTimeoutSeconds"),
        max_retries=_number(problems, typed, "maxRetries") or 0,
        labels=_read(problems, "labels", lambda: parse_labels(typed["labels"])) or (),
        mounts=_read(problems, "mounts", lambda: read_mounts(typed)) or (),
        shared_memory=typed["sharedMemory"].strip() or None,
        cuda=typed["cuda"],
        gpu_requirements=_gpus(typed),
        priority=_read(problems, "priority", lambda: read_priority(typed["priority"] or FIELDS["priority"]))
        or DEFAULT_PRIORITY,
        preemptible=bool(typed["preemptible"]),
        idempotency_key=idempotency_key or None,
    )
    if problems:
        raise InvalidInputError(tuple(_with_rules(draft, problems, defaults)))
    return draft


def _gpus(typed: Mapping[str, str]) -> GpuDraft:
    """Products are parted by commas."""
    return GpuDraft(
        products=[name.strip() for name in typed["gpuProducts"].split(",") if name.strip()],
        memory=typed["gpuMemory"],
        compute_capability=typed["computeCapability"],
        mig_profile=typed["migProfile"],
        shared=bool(typed["gpuShared"]),
    )


def _with_rules(draft: Draft, problems: list[Problem], defaults: Defaults) -> list[Problem]:
    """What the rules say of the fields that could be read, so that everything is told at once."""
    unread = {problem.field for problem in problems}
    try:
        check_submission(draft, defaults)
    except InvalidInputError as error:
        problems += [problem for problem in error.problems if problem.field not in unread]
    return problems


def _read(problems: list[Problem], field: str, reading: Callable[[], T]) -> T | None:
    try:
        return reading()
    except InvalidInputError as error:
        problems.extend(Problem(field, problem.message) for problem in error.problems)
        return None


def _number(problems: list[Problem], typed: Mapping[str, str], field: str) -> int | None:
    text = typed[field].strip() or FIELDS[field]
    if not text:
        return None
    digits = text.removeprefix("-").lstrip("0") or "0"
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        problems.append(Problem(field, f"{text[:40]!r} is not a whole number"))
        return None
    return int(text)


def read_priority(text: str) -> Priority:
    """Raises InvalidInputError."""
    try:
        return parse_priority(text)
    except ValueError as error:
        raise InvalidInputError.of("priority", str(error)) from None


def _project(text: str) -> UUID | None:
    if not text.strip():
        return None
    try:
        return UUID(text.strip())
    except ValueError:
        raise InvalidInputError.of("projectId", f"{text[:40]!r} is no project") from None
