"""Servers on record: new, changed, gone, back; and the largest of a pool."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.domain.gpus import WHOLE, GpuLabels, Kind
from app.domain.observed import ObservedNode
from app.domain.server import Cordon, ServerFlags, ServerId
from app.store import servers
from app.store.database import Database, opened
from app.store.models import ClusterServerRow
from app.store.servers import ServerRecord
from tests.clock import START
from tests.placement.builders import GPU, node

LATER = START + timedelta(minutes=1)
LATEST = START + timedelta(minutes=2)
CORDON = Cordon("acme", "ada@example.org", START, "fans")


async def only(slug: str = "acme") -> ServerRecord:
    [record] = await servers.servers_of(slug)
    return record


async def test_a_new_node_goes_on_record(database: Database):
    seen = node("gpu-1", 4, product="A100", driver="550.54", gpu_memory_mib=81920, cuda="12.4")
    await servers.record_nodes("default", [(seen, "acme")], START)
    record = await only()
    assert (record.name, record.organization_slug, record.product, record.driver) == ("gpu-1", "acme", "A100", "550.54")
    assert (record.gpu_total, record.gpu_largest) == (4, 4)
    assert (record.gpu_memory_mib, record.cuda) == (81920, "12.4")
    assert (record.last_seen_at, record.gone_at) == (START, None)


async def test_a_changed_node_changes_its_record(database: Database):
    await servers.record_nodes("default", [(node("gpu-1", 4, driver="535.1"), "acme")], START)
    before = await only()
    await servers.record_nodes("default", [(node("gpu-1", 8, driver="550.54"), "acme")], LATER)
    record = await only()
    assert record.id == before.id
    assert (record.gpu_total, record.driver, record.last_seen_at) == (8, "550.54", LATER)


async def test_a_node_that_is_as_before_is_not_written_again(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    before = await only()
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], LATER)
    assert await only() == before


async def test_a_fact_alone_is_a_change(database: Database):
    """Memory, CPU and CUDA have no column of their own."""
    await servers.record_nodes("default", [(node("gpu-1", gpu_memory_mib=1), "acme")], START)
    await servers.record_nodes("default", [(node("gpu-1", gpu_memory_mib=2), "acme")], LATER)
    assert (await only()).gpu_memory_mib == 2


async def test_a_node_that_moves_to_another_pool_leaves_the_first(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    await servers.record_nodes("default", [(node("gpu-1"), "other")], LATER)
    assert await servers.servers_of("acme") == []
    assert (await only("other")).name == "gpu-1"


async def test_a_node_that_goes_stays_on_record(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme"), (node("gpu-2"), "acme")], START)
    await servers.record_nodes("default", [(node("gpu-2"), "acme")], LATER)
    await servers.record_nodes("default", [(node("gpu-2"), "acme")], LATEST)
    gone, there = await servers.servers_of("acme")
    assert (gone.name, gone.gone_at) == ("gpu-1", LATER)
    assert (there.name, there.gone_at) == ("gpu-2", None)


async def test_a_node_that_comes_back_is_there_again(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    before = await only()
    await servers.record_nodes("default", [], LATER)
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], LATEST)
    record = await only()
    assert (record.id, record.gone_at, record.last_seen_at) == (before.id, None, LATEST)


async def test_one_odd_node_keeps_no_other_off_the_record(database: Database):
    """Labels are other people's: 63 characters of anything."""
    odd = node("gpu-1", driver="550." * 15, product="x" * 63, pool="p" * 63, cuda="9" * 63)
    await servers.record_nodes("default", [(odd, "p" * 63), (node("gpu-2"), "acme")], START)
    assert (await only()).name == "gpu-2"


async def test_the_largest_server_is_of_the_pool_and_counts_unhealthy_and_gone(database: Database):
    broken = node("gpu-2", 8, allocatable_gpus=((GPU, 0),), is_cordoned=True, is_ready=False)
    nodes: list[tuple[ObservedNode, str]] = [(node("gpu-1", 4), "acme"), (broken, "acme"), (node("big", 16), "other")]
    await servers.record_nodes("default", nodes, START)
    assert await servers.largest_server("acme") == ("gpu-2", 8)
    await servers.record_nodes("default", [], LATER)
    assert await servers.largest_server("acme") == ("gpu-2", 8)


async def test_among_equals_the_first_by_name_is_the_largest(database: Database):
    await servers.record_nodes("default", [(node("b"), "acme"), (node("a"), "acme"), (node("c", 1), "acme")], START)
    assert await servers.largest_server("acme") == ("a", 8)


async def test_a_pod_asks_for_one_kind_of_gpu_so_kinds_are_not_added_up(database: Database):
    mixed = node("gpu-1", capacity_gpus=((GPU, 4), ("amd.com/gpu", 2)))
    await servers.record_nodes("default", [(mixed, "acme")], START)
    assert await servers.largest_server("acme") == ("gpu-1", 4)
    assert (await only()).gpu_total == 6


