"""What a look at the GPUs finds, through pynvml's real ctypes path, on machines that change under it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.gpus import Gpus
from agent.host import Host
from agent.nvml import library_changed
from agent.report import Device, DriverState, Health, HealthReason, MigInstance, Sample
from agent.xids import XidWatch
from tests.agent.machines import Machine, driver, gpu_uuid, h100, h100_with_mig, mig_uuid, nvlink, t4
from tests.clock import ManualClock

PATIENCE_SECONDS = 20


def the_device(gpus: Gpus, index: int = 0) -> Device:
    return next(device for device in gpus.look().inventory.devices if device.index == index)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_h100_with_mig_is_told_whole(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100_with_mig(0), h100(1), h100(2), nvlink(0, 1)))
    inventory = gpus.look().inventory
    assert (inventory.state, inventory.message) == (DriverState.OK, "")
    assert (inventory.driver_version, inventory.cuda_version) == ("580.95.05", "13.0")
    assert inventory.devices[0] == Device(
        uuid=gpu_uuid(0),
        index=0,
        pci_bus_id="00000000:1B:00.0",
        product="NVIDIA H100 80GB HBM3",
        memory_mib=81559,
        architecture="Hopper",
        compute_capability="9.0",
        serial="1651223000000",
        mig_enabled=True,
        mig_instances=(
            MigInstance(mig_uuid(0, 0), "1g.10gb", 9984),
            MigInstance(mig_uuid(0, 2), "3g.40gb", 40448),
        ),
        nvlink_peers=(gpu_uuid(1),),
        persistence_mode=True,
        compute_mode="default",
    )
    assert [device.mig_enabled for device in inventory.devices] == [True, False, False]


def test_an_instance_that_is_just_taken_away_is_left_out(machine: Machine, gpus: Gpus) -> None:
    """Without a UUID the service would refuse the whole report."""
    machine.write({**driver(h100_with_mig(0)), "gpu.0.mig.0.uuid": "!2"})
    found = gpus.look()
    assert [each.uuid for each in found.inventory.devices[0].mig_instances] == [mig_uuid(0, 2)]
    assert [each.device for each in found.samples] == [gpu_uuid(0), mig_uuid(0, 2)]


def test_a_t4_knows_neither_mig_nor_ecc(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(t4(0)))
    look = gpus.look()
    (device,) = look.inventory.devices
    assert (device.mig_enabled, device.architecture, device.compute_mode) == (None, "Turing", "exclusive process")
    assert (device.persistence_mode, device.health.health) == (False, Health.OK)
    assert look.signs[gpu_uuid(0)].double_bit_errors is None


def test_samples_have_their_units_and_no_false_zeros(machine: Machine, gpus: Gpus, clock: ManualClock) -> None:
    machine.write(driver(h100_with_mig(0), t4(1)))
    machine.forget("gpu.1.power")
    at = clock.now()
    assert gpus.look().samples == (
        Sample(gpu_uuid(0), at, None, 12000, 512.3, 61.0, 1980),  # under MIG there is no utilization
        Sample(mig_uuid(0, 0), at, memory_used_mib=100),
        Sample(mig_uuid(0, 2), at, memory_used_mib=300),
        Sample(gpu_uuid(1), at, 0.0, 0, None, 34.0, 300),
    )


def test_a_profile_without_a_name_follows_from_slices_and_memory(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100_with_mig(0)))
    machine.set(**{"gpu.0.mig.0.name": "NVIDIA H100 80GB HBM3", "gpu.0.mig.2.name": "!3"})
    machine.set(**{"gpu.0.mig.2.compute_slices": 1})
    assert [instance.profile for instance in the_device(gpus).mig_instances] == ["1g.10gb", "1c.3g.40gb"]


def test_instances_that_were_made_anew_are_found(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100_with_mig(0)))
    assert len(the_device(gpus).mig_instances) == 2
    machine.forget("gpu.0.mig.2")
    assert [instance.uuid for instance in the_device(gpus).mig_instances] == [mig_uuid(0, 0)]
    machine.set(gpu__0__mig_mode=0)
    assert the_device(gpus).mig_instances == ()


@pytest.mark.parametrize(
    ("code", "reason"), [(15, HealthReason.LOST), (16, HealthReason.RESET_REQUIRED), (999, HealthReason.NVML_ERROR)]
)
def test_a_gpu_that_is_lost_while_running_stays_known(
    machine: Machine, gpus: Gpus, clock: ManualClock, code: int, reason: HealthReason
) -> None:
    machine.write(driver(h100(0), h100(1)))
    before = the_device(gpus, 1)
    lost_at = clock.now()
    machine.set(gpu__1__error=code)
    for _ in range(3):
        look = gpus.look()
        clock.advance(60)
    lost = look.inventory.devices[1]
    assert (lost.uuid, lost.product, lost.memory_mib) == (before.uuid, before.product, before.memory_mib)
    assert (lost.health.health, lost.health.reason, lost.health.since) == (Health.FAILED, reason, lost_at)
    assert [sample.device for sample in look.samples] == [gpu_uuid(0)]
    assert look.inventory.devices[0].health.health is Health.OK


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetP2PStatus", "nvmlDeviceGetSupportedEventTypes", "nvmlEventSetCreate"]
)
def test_a_gpu_that_is_lost_between_two_questions_breaks_nothing(machine: Machine, gpus: Gpus, function: str) -> None:
    machine.write({**driver(h100(0), h100(1), nvlink(0, 1)), f"fail.{function}": 15})
    assert [device.health.health for device in gpus.look().inventory.devices] == [Health.OK, Health.OK]


def test_a_gpu_without_a_handle_is_the_one_that_was_there(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0), h100(1)))
    gpus.look()
    machine.set(gpu__0__handle=15)
    inventory = gpus.look().inventory
    assert [device.health.reason for device in inventory.devices] == [HealthReason.LOST, None]
    assert inventory.message == ""


def test_a_gpu_that_was_lost_before_the_start_is_told_by_its_place(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0), h100(1)))
    machine.set(gpu__1__handle=15)
    inventory = gpus.look().inventory
    assert [device.uuid for device in inventory.devices] == [gpu_uuid(0)]
    assert inventory.message == "GPU 1: NVML error 15: GPU is lost"


def test_a_gpu_that_is_not_counted_any_more_fell_off_the_bus_until_it_is_back(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0), h100(1)))
    gpus.look()
    machine.forget("gpu.1.")
    assert the_device(gpus, 1).health.reason is HealthReason.OFF_THE_BUS
    machine.write(driver(h100(0), h100(1)))
    assert the_device(gpus, 1).health.health is Health.OK


def test_a_driver_that_goes_and_comes_back_is_a_state(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0)))
    gpus.look()
    machine.set(**{"fail.nvmlDeviceGetCount_v2": 9, "init.error": 9})
    look = gpus.look()
    assert (look.inventory.state, look.inventory.devices, look.samples) == (DriverState.NO_DRIVER, (), ())
    machine.write({**driver(h100(0), version="590.44.01"), "init.error": 18})
    assert gpus.look().inventory.state is DriverState.MISMATCH
    machine.write(driver(h100(0), version="590.44.01"))
    inventory = gpus.look().inventory
    assert (inventory.state, inventory.driver_version, len(inventory.devices)) == (DriverState.OK, "590.44.01", 1)


def test_no_gpu_is_told_with_what_the_bus_has(machine: Machine, gpus: Gpus, host: Host) -> None:
    for address, vendor, kind in (("0000:1b:00.0", "0x10de", "0x030200"), ("0000:1b:00.1", "0x10de", "0x040300")):
        place = host.root / "sys/bus/pci/devices" / address
        place.mkdir(parents=True)
        (place / "vendor").write_text(vendor + "\n")
        (place / "class").write_text(kind + "\n")
    machine.write(driver())
    inventory = gpus.look().inventory
    assert inventory.state is DriverState.NO_GPU
    assert "1 NVIDIA GPU is on the PCI bus" in inventory.message


def test_xids_come_while_nobody_looks(machine: Machine, gpus: Gpus, xids: XidWatch) -> None:
    machine.write(driver(h100(0), h100(1)))
    gpus.look()
    machine.event(0, 31)  # the program's fault
    machine.event(1, 74)
    seen: list[dict[str, int]] = []

    def both_came() -> bool:
        seen.append(dict(gpus.look().last_xids))
        return seen[-1] == {gpu_uuid(0): 31, gpu_uuid(1): 74}

    until(both_came)
    first, second = gpus.look().inventory.devices
    assert first.health.health is Health.OK
    assert (second.health.health, second.health.reason, second.health.xid) == (Health.FAILED, HealthReason.XID, 74)


def test_an_xid_wakes_who_waits_for_it(machine: Machine, host: Host, clock: ManualClock) -> None:
    machine.write(driver(t4(0)))
    woken: list[None] = []
    xids = XidWatch(lambda: woken.append(None), wait_seconds=0.02)
    gpus = Gpus(host, clock, NoHolders(), xids)
    gpus.look()
    machine.event(0, 79)
    until(lambda: bool(woken))
    gpus.close()
    assert xids.taken() == {gpu_uuid(0): (79,)}


class NoHolders:
    want_processes = False

    def now(self, _: object) -> None:
        return None


def test_a_driver_that_is_loaded_anew_forgives_an_xid(machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0)))
    gpus.look()
    machine.event(0, 79)
    until(lambda: the_device(gpus).health.reason is HealthReason.XID)
    machine.set(**{"fail.nvmlDeviceGetCount_v2": 1})  # not initialized: somebody unloaded it
    gpus.look()
    machine.write({key: value for key, value in machine.values.items() if not key.startswith("fail.")})
    assert the_device(gpus).health.health is Health.OK


@pytest.mark.parametrize(
    ("change", "reason", "level"),
    [
        ({"gpu.0.ecc.double": 2}, HealthReason.ECC_DOUBLE_BIT, Health.FAILED),
        ({"gpu.0.remapped": "1 0 1 0"}, HealthReason.REMAP_PENDING, Health.WARNING),
        ({"gpu.0.remapped": "8 1 0 1"}, HealthReason.REMAP_FAILED, Health.FAILED),
        ({"gpu.0.retirement_pending": 1}, HealthReason.RETIREMENT_PENDING, Health.WARNING),
        ({"gpu.0.throttle": 0x40}, HealthReason.THERMAL, Health.WARNING),
        ({"gpu.0.throttle": 0x20}, HealthReason.THERMAL, Health.WARNING),
        ({"gpu.0.throttle": 0x88}, HealthReason.POWER, Health.WARNING),
        ({"gpu.0.throttle": 0x5}, None, Health.OK),
    ],
)
def test_signs_are_read_from_the_driver(
    machine: Machine,
    gpus: Gpus,
    clock: ManualClock,
    change: dict[str, str | int],
    reason: HealthReason | None,
    level: Health,
) -> None:
    machine.write({**driver(h100(0)), **change})
    for _ in range(4):
        device = the_device(gpus)
        clock.advance(15)
    assert (device.health.reason, device.health.health) == (reason, level)


def test_a_library_that_was_replaced_on_disk_is_noticed(machine: Machine, new_driver: Path, tmp_path: Path) -> None:
    """By the kernel's word on what this process has loaded; a replaced file is one with another inode."""
    assert not library_changed()
    inode = new_driver.stat().st_ino
    for inode_then, path, changed in (
        (inode, new_driver, False),
        (inode + 1, new_driver, True),
        (inode, f"{new_driver} (deleted)", True),
        (inode, tmp_path / "libnvidia-ml.so.570.86.10", True),
    ):
        maps = tmp_path / "maps"
        maps.write_text(f"7f00-7f10 r-xp 00000000 08:01 {inode_then}     {path}\n")
        assert library_changed(maps) is changed
