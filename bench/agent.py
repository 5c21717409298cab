"""What the agent costs its server: memory and processor time, with eight GPUs under a pretended driver.

    python bench/agent.py [--quick]

A real agent process looks every second, fifteen times as often as by default, asks a real gRPC server in the place of
the kubelet, reads the control groups of eight pods among a hundred, and reports to a service that takes everything. Its
processor time per look, the start left out, gives the share of a core at 15 seconds; memory is the most that it had
resident. It must not write: the kernel's count of what it wrote to disk is read too. Aims: at most 60 MiB, at most 1 %
of a core, nothing written, and an end within a second of SIGTERM. Ends with 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.agent import fake_nvml  # noqa: E402
from tests.agent.kubelet import container, kubelet, pod  # noqa: E402
from tests.agent.machines import Machine, driver, gpu_uuid, h100, nvlink  # noqa: E402
from tests.agent.service import FakeService, receipt  # noqa: E402

GPUS = 8
PODS = 100  # on the node; as many as there are GPUs are workloads'
INTERVAL = 15.0  # seconds, the default
MOST_MIB, MOST_PERCENT, MOST_ENDING = 60.0, 1.0, 1.0
START_LOOKS = 3
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    seconds_per_look: float
    mib: float
    written: int
    ending: float

    @property
    def percent(self) -> float:
        """Of one core, at the default interval."""
        return 100 * self.seconds_per_look / INTERVAL


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ten looks instead of sixty")
    looks = 10 if parser.parse_args().quick else 60
    compiler = fake_nvml.find_compiler()
    if compiler is None:
        print("skipped: there is no C compiler for the pretended driver")
        return 0
    cost = measured(compiler, looks)
    print(f"{GPUS} GPUs, {looks} looks: {1000 * cost.seconds_per_look:.1f} ms of a core per look")
    print(f"at one look in {INTERVAL:.0f} s: {cost.percent:.3f} % of a core (aim: at most {MOST_PERCENT} %)")
    print(f"resident memory: {cost.mib:.1f} MiB at most (aim: at most {MOST_MIB:.0f})")
    print(f"written to disk: {cost.written} bytes (aim: none)")
    print(f"from SIGTERM to its end: {cost.ending:.2f} s (aim: less than {MOST_ENDING:.0f})")
    return int(cost.percent > MOST_PERCENT or cost.mib > MOST_MIB or cost.written > 0 or cost.ending > MOST_ENDING)


def measured(compiler: str, looks: int) -> Cost:
    with tempfile.TemporaryDirectory() as name, serving(Path(name) / "kubelet.sock") as service:
        folder = Path(name)
        fake_nvml.build(compiler, folder)
        make_groups(folder / "cgroup")
        machine = Machine(folder / "machine")
        machine.write(driver(*(h100(index) for index in range(GPUS)), nvlink(*range(GPUS))))
        process = started(folder, service.url)
        try:
            service.until(lambda report: report["sequence"] > START_LOOKS)
            before, first = processor_seconds(process.pid), len(service.reports)
            wait_for(service, first + looks)
            assert len(service.reports[-1]["podSamples"]) == GPUS
            spent = processor_seconds(process.pid) - before
            mib, written = peak_mib(process.pid), written_bytes(process.pid)
            return Cost(spent / looks, mib, written, ending_seconds(process))
        finally:
            process.kill()
            process.wait()


@contextmanager
def serving(socket: Path) -> Iterator[FakeService]:
    pods = b"".join(
        pod("team", f"train-{index}", container("main", {"nvidia.com/gpu": [gpu_uuid(index)]})) for index in range(GPUS)
    )
    service = FakeService()
    service.answer = lambda _: receipt(podUids=[pod_uid(number) for number in range(GPUS)])
    with kubelet(socket, pods):
        yield service
    service.close()


def make_groups(folder: Path) -> None:
    """As the kernel has them under the kubelet's systemd driver; the counters stand still."""
    for number in range(PODS):
        uid = pod_uid(number).replace("-", "_")
        group = folder / "kubepods.slice/kubepods-burstable.slice" / f"kubepods-burstable-pod{uid}.slice"
        group.mkdir(parents=True)
        (group / "cpu.stat").write_text("usage_usec 123456789\nuser_usec 1\nsystem_usec 2\n")
        (group / "memory.current").write_text("1234567890\n")
        (group / "memory.stat").write_text("".join(f"key_{line} {line}\n" for line in range(40)) + "inactive_file 7\n")
    (folder / "cgroup.controllers").write_text("cpu memory\n")


def pod_uid(number: int) -> str:
    return f"{number:08x}-7b1d-4c55-9a57-2f1f3f0a9b11"


def started(folder: Path, url: str) -> subprocess.Popen[bytes]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")},
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": str(folder),
        fake_nvml.VARIABLE: str(folder / "machine"),
        "GPUYARD_URL": url,
        "GPUYARD_AGENT_TOKEN": "secret",
        "GPUYARD_AGENT_INTERVAL": "1",
        "GPUYARD_AGENT_METRICS": "127.0.0.1:0",
        "GPUYARD_KUBELET_SOCKET": str(folder / "kubelet.sock"),
        "GPUYARD_CGROUP_FOLDER": str(folder / "cgroup"),
        "GPUYARD_LOG_LEVEL": "warning",
    }
    return subprocess.Popen([sys.executable, "-m", "agent", "run"], env=environment, cwd=folder)


def wait_for(service: FakeService, count: int) -> None:
    while len(service.reports) < count:
        time.sleep(0.05)


def ending_seconds(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    process.terminate()
    process.wait()
    return time.monotonic() - began


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mib(pid: int) -> float:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1024


def written_bytes(pid: int) -> int:
    lines = dict(line.split(": ", 1) for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(lines["write_bytes"])


if __name__ == "__main__":
    sys.exit(main())
