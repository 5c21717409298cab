"""How long the heaviest requests take that the limits admit, with 100,000 workloads.

Run `python bench/limits.py` (`--quick` for a glance). `gpuyard serve` runs on SQLite, then on PostgreSQL where there is
one. Each request is made as heavy as its kind can be before it is refused: as many pages, searches, orders, counts and
events as one may ask for. The figures are medians, and the service's work, all threads together: on SQLite that is what
the request would take on a core of its own, whatever else this machine does. The headline is the slowest, and its ratio
to a plain page of 50. Aim: none above a second.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import uvloop

from app.domain.filters import SortField
from bench._many import database_urls, filled
from bench._product import Service

AIM_SECONDS = 1.0
SOME = "id name status phase message gpuCount server createdAt exitCode"
ALL = """
  id message cpu gpus envVars { name value } project { slug } attempts { number gpus message }
  events { cursor type status phase reason message at attempt exitCode server workload { id status } }
"""
CONTAINED = ["name", "imageReference", "message", "submittedBy", "server", "cluster"]


@dataclass(frozen=True)
class Took:
    """Seconds until the answer was there, and of the service's work."""

    seconds: float
    work: float


def page(first: int, inside: str, given: str = "") -> str:
    return f"workloads(first: {first} {given}) {{ edges {{ node {{ {inside} }} }} }}"


def conditions() -> str:
    """Ten, of which nine leave nothing out and the last one everything, so that all are tried on every workload."""
    tried = [f'"{name}!@{text}"' for name in CONTAINED for text in ("qq", "zz")]
    return f'filterBy: [{", ".join(tried[:9])}, "message=@qqqq"]'


NOWHERE = 'search: "t r a i qqqq"'  # the first four words are found everywhere
PLAIN = (1, page(50, SOME))
HEAVY: dict[str, tuple[int, str]] = {
    "pages of 500": (5, page(500, SOME)),
    "everything of 90": (1, page(90, ALL)),
    "events of 450": (1, page(450, "events { type }")),
    "attempts of 500": (1, page(500, "attempts { number jobName server gpus message reason }")),
    "searches in vain": (3, page(50, "id", NOWHERE)),
    "ten conditions": (3, page(50, "id", conditions())),
    "counts of a search": (3, f"workloadsCount({NOWHERE})"),
    "a search and its count": (1, f"workloads(first: 50, {NOWHERE}) {{ totalCount edges {{ node {{ id }} }} }}"),
    "counts": (18, "workloadsCount(status: [FAILED])"),
    "deep offsets": (6, page(50, "id", "offset: 80000")),
    "deep offsets, sorted": (3, page(50, "id", "offset: 60000, sortBy: EXIT_CODE")),
    "deleted, sorted": (6, page(50, "id", "deleted: true, sortBy: DELETED_AT")),
    **{f"sorted by {field.value}": (6, page(50, "id", f"sortBy: {field.name}")) for field in SortField},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    rows, times = (10_000, 1) if parser.parse_args().quick else (100_000, 5)
    uvloop.run(measure(rows, times))


async def measure(rows: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as name, database_urls(Path(name)) as urls:
        for kind, url in urls.items():
            async with filled(Path(name), url, rows) as served:
                plain = await measured(served, *PLAIN, 5 * times)
                took = {what: await measured(served, *asked, times) for what, asked in HEAVY.items()}
            say(kind, plain, took)


def say(kind: str, plain: Took, took: Mapping[str, Took]) -> None:
    for what, one in sorted(took.items(), key=lambda item: -item[1].work):
        print(f"{kind}: {HEAVY[what][0]} times {what}: {one.seconds * 1000:.0f} ms, {one.work * 1000:.0f} of work")
    for name, page, slowest in (
        ("taken", plain.seconds, max(one.seconds for one in took.values())),
        ("work", plain.work, max(one.work for one in took.values())),
    ):
        print(f"{kind}, {name}: the slowest / a plain page of {page * 1000:.0f} ms: ratio {slowest / page:.0f}")
        print(f"{kind}, {name}: the slowest / the aim of {AIM_SECONDS:g} s: ratio {slowest / AIM_SECONDS:.2f}")


async def measured(served: Service, count: int, field: str, times: int) -> Took:
    """The medians of a request that asks for the field so many times."""
    fields = " ".join(f"f{number}: {field}" for number in range(count))
    body, took = {"query": f'{{ organization(slug: "bench") {{ {fields} }} }}'}, []
    work = []
    async with httpx2.AsyncClient(trust_env=False, timeout=120) as client:
        for _ in range(times):
            began, worked = time.perf_counter(), worked_seconds(served.pid)
            answer = await client.post(f"{served.url}/graphql", json=body, headers=served.headers)
            took.append(time.perf_counter() - began)
            work.append(worked_seconds(served.pid) - worked)
            if "errors" in answer.json():
                raise SystemExit(f"{field}: {answer.text}")
    return Took(statistics.median(took), statistics.median(work))


def worked_seconds(pid: int) -> float:
    """How long the threads of a process were on a core."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


if __name__ == "__main__":
    main()
