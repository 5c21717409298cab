"""From what someone typed to a checked `Submission`. Every problem is reported at once, by field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from app.domain.cuda import CudaVersion, cuda_of_image
from app.domain.environment import check_environment, has_surrogate, sent_size
from app.domain.errors import InvalidInputError, Problem
from app.domain.gpu_requirements import NOTHING_ASKED, GpuDraft, check_gpu_requirements
from app.domain.image import ImageReference, resolve_image
from app.domain.labels import check_labels
from app.domain.priority import DEFAULT_PRIORITY, Priority
from app.domain.quantity import format_cpu, format_memory, parse_cpu, parse_memory
from app.domain.volumes import Mount, check_mounts
from app.domain.workload import Resources, Submission

DAY = 24 * 3600
MAX_LIMIT_SECONDS = 30 * DAY
DEFAULT_TIMEOUT_SECONDS = 3600
DEFAULT_START_TIMEOUT_SECONDS = 1800
MAX_GPUS = 1024
MAX_NAME = 100
MAX_KEY = 200
MAX_WORDS = 1000
MAX_WORD_BYTES = 64 * 1024
MAX_WORDS_BYTES = 256 * 1024  # with the environment well inside what one Kubernetes object holds
MAX_CPU_MILLIS = 1_000_000
MIN_MEMORY = 16 * 2**20
MAX_MEMORY = 64 * 2**40
MIN_SHARED_MEMORY = 2**20
MAX_RETRIES = 10
# Left out of a fingerprint where nobody gave them: an idempotency key from before they existed still finds its request.
_LATER_FIELDS: dict[str, object] = {
    "labels": (),
    "mounts": (),
    "shared_memory_bytes": None,
    "gpu_requirements": {},
    "priority": DEFAULT_PRIORITY,
    "preemptible": False,
}


@dataclass(frozen=True)
class Defaults:
    """What a pod gets per GPU when nobody says: settings of the installation, here as they are unless set."""

    cpu_millis_per_gpu: int = 4000
    memory_bytes_per_gpu: int = 16 * 2**30
    shared_memory_bytes_per_gpu: int = 8 * 2**30


@dataclass(frozen=True)
class Draft:
    """A request as it came in: nothing is checked yet. The fields are the API's."""

    image: str | None
    gpu_count: int = 1
    tag: str | None = None
    timeout_seconds: int | None = None
    env_vars: Sequence[tuple[str, str]] = ()
    project_id: UUID | None = None
    name: str | None = None
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    cpu: str | None = None
    memory: str | None = None
    start_timeout_seconds: int | None = None
    queue_timeout_seconds: int | None = None
    max_retries: int = 0
    labels: Sequence[tuple[str, str]] = ()
    mounts: Sequence[Mount] = ()
    shared_memory: str | None = None
    cuda: str | None = None
    gpu_requirements: GpuDraft = NOTHING_ASKED
    priority: Priority = DEFAULT_PRIORITY
    preemptible: bool = False
    idempotency_key: str | None = None


def check_submission(draft: Draft, defaults: Defaults) -> Submission:
    """The checked submission. Raises InvalidInputError with every problem found."""
    problems: list[Problem] = []
    image = _image(draft, problems)
    _check_range(problems, "gpuCount", draft.gpu_count, 1, MAX_GPUS)
    gpu_count = min(max(draft.gpu_count, 1), MAX_GPUS)
    resources = Resources(
        gpu_count,
        _cpu(draft.cpu, problems) or defaults.cpu_millis_per_gpu * gpu_count,
        _memory(draft.memory, problems) or defaults.memory_bytes_per_gpu * gpu_count,
    )
    shared_memory = _shared_memory(draft.shared_memory, resources.memory_bytes, problems)
    timeout = _seconds(problems, "timeoutSeconds", draft.timeout_seconds, DEFAULT_TIMEOUT_SECONDS)
    start = _seconds(problems, "startTimeoutSeconds", draft.start_timeout_seconds, DEFAULT_START_TIMEOUT_SECONDS)
    if draft.queue_timeout_seconds is not None:
        _check_range(problems, "queueTimeoutSeconds", draft.queue_timeout_seconds, 1, MAX_LIMIT_SECONDS)
    _check_range(problems, "maxRetries", draft.max_retries, 0, MAX_RETRIES)
    problems += [*check_environment(draft.env_vars), *check_labels(draft.labels), *check_mounts(draft.mounts)]
    problems += [*_check_words("command", draft.command), *_check_words("args", draft.args)]
    name = _text(problems, "name", draft.name, MAX_NAME)
    key = _text(problems, "idempotencyKey", draft.idempotency_key, MAX_KEY)
    cuda = _cuda(draft.cuda, image, problems)
    gpu_requirements = check_gpu_requirements(draft.gpu_requirements, gpu_count, problems)
    if problems or image is None:
        raise InvalidInputError(tuple(problems))
    return Submission(
        name=name or image.path.rsplit("/", 1)[-1][:MAX_NAME],
        image=str(image),
        resources=resources,
        timeout_seconds=timeout,
        start_timeout_seconds=start,
        queue_timeout_seconds=draft.queue_timeout_seconds,
        env_vars=tuple((n, v) for n, v in draft.env_vars),
        command=tuple(draft.command),
        args=tuple(draft.args),
        cuda=str(cuda) if cuda else None,
        max_retries=draft.max_retries,
        labels=tuple((k, v) for k, v in draft.labels),
        mounts=tuple(draft.mounts),
        shared_memory_bytes=shared_memory,
        gpu_requirements=gpu_requirements,
        priority=draft.priority,
        preemptible=draft.preemptible,
        project_id=draft.project_id,
        idempotency_key=key,
    )


