"""What pods use, out of control groups as the kernel and the kubelet lay them out; rates over a clock that is moved."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent.cgroups import PodUse, WithPodUse
from agent.look import Look
from agent.report import MOST_PODS, PodSample
from tests.agent.looks import look
from tests.clock import START, ManualClock

UID = "0f5a3c9e-7b1d-4c55-9a57-2f1f3f0a9b11"
DASHED, UNDERSCORED = UID, UID.replace("-", "_")
PLACES = {
    "systemd": f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice",
    "systemd, guaranteed": f"kubepods.slice/kubepods-pod{UNDERSCORED}.slice",
    "cgroupfs": f"kubepods/besteffort/pod{DASHED}",
    "cgroupfs, guaranteed": f"kubepods/pod{DASHED}",
    "kind": "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
    f"kubelet-kubepods-burstable-pod{UNDERSCORED}.slice",
}
MIB = 2**20


class Groups:
    """A folder of control groups, with one pod at the place."""

    def __init__(self, folder: Path, place: str, version: int = 2) -> None:
        self.folder, self.version = folder, version
        self.cpu, self.memory = (folder / "cpu,cpuacct" / place, folder / "memory" / place) if version == 1 else (
            folder / place,
            folder / place,
        )  # fmt: skip
        for group in (self.cpu, self.memory):
            (group / "cri-containerd-4f2c.scope").mkdir(parents=True, exist_ok=True)
        (folder / "system.slice" / "ssh.service").mkdir(parents=True)
        if version == 1:
            (folder / "cpuacct").symlink_to("cpu,cpuacct")
        else:
            (folder / "cgroup.controllers").write_text("cpu memory\n")
        self.write(0, 0, 0)

    def write(self, seconds: float, mib: int, inactive_mib: int = 0) -> None:
        if self.version == 1:
            (self.cpu / "cpuacct.usage").write_text(f"{seconds * 10**9:.0f}\n")
            (self.memory / "memory.usage_in_bytes").write_text(f"{mib * MIB}\n")
            (self.memory / "memory.stat").write_text(f"inactive_file 1\ntotal_inactive_file {inactive_mib * MIB}\n")
            return
        (self.cpu / "cpu.stat").write_text(f"usage_usec {seconds * 10**6:.0f}\nuser_usec 1\nsystem_usec 2\n")
        (self.memory / "memory.current").write_text(f"{mib * MIB}\n")
        (self.memory / "memory.stat").write_text(f"anon 5\ninactive_file {inactive_mib * MIB}\n")

    def gone(self) -> None:
        for group in {self.cpu, self.memory}:
            group.rename(group.parent / "renamed")


@pytest.fixture
def groups(tmp_path: Path) -> Groups:
    return Groups(tmp_path, PLACES["systemd"])


def use(groups: Groups, clock: ManualClock, *wanted: str) -> PodUse:
    return PodUse(groups.folder, clock, lambda: wanted or (UID,), processors=16)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_pod_is_found_and_its_use_read(tmp_path: Path, clock: ManualClock, place: str, version: int) -> None:
    groups = Groups(tmp_path, place, version)
    pods = use(groups, clock)
    groups.write(100, 1000, 300)
    assert pods.now(START) == (PodSample(UID, START, None, 700),), "of a counter that was read once no rate is known"
    clock.advance(15)
    groups.write(137.5, 500, 600)
    assert pods.now(clock.now()) == (PodSample(UID, clock.now(), 2.5, 0),)


def test_a_counter_that_begins_anew_makes_no_rate(groups: Groups, clock: ManualClock) -> None:
    pods = use(groups, clock)
    cores = []
    for seconds in (1000, 1030, 3, 18, 18):
        groups.write(seconds, 1)
        cores.append(pods.now(clock.now())[0].cpu_cores)
        clock.advance(15)
    assert cores == [None, 2.0, None, 1.0, 0.0]


def test_no_rate_is_more_than_the_machine_can_do(groups: Groups, clock: ManualClock) -> None:
    pods = use(groups, clock)
    cores = []
    for seconds in (0, 240, 10_000, 10_015):
        groups.write(seconds, 1)
        cores.append(pods.now(clock.now())[0].cpu_cores)
        clock.advance(15)
    assert cores == [None, 16.0, None, 1.0]


def test_looks_right_after_each_other_share_a_rate(groups: Groups, clock: ManualClock) -> None:
    """As when an XID comes."""
    pods = use(groups, clock)
    cores = []
    for seconds, pause in ((0, 15.0), (15, 0.1), (15.1, 0.0), (15.1, 14.9), (45, 0.0)):
        groups.write(seconds, 1)
        cores.append(pods.now(clock.now())[0].cpu_cores)
        clock.advance(pause)
    assert cores == [None, 1.0, None, None, 2.0]


def test_only_pods_that_are_wanted_are_told(groups: Groups, clock: ManualClock) -> None:
    assert use(groups, clock, "ffffffff-7b1d-4c55-9a57-2f1f3f0a9b11").now(START) == ()
    many = [f"{number:08x}-7b1d-4c55-9a57-2f1f3f0a9b11" for number in range(MOST_PODS)]
    assert use(groups, clock, *many, UID).now(START) == (), "a report has an end"
    assert PodUse(groups.folder, clock, lambda: ()).now(START) == ()


def test_a_pod_that_goes_and_one_that_comes(groups: Groups, clock: ManualClock) -> None:
    other = UID.replace("0f5a", "1e5a")
    pods = use(groups, clock, UID, other)
    assert [each.pod_uid for each in pods.now(START)] == [UID]
    groups.gone()
    assert pods.now(START) == ()
    clock.advance(15)
    later = Groups(groups.folder / "kubepods.slice", f"kubepods-pod{other}", 2)
    later.write(5, 7)
    assert pods.now(clock.now()) == (PodSample(other, clock.now(), None, 7),)


def test_what_cannot_be_read_is_not_known(groups: Groups, clock: ManualClock) -> None:
    pods = use(groups, clock)
    (groups.memory / "memory.stat").write_text("nothing of the kind\n")
    assert pods.now(START) == ()
    clock.advance(15)
    groups.write(15, 1)
    (groups.memory / "memory.current").unlink()
    assert pods.now(clock.now()) == (PodSample(UID, clock.now(), 1.0, None),)


def test_without_control_groups_nothing_is_known(tmp_path: Path, clock: ManualClock) -> None:
    assert PodUse(tmp_path / "nowhere", clock, lambda: (UID,)).now(START) == ()


class Source:
    closed = False

    def look(self) -> Look:
        return look(START + timedelta(seconds=1))

    def close(self) -> None:
        self.closed = True


def test_a_look_has_both(groups: Groups, clock: ManualClock) -> None:
    source = Source()
    both = WithPodUse(source, use(groups, clock))
    found = both.look()
    assert (len(found.samples), [each.at for each in found.pod_samples]) == (1, [found.at])
    both.close()
    assert source.closed
