"""The trials: what is done to an installation while workloads of all kinds pass through, and the verdict on it."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.cluster.labels import FINALIZER
from tests.proof.installation import FLEET, Installation
from tests.proof.kinds import KINDS, Kind, submission

AT_ONCE = 8  # submissions in flight
REST_SECONDS = 20.0
NODE_AWAY_SECONDS = 2.5  # long enough to be called NotReady, too short for an eviction
Trouble = Callable[[Installation, random.Random], Awaitable[None]]


@dataclass
class Sent:
    """The workloads of a trial, each with its kind."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)


async def send(installation: Installation, seed: int, count: int, *, with_slow: bool = False) -> Sent:
    """Submit `count` workloads over some seconds and cancel those that are to be cancelled; returns when all that
    was asked for was accepted. The same seed sends the same.
    """
    chance, sent = random.Random(seed), Sent()  # noqa: S311 — reproducible
    kinds = [kind for kind in KINDS if with_slow or not kind.is_slow]
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, kind: Kind, pause: float, fields: Mapping[str, Any]) -> None:
        async with gate:
            await asyncio.sleep(pause)
            workload_id = await installation.submit(f"{seed}-{number}", **fields)
        sent.kinds[workload_id] = kind
        if kind.cancel:
            await asyncio.sleep(cancels[number])
            await installation.cancel(workload_id)

    chosen = [kinds[number % len(kinds)] for number in range(count)]
    chance.shuffle(chosen)
    cancels = [chance.uniform(*kind.cancel) if kind.cancel else 0.0 for kind in chosen]
    plans = [(kind, chance.uniform(0.0, 1.0), submission(kind, chance)) for kind in chosen]
    async with asyncio.TaskGroup() as group:
        for number, plan in enumerate(plans):
            group.create_task(one(number, *plan))
    return sent


async def under(trouble: Trouble, times: int, installation: Installation, seed: int, work: Awaitable[Sent]) -> Sent:
    """The work while there is trouble, so many times at most; it is over when the work is done."""
    troubling = asyncio.create_task(_repeated(trouble, times, installation, random.Random(seed)))  # noqa: S311
    working = asyncio.ensure_future(work)
    await asyncio.wait({troubling, working}, return_when=asyncio.FIRST_COMPLETED)
    if not working.done():
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        troubling.result()  # only a failure ends it
    troubling.cancel()
    await asyncio.gather(troubling, return_exceptions=True)
    return working.result()


async def _repeated(trouble: Trouble, times: int, installation: Installation, chance: random.Random) -> None:
    for _ in range(times):
        await trouble(installation, chance)
    await asyncio.Event().wait()


async def kills_of_the_app(installation: Installation, chance: random.Random) -> None:
    """Some seconds at work, or none: killed while it starts as well."""
    await asyncio.sleep(chance.choice((0.3, 2.0, 5.0)) * chance.random())
    installation.kill_app()
    await asyncio.sleep(chance.choice((0.0, 0.5, 2.0)) * chance.random())
    starting = asyncio.create_task(installation.start_app())
    if chance.random() < 0.2:
        await asyncio.sleep(2.0 * chance.random())
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    else:
        await starting


async def faults_of_the_cluster(installation: Installation, chance: random.Random) -> None:
    """A tenth of everything goes wrong in some way; watches end, versions expire, and the server dies now and then."""
    share = 0.1 / 3
    relay = installation.relay
    relay.faults = replace(relay.faults, lost_requests=0.05, lost_answers=0.05, slow=0.1)
    await installation.strike(rate_429=share, rate_500=share, non_json=share)
    await asyncio.sleep(3.0 * chance.random())
    match chance.choice(("drop", "expire", "hang up", "kill")):
        case "drop":
            await installation.strike(drop_watches=True)
        case "expire":
            await installation.strike(expire_watches=True, drop_watches=True)
        case "hang up":
            relay.drop_watches()
        case "kill":
            installation.kill_cluster()
            await asyncio.sleep(chance.random())
            await installation.start_cluster()


async def stale_views(installation: Installation, chance: random.Random) -> None:
    """Watches and lists show an older moment for some seconds, while writes and single reads go through. In half of
    the cases the app begins anew on that moment.
    """
    await installation.relay.hold()
    await asyncio.sleep(4.0 * chance.random())
    if chance.random() < 0.5:
        installation.kill_app()
        await installation.start_app()
        await asyncio.sleep(2.0 * chance.random())
    installation.relay.release()
    await asyncio.sleep(2.0 * chance.random())


async def gaps_in_watches(installation: Installation, chance: random.Random) -> None:
    """For some seconds nothing is seen, and what happened meanwhile is never told. A node goes and comes in it."""
    installation.relay.close_to_watches()
    name = chance.choice(FLEET)["name"]
    await installation.cluster_asks(f"/simcluster/nodes/{name}/lost?back_seconds={NODE_AWAY_SECONDS}", {})
    await asyncio.sleep(5.0 * chance.random())
    await installation.strike(expire_watches=True)
    installation.relay.open_to_watches()
    await asyncio.sleep(3.0 * chance.random())


async def end_of_trouble(installation: Installation) -> None:
    """Both are up and nothing fails any more."""
    if not installation.cluster.is_running:
        await installation.start_cluster()
    if not installation.app.is_running:
        await installation.start_app()
    relay = installation.relay
    relay.faults = replace(relay.faults, lost_requests=0.0, lost_answers=0.0, slow=0.0)
    relay.release()
    relay.open_to_watches()
    await installation.strike(rate_429=0.0, rate_500=0.0, non_json=0.0)


async def verdict(installation: Installation, sent: Sent, seconds: float) -> list[str]:
    """Everything that is not as it must be once all has ended; nothing, if all is well."""
    await installation.until_all_ended(seconds)
    executions = await installation.executions()
    complaints = []
    for workload_id, kind in sent.kinds.items():
        workload = await installation.workload(workload_id)
        complaints += kind.complaints(workload, executions[workload_id.replace("-", "")])
    return complaints + await leftovers(installation)


async def leftovers(installation: Installation) -> list[str]:
    """What is still there when nothing should be, after a while in which it may go."""
    until = time.monotonic() + REST_SECONDS
    while (found := await _found(installation)) and time.monotonic() < until:  # noqa: ASYNC110 — others are at work
        await asyncio.sleep(0.5)
    return found


async def _found(installation: Installation) -> list[str]:
    jobs = [f"job {_name(job)} is left" for job in await installation.objects("jobs")]
    pods = await installation.objects("pods")
    held = [f"pod {_name(p)} is held" for p in pods if FINALIZER in p["metadata"].get("finalizers", ())]
    live = [
        f"pod {_name(p)} is {p['status']['phase']}" for p in pods if p["status"]["phase"] not in ("Succeeded", "Failed")
    ]
    claimed = [
        f"{s['gpusHealthy'] - s['gpusFree']} GPUs of {s['name']} are taken"
        for s in await installation.servers()
        if s["gpusFree"] != s["gpusHealthy"]
    ]
    return jobs + held + live + claimed


def _name(item: Mapping[str, Any]) -> str:
    name: str = item["metadata"]["name"]
    return name


def tally(sent: Sent) -> Counter[str]:
    """How many workloads of each kind there were."""
    return Counter(kind.name for kind in sent.kinds.values())
