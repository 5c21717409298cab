"""Lists and watches: pages, resuming, bookmarks, and the projection that is built on them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from app.cluster.kubernetes_port import KubernetesPort
from app.cluster.port import EventKind, GoneError, Kind, UnavailableError, WatchEvent
from app.cluster.projection import Change, Projection
from app.cluster.watches import run_watches
from app.domain.observed import ObservedJob
from tests.contracts.workbench import Workbench, both, has_ended


async def first(bench: Workbench, version: str, name: str) -> WatchEvent:
    """The first event of that Job. Watches end after some seconds, so it may take several of them."""
    async with asyncio.timeout(60):
        while True:
            async with aclosing(bench.port.watch(Kind.JOBS, version)) as events:
                async for event in events:
                    version = event.resource_version
                    if event.item and event.item.name == name:
                        return event


async def test_a_watch_continues_where_another_left(bench: Workbench):
    spec = bench.endless()
    start = (await bench.port.list_all(Kind.JOBS)).resource_version
    job = await bench.start(spec)
    added = await first(bench, start, job.name)
    assert added.kind is EventKind.CHANGED
    assert isinstance(added.item, ObservedJob)
    assert added.item.uid == job.uid
    await bench.port.delete_job(job.name, job.uid)
    seen, version = added, added.resource_version
    while seen.kind is not EventKind.DELETED:
        seen = await first(bench, version, job.name)
        assert seen.resource_version != version
        version = seen.resource_version


async def test_a_silent_watch_is_bookmarked_or_ends(patient_port: KubernetesPort):
    """A real cluster bookmarks after a minute, but only what is newer than the watch: where nothing happens it may say
    nothing at all. Then it is made sure that somebody is there, and that is no error.
    """
    start = (await patient_port.list_all(Kind.JOBS)).resource_version
    async with aclosing(patient_port.watch(Kind.JOBS, start)) as events:
        event = await anext(events, None)
    assert event is None or (event.kind, event.item) == (EventKind.BOOKMARK, None)


async def test_a_list_spans_pages(bench: Workbench):
    jobs = {(await bench.start(bench.spec())).name for _ in range(5)}
    listing = await bench.port.list_all(Kind.JOBS)
    assert jobs <= {job.name for job in listing.items}
    assert len({job.name for job in listing.items}) == len(listing.items)
    assert listing.skipped == 0


async def test_a_version_nobody_has_is_no_watch(bench: Workbench):
    with contextlib.suppress(GoneError, UnavailableError):
        events = [event async for event in bench.port.watch(Kind.JOBS, "99999999999")]
        assert not [event for event in events if event.item]


@asynccontextmanager
async def projected(bench: Workbench) -> AsyncIterator[tuple[Projection, list[Change]]]:
    projection, told = Projection(bench.namespace), list[Change]()
    loops = asyncio.create_task(run_watches(bench.port, projection, time.monotonic, told.append))
    try:
        async with asyncio.timeout(60):
            while not projection.synced:  # noqa: ASYNC110 - as a reconciler would see it
                await asyncio.sleep(0.02)
            yield projection, told
    finally:
        loops.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loops


async def test_the_projection_follows_a_job_to_its_end(bench: Workbench):
    spec = bench.spec("sleep 4", seconds=600)
    async with projected(bench) as (projection, told):
        assert projection.nodes[bench.node.name].uid == bench.node.uid
        projection.remember_job(await bench.start(spec))
        while not [pod for pod in projection.bound_pods() if pod.job_name == spec.job_name]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        _, pod = both(await bench.until(spec.job_name, lambda seen: seen[1] and seen[1].running_since))
        await bench.let_end(pod)
        while not has_ended(projection.observe(spec.job_name)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert not [pod for pod in projection.bound_pods() if pod.job_name == spec.job_name]
        while projection.observe(spec.job_name) != await bench.port.find(spec.job_name):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    of_it = [change for change in told if change.workload_id == str(spec.workload_id)]
    assert {change.kind for change in of_it} == {Kind.JOBS, Kind.PODS}
    assert len([change for change in of_it if change.affects_capacity]) == 2
