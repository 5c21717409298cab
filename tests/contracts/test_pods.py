"""What a container finds around it: volumes, shared memory, capabilities, and the most that a submission may bring."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from app.cluster.log_tail import log_tail
from app.cluster.port import VolumeMount
from app.cluster.transport import Request, Transport
from app.domain.environment import MAX_TOTAL_BYTES, check_environment
from app.domain.observed import ObservedPod
from app.domain.submission import MAX_WORD_BYTES, MAX_WORDS_BYTES, Defaults, Draft, check_submission
from app.domain.volumes import Mount, Volume, VolumeKind
from tests.contracts.workbench import Workbench

MIB = 2**20
# Directories that every Linux node has.
SYSTEM = Volume(uuid4(), "system", VolumeKind.HOST_PATH, "/usr")
SCRATCH = Volume(uuid4(), "scratch", VolumeKind.HOST_PATH, "/tmp")  # noqa: S108
LOCKED = Volume(uuid4(), "locked", VolumeKind.HOST_PATH, "/tmp", read_only=True)  # noqa: S108


def pod_path(pod: ObservedPod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


async def said(bench: Workbench, script: str, text: str, **more: Any) -> str:
    """What the script says on a real node; a simulated one is told to say `text`."""
    _, pod = await bench.ended(bench.spec(script, text=text, **more))
    assert pod.terminated
    assert pod.terminated.exit_code == 0, pod.terminated
    return (await log_tail(bench.port, pod, 100_000)).text.decode()


async def test_shared_memory_has_the_size_that_was_asked_for(bench: Workbench):
    script = "df -k /dev/shm | tail -1 | awk '{print $1, $2}'"
    found = await said(bench, script, "tmpfs 16384", shared_memory_bytes=16 * MIB)
    assert found == "tmpfs 16384\n"


async def test_without_a_size_shared_memory_is_as_large_as_the_memory_at_most(bench: Workbench):
    script = "df -k /dev/shm | tail -1 | awk '{print $2}'"
    assert await said(bench, script, "32768", memory_bytes=32 * MIB) == "32768\n"


async def test_too_much_shared_memory_is_no_space_and_not_a_kill(bench: Workbench):
    script = "dd if=/dev/zero of=/dev/shm/x bs=1M count=9 2>&1 | grep -o 'No space left on device'; true"
    words = "No space left on device"
    assert await said(bench, script, words, shared_memory_bytes=8 * MIB, memory_bytes=64 * MIB) == f"{words}\n"


async def test_volumes_are_where_they_were_asked_for_and_read_only_where_they_are(bench: Workbench):
    mounts = (
        VolumeMount(SYSTEM, "/mnt/a b/system", read_only=True),
        VolumeMount(SCRATCH, "/mnt/scratch"),
        VolumeMount(LOCKED, "/mnt/locked"),
    )
    script = (
        "test -d '/mnt/a b/system/bin' && echo there; f=.gpuyard-$$; touch /mnt/scratch/$f && rm /mnt/scratch/$f &&"
        " echo written; for d in '/mnt/a b/system' /mnt/locked; do touch \"$d/$f\" 2>/dev/null || echo refused; done"
    )
    assert await said(bench, script, "there\nwritten\nrefused\nrefused", mounts=mounts) == (
        "there\nwritten\nrefused\nrefused\n"
    )


async def test_root_may_do_what_installing_software_takes_and_not_what_it_does_not(bench: Workbench):
    script = (
        "cd /root 2>/dev/null || cd /; touch x && chown 1000:1000 x && chmod 640 x && stat -c %u:%g x;"
        " echo who:x:1000:1000::/:/bin/sh >> /etc/passwd; su who -c 'id -u' 2>&1;"
        " mknod device c 1 3 2>/dev/null || echo no device; ping -c 1 -w 1 127.0.0.1 >/dev/null 2>&1 || echo no packet"
    )
    words = "1000:1000\n1000\nno device\nno packet"
    assert await said(bench, script, words) == f"{words}\n"


async def test_labels_are_on_the_job_and_its_pod(bench: Workbench, transport: Transport):
    marks = (("example.org/team", "vision"), ("k" * 63, "v" * 63), ("empty", ""))
    job, pod = await bench.ended(bench.spec(labels=marks))
    for path in (f"/apis/batch/v1/namespaces/{pod.namespace}/jobs/{job.name}", pod_path(pod)):
        document = await transport.call(Request("GET", path))
        assert document["metadata"]["labels"].items() >= dict(marks).items()


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_the_most_that_a_submission_may_bring_runs(bench: Workbench):
    """Names as long as they may be: the API server stores each of them twice."""
    env = tuple((f"N{i}_{'n' * 400}", "é" * 20) for i in range(300))
    left = MAX_TOTAL_BYTES - sum(2 * (len(name) + 2) + 6 * 20 + 2 for name, _ in env)
    env = (*env, *((f"BIG{i}", "$" * (left // 10)) for i in range(4)))
    assert check_environment(env) == []
    word = "x" * (MAX_WORD_BYTES - 3)
    command = ("sh", "-c", 'echo "$#" "${#BIG0}"', "--", *[word] * 3)
    args = (word,) * (MAX_WORDS_BYTES // MAX_WORD_BYTES)
    mounts = [Mount("data", "/" + "p" * 1000)]
    draft = Draft(image="busybox:1.36", env_vars=env, command=command, args=args, mounts=mounts)
    assert check_submission(draft, Defaults()).env_vars == env
    found = await said(
        bench, "", "7 x", command=command, args=args, env_vars=(*env, ("SIM_LOG_TEXT", "7 x"), ("SIM_LOG_LINES", "0"))
    )
    assert found.startswith("7 ")
