"""Who has which GPU: from a kubelet's socket, a real gRPC server here, and from the control groups of processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.gpus import Gpus
from agent.holders import ProcessHolders
from agent.host import Host
from agent.kubelet import KubeletHolders, chosen_holders
from agent.podresources import PodResources
from agent.report import Holder
from agent.xids import XidWatch
from tests.agent.kubelet import container, kubelet, part, pod
from tests.agent.machines import Machine, driver, gpu_uuid, h100, h100_with_mig, mig_uuid
from tests.clock import ManualClock

POD_UID = "0f5a3c9e-7b1d-4c55-9a57-2f1f3f0a9b11"


@pytest.fixture
def socket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("k") / "kubelet.sock"  # short: a socket's path has some hundred characters at most


@pytest.fixture
def holders(socket: Path) -> Iterator[KubeletHolders]:
    pods = PodResources(socket)
    yield KubeletHolders(pods)
    pods.close()


@pytest.fixture
def seen_by_kubelet(machine: Machine, host: Host, clock: ManualClock, holders: KubeletHolders) -> Iterator[Gpus]:
    machine.write(driver(h100_with_mig(0), h100(1), h100(2)))
    gpus = Gpus(host, clock, holders, XidWatch(wait_seconds=0.02))
    yield gpus
    gpus.close()


def test_whole_gpus_shares_and_slices_are_told_apart(socket: Path, seen_by_kubelet: Gpus) -> None:
    share = f"{gpu_uuid(2)}::3"
    answer = (
        pod("team-a", "train-0", container("main", {"nvidia.com/gpu": [gpu_uuid(1)], "vendor.com/nic": ["eth1"]}))
        + pod("team-b", "notebook", container("web", {}), container("lab", {"nvidia.com/gpu.shared": [share]}))
        + pod("team-b", "small", container("main", {"nvidia.com/mig-1g.10gb": [mig_uuid(0, 0)]}))
    )  # fmt: skip
    with kubelet(socket, answer):
        found = seen_by_kubelet.look().holders
    assert found == (
        Holder(gpu_uuid(1), "team-a", "train-0", container="main"),
        Holder(gpu_uuid(2), "team-b", "notebook", container="lab", is_shared=True),
        Holder(mig_uuid(0, 0), "team-b", "small", container="main"),
    )


def test_device_files_and_claims_are_turned_into_uuids(socket: Path, seen_by_kubelet: Gpus) -> None:
    claim = part(5, part(2, "claim") + part(4, part(2, "gpu.nvidia.com") + part(3, "node") + part(4, "gpu-2")))
    other = part(5, part(4, part(2, "nic.example.com") + part(4, "gpu-1")))
    answer = pod("a", "gke", container("main", {"nvidia.com/gpu": ["nvidia1"]})) + pod(
        "a", "dra", container("main", {}, claim + other)
    )
    with kubelet(socket, answer):
        found = seen_by_kubelet.look().holders
    assert found == (
        Holder(gpu_uuid(1), "a", "gke", container="main"),
        Holder(gpu_uuid(2), "a", "dra", container="main"),
    )


def test_nobody_is_another_answer_than_none(socket: Path, seen_by_kubelet: Gpus) -> None:
    assert seen_by_kubelet.look().holders is None
    with kubelet(socket, RuntimeError("rate limit exceeded")):
        assert seen_by_kubelet.look().holders is None


def test_a_kubelet_that_comes_back_is_found_again(socket: Path, seen_by_kubelet: Gpus) -> None:
    answer = pod("a", "p", container("main", {"nvidia.com/gpu": [gpu_uuid(1)]}))
    with kubelet(socket, b""):
        assert seen_by_kubelet.look().holders == ()
    assert seen_by_kubelet.look().holders is None
    with kubelet(socket, answer):
        until_told(seen_by_kubelet)


def until_told(gpus: Gpus) -> None:
    """gRPC waits a little before it connects anew."""
    deadline = time.monotonic() + 20
    while not gpus.look().holders:
        assert time.monotonic() < deadline
        time.sleep(0.02)


CGROUPS = {
    "v2, systemd": f"0::/kubepods.slice/kubepods-burstable-pod{POD_UID.replace('-', '_')}.slice/cri-x.scope",
    "v2, cgroupfs": f"0::/kubepods/burstable/pod{POD_UID}/4f2c",
    "v1": f"12:memory:/kubepods/besteffort/pod{POD_UID}/4f2c\n11:cpu:/kubepods/besteffort/pod{POD_UID}/4f2c",
}


@pytest.mark.parametrize("group", CGROUPS.values(), ids=CGROUPS)
def test_without_a_kubelet_processes_tell_the_pod(machine: Machine, gpus: Gpus, host: Host, group: str) -> None:
    machine.write(driver(h100_with_mig(0), h100(1)))
    write_group(host, 4711, group)
    write_group(host, 4712, "0::/system.slice/ssh.service")
    machine.set(**{"gpu.0.process.0": "4711 1048576 9 0", "gpu.1.process.0": "4711 1048576"})
    machine.set(**{"gpu.1.process.1": "4712 1048576", "gpu.1.process.2": "4713 1048576"})
    assert gpus.look().holders == (
        Holder(gpu_uuid(1), "", "", pod_uid=POD_UID),
        Holder(mig_uuid(0, 2), "", "", pod_uid=POD_UID),
    )


def write_group(host: Host, pid: int, text: str) -> None:
    place = host.root / "proc" / str(pid)
    place.mkdir(parents=True)
    (place / "cgroup").write_text(text + "\n")


def test_the_kubelets_word_is_taken_where_its_folder_is(tmp_path: Path, host: Host) -> None:
    assert isinstance(chosen_holders(tmp_path / "kubelet.sock", host), KubeletHolders)
    assert isinstance(chosen_holders(tmp_path / "nowhere" / "kubelet.sock", host), ProcessHolders)