async def test_slices_are_no_whole_gpus(database: Database):
    """Placement never gives a slice for a GPU, so the refusal of a submission must not count them either."""
    sliced = node("gpu-1", capacity_gpus=((GPU, 2), ("nvidia.com/mig-1g.10gb", 14), ("nvidia.com/gpu.shared", 20)))
    await servers.record_nodes("default", [(sliced, "acme")], START)
    assert await servers.largest_server("acme") == ("gpu-1", 2)
    record = await only()
    assert record.gpu_count == 2
    assert record.gpu_counts == {WHOLE: 2, Kind("1g.10gb"): 14, Kind(is_shared=True): 20}


async def test_slices_under_the_plain_name_are_no_whole_gpus_and_a_pool_of_them_has_a_server(database: Database):
    single = node("gpu-1", 7, product="A100-MIG-1g.10gb", compute_capability=(8, 0), shared_gpus=())
    shared = node("gpu-2", 8, product="T4", shared_gpus=(GPU,))
    await servers.record_nodes("default", [(single, "acme"), (shared, "acme")], START)
    assert await servers.largest_server("acme") == ("gpu-1", 0)
    found = {record.name: record for record in await servers.servers_of("acme")}
    assert [record.gpu_counts for record in found.values()] == [{Kind("1g.10gb"): 7}, {Kind(is_shared=True): 8}]
    assert found["gpu-1"].labels == GpuLabels("A100-MIG-1g.10gb", None, (8, 0))


async def test_a_record_from_before_names_were_stored_counts_its_largest(database: Database):
    await servers.record_nodes("default", [(node("gpu-1", 4), "acme")], START)
    row = await ClusterServerRow.get(name="gpu-1")
    facts = {name: value for name, value in row.facts.items() if name in ("gpu_memory_mib", "cuda")}
    await ClusterServerRow.filter(id=row.id).update(facts=facts)
    record = await only()
    assert (record.gpus_total, record.compute_capability, record.shared_gpus) == ({"": 4}, (), ())


async def test_a_pool_without_gpus_has_no_largest_server(database: Database):
    await servers.record_nodes("default", [(node("cpu-1", 0, capacity_gpus=()), "acme")], START)
    assert await servers.largest_server("acme") is None
    assert await servers.largest_server("nobody") is None


async def flag(slug: str = "acme", **changes: Any) -> ServerRecord:
    """The one server of that organization, with its flags changed."""
    before = await only(slug)
    assert await servers.write_flags(before.id, before.flags, replace(before.flags, **changes))
    found = await servers.find_server(before.id)
    assert found is not None
    return found


async def test_flags_survive_the_node_and_the_process(database_url: str):
    async with opened(database_url):
        await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
        await flag(cordon=CORDON, assigned_to="other")
        await servers.record_nodes("default", [(node("gpu-1", 4), "acme")], LATER)
        await servers.record_nodes("default", [], LATER)
    async with opened(database_url):
        await servers.record_nodes("default", [(node("gpu-1"), "third")], LATEST)
        assert (await only("other")).flags == ServerFlags(2, CORDON, "other")
        assert await servers.flagged() == {ServerId("gpu-1", "default"): ServerFlags(2, CORDON, "other")}


async def test_an_assignment_wins_over_the_label_until_it_is_cleared(database: Database):
    await servers.record_nodes("default", [(node("gpu-1", 4), "acme")], START)
    await flag(assigned_to="other")
    assert (await servers.servers_of("acme"), await servers.largest_server("acme")) == ([], None)
    assert await servers.largest_server("other") == ("gpu-1", 4)
    assert [it.organization_slug for it in await servers.servers_in(["default"])] == ["other"]
    await servers.record_nodes("default", [(node("gpu-1", 4), "third")], LATER)
    assert (await only("other")).organization_slug == "other"
    assert (await flag("other", assigned_to="")).organization_slug == "third"


async def test_of_two_who_change_the_flags_one_wins(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    before, changes = await only(), await servers.flag_changes()
    assert await servers.write_flags(before.id, before.flags, replace(before.flags, cordon=CORDON))
    assert not await servers.write_flags(before.id, before.flags, replace(before.flags, assigned_to="other"))
    assert (await only()).flags == ServerFlags(2, CORDON)
    assert await servers.flag_changes() == changes + 1


async def test_the_next_owner_is_not_told_who_cordoned_it_and_why(database: Database):
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    assert (await flag(cordon=CORDON)).cordon == CORDON
    passed_on = (await flag(assigned_to="other")).cordon
    assert passed_on is not None
    assert (passed_on.by, passed_on.reason, passed_on.at) == ("", "", START)
    assert passed_on.words == "cordoned by its former organization"


async def test_without_a_server_no_flag_has_changed(database: Database):
    assert (await servers.flag_changes(), await servers.flagged()) == (0, {})