def check_idempotency_key(key: str | None) -> str | None:
    """None for a blank one. Raises InvalidInputError."""
    problems: list[Problem] = []
    checked = _text(problems, "idempotencyKey", key, MAX_KEY)
    if problems:
        raise InvalidInputError(tuple(problems))
    return checked


def fingerprint(submission: Submission) -> str:
    """Equal for equal requests: what an idempotency key is held against."""
    fields = {**asdict(submission), "gpu_requirements": submission.gpu_requirements.given()}
    given = {name: value for name, value in fields.items() if value != _LATER_FIELDS.get(name, ...)}
    body = json.dumps(given, sort_keys=True, default=str)
    return hashlib.sha256(body.encode()).hexdigest()


def _image(draft: Draft, problems: list[Problem]) -> ImageReference | None:
    try:
        return resolve_image(draft.image, draft.tag)
    except InvalidInputError as error:
        problems.extend(error.problems)
        return None


def _check_range(problems: list[Problem], field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        problems.append(Problem(field, f"must be between {low} and {high}; it is {value}"))


def _seconds(problems: list[Problem], field: str, value: int | None, default: int) -> int:
    seconds = default if value is None else value
    _check_range(problems, field, seconds, 1, MAX_LIMIT_SECONDS)
    return seconds


def _cpu(text: str | None, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    try:
        millis = parse_cpu(text)
    except ValueError as error:
        problems.append(Problem("cpu", str(error)))
        return None
    if not 1 <= millis <= MAX_CPU_MILLIS:
        problems.append(
            Problem("cpu", f"must be between 1m and {format_cpu(MAX_CPU_MILLIS)}; it is {text.strip()[:40]}")
        )
    return millis


def _cuda(text: str | None, image: ImageReference | None, problems: list[Problem]) -> CudaVersion | None:
    """What was given, else what the image's name says."""
    try:
        if text and text.strip():
            return CudaVersion.parse(text.strip())
    except ValueError as error:
        problems.append(Problem("cuda", str(error)))
    return cuda_of_image(image.path, image.tag) if image else None


def _shared_memory(text: str | None, memory_bytes: int, problems: list[Problem]) -> int | None:
    """What lies in /dev/shm counts against the memory limit, so more of it than that is a promise nobody can keep."""
    if text is None:
        return None
    try:
        size = parse_memory(text)
    except ValueError as error:
        problems.append(Problem("sharedMemory", str(error)))
        return None
    if not MIN_SHARED_MEMORY <= size <= memory_bytes:
        low, high = format_memory(MIN_SHARED_MEMORY), format_memory(memory_bytes)
        words = f"must be between {low} and the workload's memory of {high}, which it is part of"
        problems.append(Problem("sharedMemory", f"{words}; it is {text.strip()[:40]}"))
    return size


def _memory(text: str | None, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    try:
        size = parse_memory(text)
    except ValueError as error:
        problems.append(Problem("memory", str(error)))
        return None
    if not MIN_MEMORY <= size <= MAX_MEMORY:
        low, high = format_memory(MIN_MEMORY), format_memory(MAX_MEMORY)
        problems.append(Problem("memory", f"must be between {low} and {high}; it is {text.strip()[:40]}"))
    return size


def _text(problems: list[Problem], field: str, value: str | None, longest: int) -> str | None:
    if value is None or not value.strip():
        return None
    text = value.strip()
    if len(text) > longest or not text.isprintable():
        problems.append(Problem(field, f"must have at most {longest} printable characters"))
    return text


def _check_words(field: str, words: Sequence[str]) -> list[Problem]:
    total = sum(map(sent_size, words))
    if total > MAX_WORDS_BYTES:
        words_about = f"its words together may have {MAX_WORDS_BYTES} bytes as they are sent; these have {total}"
        return [Problem(field, words_about)]
    if len(words) > MAX_WORDS:
        return [Problem(field, f"at most {MAX_WORDS} words are taken; {len(words)} were given")]
    return [
        Problem(f"{field}[{i}]", f"must be Unicode text without NUL, at most {MAX_WORD_BYTES} bytes")
        for i, word in enumerate(words)
        if "\0" in word or len(word.encode("utf-8", "surrogatepass")) > MAX_WORD_BYTES or has_surrogate(word)
    ]
