"""A database with many workloads of one organization, all of which have ended: a history to read in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType
from app.store.models import AttemptRow, EventRow, OrganizationRow, ProjectRow, WorkloadRow
from bench._product import ORGANIZATION, Service, service, simulated
from tests.postgres import find_programs, throw_away_server

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
DETAILED = 500  # of the newest, that many have attempts and events
ATTEMPTS, EVENTS = 3, 20
_ENDS = (
    (Status.COMPLETED, Phase.COMPLETED, Reason.EXITED, "ended with exit code 0", 0),
    (Status.COMPLETED, Phase.COMPLETED, Reason.EXITED, "ended with exit code 1", 1),
    (Status.FAILED, Phase.FAILED, Reason.OUT_OF_MEMORY, "was killed for memory", 137),
    (Status.CANCELLED, Phase.CANCELLED, Reason.CANCELLED_BY_USER, "was cancelled", None),
)
_IMAGES = ("nvidia/cuda:12.2.0-base-ubuntu22.04", "registry.example.org/team/training:2026-11-30", "busybox:1.36")
_BATCH = 2000
_NODES = [{"name": "n1", "gpus": 8, "product": "bench", "cpu": "256", "memory": "4Ti"}]
_NO_LIMIT = {"GPUYARD_RATE_LIMIT": "0"}


@contextmanager
def database_urls(folder: Path) -> Iterator[dict[str, str]]:
    """By the database's kind: SQLite in the folder, and PostgreSQL where there is one."""
    urls = {"SQLite": f"sqlite:///{folder}/bench.db"}
    programs = find_programs()
    if programs is None:
        yield urls
        return
    with throw_away_server(programs) as port:
        yield {**urls, "PostgreSQL": f"postgres://postgres@127.0.0.1:{port}/postgres"}


@asynccontextmanager
async def filled(folder: Path, url: str, rows: int) -> AsyncIterator[Service]:
    """The product with so many workloads."""
    async with simulated(folder, _NODES, {}) as kubeconfig:
        fill = partial(add_history, ORGANIZATION, rows)
        async with service(folder, kubeconfig, _NO_LIMIT, database=url, fill=fill) as served:
            yield served


async def add_history(slug: str, rows: int) -> None:
    """So many ended workloads, one in ten of them deleted; the newest with attempts and events."""
    organization = await OrganizationRow.get(slug=slug)
    projects = [
        await ProjectRow.create(organization=organization, slug=name, name=name.title(), created_at=BEGAN)
        for name in ("vision", "speech")
    ]
    for begin in range(0, rows, _BATCH):
        numbers = range(begin, min(rows, begin + _BATCH))
        made = [_workload(number, organization.id, projects[number % 2].id) for number in numbers]
        await WorkloadRow.bulk_create(made, batch_size=500)
    newest = [number for number in range(rows) if not _is_deleted(number)][-DETAILED:]
    await AttemptRow.bulk_create([row for number in newest for row in _attempts(number)], batch_size=500)
    await EventRow.bulk_create([row for number in newest for row in _events(number, organization.id)], batch_size=500)
    await OrganizationRow.filter(id=organization.id).update(event_sequence=rows * EVENTS)
    database = WorkloadRow._meta.db  # noqa: SLF001 — Tortoise names the connection nowhere else
    if database.capabilities.dialect == "postgres":
        await database.execute_script("VACUUM ANALYZE")  # as it does by itself, but later


def workload_id(number: int) -> UUID:
    """As random as a real one, and always the same."""
    return UUID(bytes=sha256(str(number).encode()).digest()[:16], version=4)


def _is_deleted(number: int) -> bool:
    return number % 10 == 3  # noqa: PLR2004


def _workload(number: int, organization_id: UUID, project_id: UUID) -> WorkloadRow:
    status, phase, reason, message, exit_code = _ENDS[number % 4]
    created = BEGAN + timedelta(minutes=number)
    started, ended = created + timedelta(seconds=20), created + timedelta(seconds=20 + number % 3600)
    image = _IMAGES[number % 3]
    return WorkloadRow(
        id=workload_id(number),
        organization_id=organization_id,
        project_id=project_id if number % 5 else None,
        submitted_by=f"person{number % 40}@example.org",
        fingerprint="",
        name=f"training-{number * 7919 % 100_003}",
        image=image,
        gpu_count=1 + number % 8,
        cpu_millis=4000 * (1 + number % 8),
        memory_bytes=2**34 * (1 + number % 8),
        timeout_seconds=3600 + number % 50,
        start_timeout_seconds=1800,
        process={"env_vars": [["MODEL_PATH", "/data/model"], ["BATCH_SIZE", "32"]], "command": [], "args": []},
        labels=[["team", f"t{number % 12}"]],
        mounts=[],
        status=status.value,
        phase=phase.value,
        reason=reason.value,
        message=message,
        version=6,
        attempt=1,
        created_at=created,
        queued_at=created,
        avoid_servers=[],
        started_at=started if exit_code is not None else None,
        completed_at=ended,
        exit_code=exit_code,
        cluster="default",
        server=f"gpu-{number % 100}",
        gpus=[f"GPU-{workload_id(number)}"],
        deleted_at=ended + timedelta(days=1) if _is_deleted(number) else None,
    )


def _attempts(number: int) -> Iterator[AttemptRow]:
    placed = BEGAN + timedelta(minutes=number)
    for attempt in range(1, ATTEMPTS + 1):
        yield AttemptRow(
            workload_id=workload_id(number),
            number=attempt,
            cluster="default",
            server=f"gpu-{number % 100}",
            gpu_resource="nvidia.com/gpu",
            placed_at=placed,
            started_at=placed,
            finished_at=placed,
            exit_code=0,
            gpus=[f"GPU-{workload_id(number)}"],
            reason=Reason.EXITED.value,
            message="ended with exit code 0",
            ended_at=placed,
            log_taken_at=placed,
            cleaned_at=placed,
        )


def _events(number: int, organization_id: UUID) -> Iterator[EventRow]:
    for event in range(EVENTS):
        yield EventRow(
            organization_id=organization_id,
            sequence=1 + number * EVENTS + event,
            workload_id=workload_id(number),
            type=EventType.PROGRESSED.value,
            status=Status.PENDING.value,
            phase=Phase.CREATING.value,
            reason=Reason.STARTING.value,
            message="its container is being made",
            at=BEGAN + timedelta(minutes=number, seconds=event),
            attempt=1,
        )
