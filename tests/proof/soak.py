"""The long form of the proofs, by `make soak`: all trials and all plans in turn, until the time is over.

Each round has a seed, printed with it; `--only TRIAL --seed N` runs that round alone. The moments of deaths follow from
the seed, what the machine makes of them doesn't. The exit code is 1 when anything was not as it must be.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import uvloop

from tests.postgres import find_programs, throw_away_server
from tests.proof.installation import Installation, installed
from tests.proof.plans import STORIES, Story, differences, play
from tests.proof.trials import (
    Sent,
    Trouble,
    end_of_trouble,
    faults_of_the_cluster,
    gaps_in_watches,
    kills_of_the_app,
    send,
    stale_views,
    tally,
    under,
    verdict,
)

SECONDS = 240.0
ENDLESS = 10**6


@dataclass(frozen=True)
class Report:
    """What a round has done, and what was wrong with it."""

    done: str
    complaints: list[str]


Round = Callable[[Installation, int, int], Awaitable[Report]]


def trial(trouble: Trouble) -> Round:
    async def run(installation: Installation, seed: int, workloads: int) -> Report:
        work = send(installation, seed, workloads, with_slow=True)
        sent = await under(trouble, ENDLESS, installation, seed, work)
        await end_of_trouble(installation)
        complaints = await verdict(installation, sent, SECONDS)
        return Report(_figures(installation, sent), complaints)

    return run


def _figures(installation: Installation, sent: Sent) -> str:
    kills, struck = installation.kills, installation.relay.struck
    writes = len(installation.relay.writes)
    return (
        f"{len(sent.kinds)} workloads of {len(tally(sent))} kinds, {kills['app']} kills of the app, "
        f"{kills['cluster']} of the cluster, {sum(struck.values())} faults of the network, {writes} writes"
    )


def plans(story: Story) -> Round:
    async def run(installation: Installation, seed: int, _: int) -> Report:
        """Every plan of the story. The seed is in the names only: the plans follow from what is recorded."""
        reference, recorded = await play(installation, story, f"{seed}")
        complaints = [f"{words} is left" for words in reference.left]
        for at in range(1, len(recorded.writes) + 1):
            found, cut = await play(installation, story, f"{seed} {at}", at)
            where = f"killed after {cut.writes[at - 1] if cut.made.is_set() else 'nothing'} ({at})"
            complaints += [f"{where}: {words}" for words in differences(reference, found)]
        return Report(f"{len(recorded.writes)} plans, {installation.kills['app']} kills", complaints)

    return run


ROUNDS: dict[str, tuple[str, Round]] = {
    "crash": ("sqlite", trial(kills_of_the_app)),
    "faults": ("postgres", trial(faults_of_the_cluster)),
    "stale": ("sqlite", trial(stale_views)),
    "gaps": ("postgres", trial(gaps_in_watches)),
    "crash-postgres": ("postgres", trial(kills_of_the_app)),
    **{f"plans-{story.name}": ("postgres", plans(story)) for story in STORIES},
}


async def soak(minutes: float, seed: int, workloads: int, only: str) -> bool:
    """Whether all was well."""
    until, number, is_well = time.monotonic() + minutes * 60, 0, True
    names = [only] if only else list(ROUNDS)
    while number < len(names) or (time.monotonic() < until and not only):
        name = names[number % len(names)]
        began = time.monotonic()
        report = await _one(name, seed + number, workloads)
        seconds = time.monotonic() - began
        count = len(report.complaints) or "no"
        say(f"--only {name} --seed {seed + number}: {report.done}, {seconds:.0f} s: {count} complaints")
        for words in report.complaints:
            say(f"  {words}")
        is_well = is_well and not report.complaints
        number += 1
    return is_well


async def _one(name: str, seed: int, workloads: int) -> Report:
    """On a fresh installation; of one that fails, the folder stays."""
    database, run = ROUNDS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"gpuyard-{name}-"))
    try:
        async with _database(database, folder) as url, installed(folder / "proof", url, seed=seed) as installation:
            report = await run(installation, seed, workloads)
    except (AssertionError, TimeoutError) as error:
        report = Report("ended early", [f"{type(error).__name__}: {error}"])
    if report.complaints:
        return Report(f"{report.done} (all in {folder})", report.complaints)
    await asyncio.to_thread(_remove, folder)
    return report


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


@contextlib.asynccontextmanager
async def _database(kind: str, folder: Path) -> AsyncIterator[str]:
    programs = find_programs()
    if kind == "sqlite" or programs is None:
        yield f"sqlite:///{folder}/gpuyard.db"
        return
    with throw_away_server(programs) as port:
        connection = await asyncpg.connect(f"postgres://postgres@127.0.0.1:{port}/postgres")
        await connection.execute("CREATE DATABASE proof")
        await connection.close()
        yield f"postgres://postgres@127.0.0.1:{port}/proof"


def say(words: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {words}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15, help="rounds begin until then, each kind once at least")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--workloads", type=int, default=500, help="in each trial")
    parser.add_argument("--only", choices=list(ROUNDS), default="", help="one round")
    options = parser.parse_args()
    say(f"soak --seed {options.seed}")
    is_well = uvloop.run(soak(options.minutes, options.seed, options.workloads, options.only))
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
