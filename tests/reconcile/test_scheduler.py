"""A tick: who is placed, who is told why not, and when to look again."""

from __future__ import annotations

from app.cluster.port import Kind
from app.domain.observed import ObservedNode
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Resources, Workload
from tests.clock import START
from tests.placement.builders import GPU, node, pod
from tests.reconcile.builders import SERVER, World, name_of, seconds
from tests.store.builders import a_stored_workload, an_organization, loaded, newest


def gpus(count: int, **spec: object) -> dict[str, object]:
    return {"resources": Resources(count, 1000 * count, 2**30), **spec}


async def tick(world: World) -> object:
    return await world.background._scheduler.tick()


async def placed(world: World) -> list[Workload]:
    """Longest waiting first."""
    stored = await newest(world.organization.id, 100)
    return sorted((w for w in stored if w.phase is Phase.CREATING), key=lambda w: w.created_at)


def have(world: World, *nodes: ObservedNode) -> None:
    world.cluster.nodes.clear()
    world.cluster.nodes.update({n.name: n for n in nodes})
    world.watch()


async def test_what_fits_is_placed_and_its_job_is_asked_for(world: World):
    workload = await world.submit(spec=gpus(2))
    await tick(world)
    now = await loaded(workload)
    assert (now.phase, now.reason, now.server, now.attempt) == (Phase.CREATING, Reason.PLACED, SERVER, 1)
    [attempt] = await world.attempts(workload)
    assert (attempt.server, attempt.gpu_resource, attempt.placed_at) == (SERVER, GPU, START)
    assert len(world.loops.jobs.queue) == 1
    assert [e.type for e in await world.events(workload)] == [EventType.SUBMITTED, EventType.PLACED]


async def test_a_toolkit_newer_than_the_servers_driver_is_warned_of(world: World):
    have(world, node(SERVER, 8, cuda="12.2", driver="535.104.05"))
    newer = await world.submit(spec=gpus(1, cuda="12.4"))
    same = await world.submit(spec=gpus(1, cuda="12.2"))
    await tick(world)
    [placed_event] = [e for e in await world.events(newer) if e.type is EventType.PLACED]
    assert "Its CUDA 12.4 is newer than the 12.2 that the server's driver was made for" in placed_event.message
    [quiet] = [e for e in await world.events(same) if e.type is EventType.PLACED]
    assert quiet.message.endswith("its Job is being created")


async def test_who_came_first_is_placed_first(world: World):
    have(world, node(SERVER, 3))
    queue = []
    for _ in range(4):
        queue.append(await world.submit(spec=gpus(1)))
        world.clock.advance(1)
    await tick(world)
    assert [w.id for w in await placed(world)] == [w.id for w in queue[:3]]
    last = await loaded(queue[3])
    assert (last.phase, last.reason) == (Phase.QUEUED, Reason.WAITING_FOR_GPUS)
    assert last.message == (
        "needs 1 GPU; none is free; "
        "it starts on gpu-1 by 2026-11-30 13:33 UTC at the latest, unless something goes before it"
    )


async def test_a_higher_priority_goes_first_whatever_came_before(world: World):
    have(world, node(SERVER, 1))
    await world.submit(spec=gpus(1))
    world.clock.advance(60)
    urgent = await world.submit(spec=gpus(1, priority=Priority.HIGH))
    await tick(world)
    assert [w.id for w in await placed(world)] == [urgent.id]


async def test_the_same_words_are_told_once(world: World):
    have(world, node(SERVER, 1, is_cordoned=True))
    workload = await world.submit(spec=gpus(1))
    for _ in range(3):
        await tick(world)
    assert (await loaded(workload)).reason is Reason.NO_USABLE_SERVER
    assert [e.type for e in await world.events(workload)] == [EventType.SUBMITTED, EventType.WAITING]


async def test_the_reason_follows_the_cluster(world: World):
    workload = await world.submit(spec=gpus(16))
    await tick(world)
    assert (await loaded(workload)).reason is Reason.NEVER_FITS
    have(world, node("big", 16, is_ready=False))
    await tick(world)
    assert (await loaded(workload)).reason is Reason.NO_USABLE_SERVER
    have(world, node("big", 16))
    await tick(world)
    assert (await loaded(workload)).server == "big"


async def test_an_attempt_whose_pod_is_not_seen_yet_holds_its_gpus(world: World):
    have(world, node(SERVER, 4))
    first = await world.submit(spec=gpus(3))
    await tick(world)
    second = await world.submit(spec=gpus(2))
    await tick(world)
    assert (await loaded(second)).reason is Reason.WAITING_FOR_GPUS
    assert "largest free block is 1" in (await loaded(second)).message
    assert [w.id for w in await placed(world)] == [first.id]


