"""Raw objects → what we observe: real samples of Kubernetes 1.36 as a whole, then each fact on its own."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.observer import Observer
from app.cluster.port import Kind
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod, Taint, Terminated
from tests.cluster.builders import container_status, job_json, node_json, pod_json, sample

OBSERVER = Observer()


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-30T{clock}Z").astimezone(UTC)


def observed(**changes: Any) -> ObservedPod:
    pod = OBSERVER.pod(pod_json(**changes))
    assert pod
    return pod


def test_a_pod_that_ended_and_is_held_while_it_is_deleted():
    name = "gw-00000000000000000000000000000002-1"
    assert OBSERVER.pod(sample("pod-held")) == ObservedPod(
        uid="97a9995e-23a5-4818-b7a0-48be16673756",
        name=f"{name}-g9vbb",
        namespace="gy-cluster-try",
        job_name=name,
        node="real-1",
        phase="Failed",
        terminated=Terminated(3, "Error", "oops\n", at("13:23:54"), at("13:23:54")),
        created_at=at("13:23:54"),
        pod_started_at=at("13:23:54"),
        deletion_requested_at=at("13:23:57"),
        job_uid="54b06fc8-12fc-4f59-bf94-3cd14d81798c",
        run_limit_seconds=120,
        is_held=True,
        gpus=("GPU-b364d4e1-91a0-5308-b970-55bc33855738",),
        gpu_requests=(("nvidia.com/gpu", 1),),
        cpu_millis=100,
        memory_bytes=64 * 1024**2,
    )


def test_a_running_pod_with_two_gpus():
    pod = OBSERVER.pod(sample("pod-running"))
    assert pod
    assert (pod.phase, pod.running_since, pod.terminated) == ("Running", at("13:23:49"), None)
    assert pod.gpus == ("GPU-b364d4e1-91a0-5308-b970-55bc33855738", "GPU-c57038b1-b9b4-5802-8ec0-1f05446d1beb")
    assert not pod.is_over


def test_the_same_gpus_are_listed_in_the_same_order_later():
    """The kubelet had them the other way round in this one."""
    running, ended = OBSERVER.pod(sample("pod-running")), OBSERVER.pod(sample("pod-deadline"))
    assert running
    assert ended
    assert running.gpus == ended.gpus


def test_a_pod_past_its_deadline_keeps_its_code():
    pod = OBSERVER.pod(sample("pod-deadline"))
    assert pod
    assert (pod.phase, pod.reason, pod.run_limit_seconds) == ("Failed", "DeadlineExceeded", 4)
    assert pod.terminated == Terminated(9, "Error", "", at("13:23:49"), at("13:23:53"))


def test_a_container_that_could_not_start_has_no_start():
    pod = OBSERVER.pod(sample("pod-starterror"))
    assert pod
    assert pod.terminated
    assert (pod.terminated.exit_code, pod.terminated.reason) == (128, "StartError")
    assert (pod.terminated.started_at, pod.terminated.finished_at) == (None, at("13:24:16"))


def test_killed_for_memory():
    pod = OBSERVER.pod(sample("pod-oom"))
    assert pod
    assert pod.terminated
    assert (pod.terminated.exit_code, pod.terminated.reason) == (137, "OOMKilled")


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [("pod-pullbackoff", "ImagePullBackOff", "no such host"), ("pod-badname", "InvalidImageName", "UPPER/Case")],
)
def test_why_a_container_waits(name: str, reason: str, words: str):
    pod = OBSERVER.pod(sample(name))
    assert pod
    assert pod.waiting_reason == reason
    assert words in pod.waiting_message


def test_why_a_pod_has_no_node():
    pod = OBSERVER.pod(sample("pod-unscheduled"))
    assert pod
    assert (pod.node, pod.gpu_requests) == ("", (("nvidia.com/gpu", 9),))
    assert pod.scheduling_message.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def test_a_disruption():
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    assert observed(status={"conditions": [condition]}).disruption == "DeletionByTaintManager"
    assert observed(status={"conditions": [{**condition, "status": "False"}]}).disruption == ""


def test_the_delete_came_before_the_grace_time():
    metadata = {"deletionTimestamp": "2026-11-30T12:00:30Z", "deletionGracePeriodSeconds": 30}
    assert observed(metadata=metadata).deletion_requested_at == at("12:00:00")


def test_only_the_workloads_own_container_counts():
    ended = {"exitCode": 1, "reason": "Error"}
    statuses = [{"name": "proxy", "state": {"terminated": ended}}, {"name": "workload", "state": {"running": {}}}]
    pod = observed(status={"containerStatuses": statuses})
    assert pod.terminated is None


HEALTH = {"a": "Healthy", "b": "Unhealthy", "c": "Unknown"}


def test_shared_devices_lose_their_replica_number():
    devices = [{"resourceID": "GPU-b::1"}, {"resourceID": "GPU-a::3"}, {"resourceID": "GPU-b::2"}]
    resources = [
        {"name": "nvidia.com/gpu.shared", "resources": devices},
        {"name": "example.com/nic", "resources": [{"resourceID": "nic-1"}]},
    ]
    assert observed(status=container_status({}, allocatedResourcesStatus=resources)).gpus == ("GPU-a", "GPU-b")


def test_devices_that_the_plugin_calls_unhealthy():
    devices = [{"resourceID": f"GPU-{name}", "health": health} for name, health in HEALTH.items()]
    resources = [{"name": "nvidia.com/gpu", "resources": [*devices, {"resourceID": "GPU-e"}]}]
    found = observed(status=container_status({}, allocatedResourcesStatus=resources))
    assert (len(found.gpus), found.unhealthy_gpus) == (4, ("GPU-b",))


def test_a_strangers_pod_has_no_job_of_ours():
    metadata = {"labels": {"batch.kubernetes.io/job-name": "gw-0-1"}}
    assert observed(metadata=metadata).job_name == ""


def test_an_end_without_a_code_is_not_taken_for_success():
    assert OBSERVER.pod(pod_json(status=container_status({"terminated": {"reason": "Error"}}))) is None


@pytest.mark.parametrize(
    ("name", "failure", "complete"),
    [
        ("job-running", "", False),
        ("job-succeeded", "", True),
        ("job-exit3", "BackoffLimitExceeded", False),
        ("job-deadline", "BackoffLimitExceeded", False),
    ],
)
def test_real_jobs(name: str, failure: str, complete: bool):
    job = OBSERVER.job(sample(name))
    assert job
    assert (job.failure, job.is_complete, job.is_deleting, job.attempt) == (failure, complete, False, 1)


def test_a_whole_job():
    assert OBSERVER.job(sample("job-exit3")) == ObservedJob(
        uid="54b06fc8-12fc-4f59-bf94-3cd14d81798c",
        name="gw-00000000000000000000000000000002-1",
        namespace="gy-cluster-try",
        workload_id="00000000-0000-0000-0000-000000000002",
        attempt=1,
        failure="BackoffLimitExceeded",
        failure_message="Job has reached the specified backoff limit",
        created_at=at("13:23:54"),
        server="real-1",
        gpu_resource="nvidia.com/gpu",
    )


@pytest.mark.parametrize(("first", "last"), [("FailureTarget", "failure"), ("SuccessCriteriaMet", "is_complete")])
def test_the_interim_condition_is_the_outcome(first: str, last: str):
    status = {"conditions": [{"type": first, "status": "True", "reason": "DeadlineExceeded"}]}
    assert getattr(OBSERVER.job(job_json(status=status)), last)


def test_a_real_node():
    assert OBSERVER.node(sample("node-real")) == ObservedNode(
        name="real-1",
        uid="c6dfda82-1359-4545-85b1-4cffab6f6d3b",
        is_ready=True,
        is_cordoned=False,
        taints=(),
        pressure=(),
        pool="",
        cpu_millis=2000,
        memory_bytes=25171644416,
        capacity_gpus=(("nvidia.com/gpu", 4),),
        allocatable_gpus=(("nvidia.com/gpu", 4),),
    )


def test_a_nodes_labels_taints_and_troubles():
    raw = node_json()
    raw["metadata"]["labels"] = {
        "gpuyard.dev/organization": "acme",
        "nvidia.com/gpu.product": "NVIDIA-L40S",
        "nvidia.com/gpu.memory": "46068",
        "nvidia.com/cuda.driver-version.full": "570.124.06",
        "nvidia.com/cuda.runtime-version.full": "12.8",
    }
    raw["spec"] = {"unschedulable": True, "taints": [{"key": "k", "effect": "NoExecute"}]}
    raw["status"]["conditions"] = [{"type": t, "status": "True"} for t in ("DiskPressure", "KernelDeadlock")]
    node = OBSERVER.node(raw)
    assert node
    assert (node.pool, node.product, node.gpu_memory_mib) == ("acme", "NVIDIA-L40S", 46068)
    assert (node.driver, node.cuda) == ("570.124.06", "12.8")
    assert (node.is_ready, node.is_cordoned, node.pressure) == (False, True, ("DiskPressure",))
    assert node.taints == (Taint("k", "", "NoExecute"),)


def test_compute_capability_and_shares_by_their_labels():
    raw = node_json()
    names = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb")
    raw["status"]["capacity"] = raw["status"]["allocatable"] = dict.fromkeys(names, "4")
    raw["metadata"]["labels"] = {
        "nvidia.com/gpu.compute.major": "8",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-SHARED",
        "nvidia.com/mig-1g.5gb.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED",
        "nvidia.com/mig-2g.10gb.product": "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb",
    }
    node = OBSERVER.node(raw)
    assert node
    assert (node.compute_capability, node.shared_gpus) == ((8, 0), ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb"))
    del raw["metadata"]["labels"]["nvidia.com/gpu.compute.minor"]
    half = OBSERVER.node(raw)
    assert half
    assert half.compute_capability == ()


def test_driver_labels_of_older_releases():
    raw = node_json()
    raw["metadata"]["labels"] = {
        f"nvidia.com/cuda.driver.{part}": number for part, number in (("major", "535"), ("minor", "104"), ("rev", "05"))
    }
    node = OBSERVER.node(raw)
    assert node
    assert (node.driver, node.cuda) == ("535.104.05", "")


def test_which_resources_are_gpus_is_a_setting():
    raw = node_json()
    raw["status"]["allocatable"] = {"amd.com/gpu": "8", "nvidia.com/mig-1g.10gb": "7", "cpu": "1"}
    default, other = OBSERVER.node(raw), Observer(gpu_resources=("amd.com/*",)).node(raw)
    assert default
    assert other
    assert default.allocatable_gpus == (("nvidia.com/mig-1g.10gb", 7),)
    assert other.allocatable_gpus == (("amd.com/gpu", 8),)


KEYS = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "name",
        "uid",
        "namespace",
        "labels",
        "containers",
        "containerStatuses",
        "state",
        "terminated",
        "conditions",
        "type",
        "allocatable",
        "resources",
        "requests",
        "cpu",
        "deletionTimestamp",
        "taints",
        "initContainers",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["x", "True", "2026-11-30"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@given(st.sampled_from(Kind), JSON)
def test_nothing_raises_over_a_malformed_object(kind: Kind, raw: object):
    OBSERVER.observe(kind, raw)


@pytest.mark.parametrize("kind", [Kind.PODS, Kind.JOBS, Kind.NODES])
@pytest.mark.parametrize("part", ["metadata", "spec", "status"])
@pytest.mark.parametrize("wrong", [[], "text", 7, {"name": []}])
def test_a_part_of_the_wrong_shape(kind: Kind, part: str, wrong: object):
    raw = {Kind.PODS: pod_json(), Kind.JOBS: job_json(), Kind.NODES: node_json()}[kind]
    OBSERVER.observe(kind, {**raw, part: wrong})


ODD: st.SearchStrategy[Any] = st.sampled_from(
    (
        *(None, True, 0, -1, 2**31, 2**63, -(2**70), 1.5, "", "x", "\0", "9" * 5000, "1e30", "-5", "0x1F", "१"),
        *([], {}, [None], [[]], [{}], {"": None}, "2026-11-30T12:00:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    )
)
GENUINE = [
    (Kind.PODS, "pod-held"),
    (Kind.PODS, "pod-running"),
    (Kind.PODS, "pod-pullbackoff"),
    (Kind.JOBS, "job-exit3"),
    (Kind.NODES, "node-real"),
]


def places(raw: Any) -> list[tuple[Any, Any]]:
    """Every container of the object with every key or index in it."""
    keys = list(raw) if isinstance(raw, dict) else range(len(raw)) if isinstance(raw, list) else []
    return [place for key in keys for place in [(raw, key), *places(raw[key])]]


@given(st.sampled_from(GENUINE), st.data())
def test_nothing_raises_over_a_genuine_object_with_odd_values(genuine: tuple[Kind, str], data: st.DataObject):
    kind, name = genuine
    raw = sample(name)
    for container, key in data.draw(st.lists(st.sampled_from(places(raw)), min_size=1, max_size=4)):
        container[key] = data.draw(ODD)
    found = OBSERVER.observe(kind, raw)
    if isinstance(found, ObservedPod):
        assert all(0 <= count < 2**63 for _, count in found.gpu_requests)
        assert "\0" not in f"{found}"


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"deletionTimestamp": "2026-11-30T12:00:00Z", "deletionGracePeriodSeconds": 2**62}, {}),
        ({"deletionTimestamp": "+20000-01-01T00:00:00Z"}, {}),
        ({"finalizers": 7}, {}),
        ({}, {"startTime": "yesterday", "conditions": "none", "containerStatuses": [7]}),
    ],
)
def test_whatever_is_odd_about_a_strangers_pod_it_takes_what_it_takes(metadata: Any, status: Any):
    asked = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}}}]}
    pod = OBSERVER.pod(pod_json(metadata={"labels": {}, **metadata}, spec=asked, status=status))
    assert pod
    assert (pod.gpu_requests, pod.holds_capacity) == ((("nvidia.com/gpu", 2),), True)


@pytest.mark.parametrize("amount", ["-2", -2, "1e30", "9" * 60, "9" * 100_000, 2**63])
def test_nobody_takes_less_than_nothing_or_more_than_there_is(amount: object):
    asked = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": amount}}}]}
    assert OBSERVER.pod(pod_json(spec=asked)) is None


def test_a_word_with_a_nought_can_be_stored():
    assert observed(status={"message": "a\0b"}).message == "ab"
