"""A page of 50 workloads out of 100,000 against a bare Strawberry schema that serves constants.

Run `python bench/list.py` (`--quick` for a glance). `gpuyard serve` runs on SQLite, then on PostgreSQL where there is
one, each with 100,000 ended workloads. Both servers get the same selection over the same HTTP stack in turn, so that
whatever else the machine does meets both; the figure is the ratio of the medians. Aim: at most 2. The bare schema has
no database, looks no token up and keeps no limits; the product keeps parsed documents and the bare one does not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvloop

from bench._many import database_urls, filled
from bench._product import address_in, process

AIM = 2.0
QUERY = """
query(
  $first: Int!, $after: String, $offset: Int! = 0, $status: [%s!], $search: String, $sortBy: %s
  $counted: Boolean = false
) {
  organization(slug: "bench") {
    workloads(first: $first, after: $after, offset: $offset, status: $status, search: $search, sortBy: $sortBy) {
      totalCount @include(if: $counted)
      pageInfo { hasNextPage endCursor }
      edges { node { id name status phase message gpuCount server createdAt exitCode } }
    }
  }
}
"""
OURS, BARE = QUERY % ("WorkloadStatus", "WorkloadSortField"), QUERY % ("String", "String")
PAGES: dict[str, dict[str, Any]] = {
    "first page": {},
    "page behind 80,000": {"after": ""},
    "of one status": {"status": ["FAILED"]},
    "sorted by name": {"sortBy": "NAME"},
    "found by search": {"search": "training-77"},
    "with the count of all": {"counted": True},
}


@dataclass(frozen=True)
class Server:
    """An address and what is sent there."""

    url: str
    query: str
    headers: dict[str, str]

    async def ask(self, client: httpx2.AsyncClient, wanted: dict[str, Any]) -> tuple[float, Any]:
        """Seconds until the whole answer is there, and its page."""
        body = {"query": self.query, "variables": {"first": 50, **wanted}}
        began = time.perf_counter()
        answer = await client.post(self.url, json=body, headers=self.headers)
        seconds = time.perf_counter() - began
        if answer.status_code != httpx2.codes.OK or "errors" in answer.json():
            raise SystemExit(answer.text)
        return seconds, answer.json()["data"]["organization"]["workloads"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    rows, times = (10_000, 20) if parser.parse_args().quick else (100_000, 100)
    uvloop.run(compare(rows, times))


async def compare(rows: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as name, database_urls(Path(name)) as urls:
        for kind, url in urls.items():
            async with bare(Path(name)) as other, filled(Path(name), url, rows) as served:
                ours = Server(f"{served.url}/graphql", OURS, served.headers)
                for page, wanted in PAGES.items():
                    say_ratio(f"{kind}, {page}", *await measured(ours, other, wanted, rows, times))


@asynccontextmanager
async def bare(folder: Path) -> AsyncIterator[Server]:
    log = folder / "bare.log"
    with process([sys.executable, "-m", "bench._bare"], {}, log):
        yield Server(await address_in(log, "serves "), BARE, {})


async def measured(
    ours: Server, other: Server, wanted: dict[str, Any], rows: int, times: int
) -> tuple[list[float], list[float]]:
    """Seconds of each, asked in turn, after a few that warm up."""
    pairs: list[list[float]] = []
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        if "after" in wanted:
            _, before = await ours.ask(client, {"offset": int(rows * 0.8)})
            wanted = {"after": before["pageInfo"]["endCursor"]}
        while len(pairs) < times + 5:
            pairs += [[(await server.ask(client, wanted))[0] for server in (ours, other)]]
    return [pair[0] for pair in pairs[5:]], [pair[1] for pair in pairs[5:]]


def say_ratio(what: str, ours: list[float], theirs: list[float]) -> None:
    mine, other = statistics.median(ours) * 1000, statistics.median(theirs) * 1000
    print(f"{what}: {mine:.1f} ms, bare {other:.1f} ms, ratio {mine / other:.2f} of {len(ours)} (aim: at most {AIM:g})")


if __name__ == "__main__":
    main()