async def test_a_claim_outlives_the_process(world: World):
    have(world, node(SERVER, 4))
    await world.submit(spec=gpus(3))
    await tick(world)
    world.restart(world.bus)
    world.watch()
    second = await world.submit(spec=gpus(2))
    await tick(world)
    assert (await loaded(second)).phase is Phase.QUEUED


async def test_a_claim_and_its_pod_are_not_counted_twice(world: World):
    have(world, node(SERVER, 4))
    first = await world.submit(spec=gpus(2))
    await tick(world)
    await world.settle(first)
    world.cluster.start_pod(name_of(first), world.clock.now())
    world.watch()
    await world.submit(spec=gpus(2))
    await tick(world)
    assert len(await placed(world)) == 1
    assert (await loaded(first)).phase is Phase.INITIALIZING


async def test_what_ended_before_it_had_a_pod_gives_its_gpus_back(world: World):
    have(world, node(SERVER, 4))
    first = await world.submit(spec=gpus(4))
    await tick(world)
    await world.cancel(await loaded(first))
    await world.settle(first)
    second = await world.submit(spec=gpus(4))
    await tick(world)
    assert (await loaded(second)).phase is Phase.CREATING


async def test_strangers_pods_count(world: World):
    have(world, node(SERVER, 4))
    world.cluster.pods["u"] = pod(SERVER, gpus=3)
    world.watch()
    workload = await world.submit(spec=gpus(2))
    await tick(world)
    assert (await loaded(workload)).reason is Reason.WAITING_FOR_GPUS


async def test_nothing_is_placed_before_every_kind_was_listed(world: World):
    world.restart(world.bus)
    workload = await world.submit(spec=gpus(1))
    for kinds in ((Kind.NODES,), (Kind.PODS,)):
        world.watch(*kinds)
        assert await tick(world) is None
        assert await loaded(workload) == workload
    world.watch(Kind.JOBS)
    await tick(world)
    assert (await loaded(workload)).phase is Phase.CREATING


async def test_past_its_queue_limit_a_workload_fails(world: World):
    have(world, node(SERVER, 1))
    workload = await world.submit(spec=gpus(2, queue_timeout_seconds=60))
    assert await tick(world) == START + seconds(60)
    world.clock.advance(60)
    assert await tick(world) is None
    done = await loaded(workload)
    assert (done.status, done.reason, done.completed_at) == (Status.FAILED, Reason.QUEUE_TIMEOUT, world.clock.now())
    assert "found no server within 60 s of waiting" in done.message
    assert [e.type for e in await world.events(workload)][-1] is EventType.ENDED
    await tick(world)
    assert len(await world.ends(workload)) == 1


async def test_the_queue_limit_outranks_a_server_that_is_free_too_late(world: World):
    workload = await world.submit(spec=gpus(1, queue_timeout_seconds=60))
    world.clock.advance(61)
    await tick(world)
    assert (await loaded(workload)).status is Status.FAILED


async def test_a_retry_waits_for_its_time(world: World):
    later = START + seconds(30)
    words = {"reason": Reason.BACKING_OFF, "message": "tried on gpu-9"}
    workload = await world.submit(spec=gpus(1), not_before=later, attempt=1, **words)
    assert await tick(world) == later
    assert (await loaded(workload)).message == "tried on gpu-9"
    world.clock.advance(30)
    await tick(world)
    now = await loaded(workload)
    assert (now.phase, now.attempt, now.not_before) == (Phase.CREATING, 2, None)


async def test_a_retry_goes_to_another_server(world: World):
    have(world, node("a", 8), node("b", 8))
    workload = await world.submit(spec=gpus(1), avoid_servers=("a",))
    await tick(world)
    assert (await loaded(workload)).server == "b"


async def test_each_organization_uses_its_own_servers(world: World):
    other = await an_organization("other", is_default=False)
    have(world, node("ours", 4, pool="acme"), node("theirs", 4, pool="other"), node("unlabelled", 1, pool=""))
    mine = [await world.submit(spec=gpus(4)) for _ in range(2)]
    extra = await world.submit(spec=gpus(1))
    theirs = await a_stored_workload(other, spec=gpus(4))
    await tick(world)
    assert sorted([(await loaded(w)).server for w in mine]) == ["", "ours"]
    assert (await loaded(theirs)).server == "theirs"
    assert (await loaded(extra)).server == "unlabelled"  # the first organization owns what nobody named


async def test_a_driver_that_is_too_old_is_stepped_over(world: World):
    have(world, node("old", 8, driver="450.80"), node("new", 8, driver="550.54"))
    workload = await world.submit(spec=gpus(1, cuda="12.4"))
    await tick(world)
    assert (await loaded(workload)).server == "new"
