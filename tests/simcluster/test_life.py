"""What becomes of a Job's pod: every SIM_OUTCOME from creation to its end, on a clock that the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.fleet import gpu_uuids
from app.simcluster.inside.jobs import TRACKING
from app.simcluster.meta import Json, stamp, with_meta
from app.simcluster.resources import EVENTS, JOBS, PODS
from tests.simcluster.world import START, World, conditions, container


def ended(state: Json) -> tuple[int, str]:
    return state["terminated"]["exitCode"], state["terminated"]["reason"]


def devices(pod: Json) -> list[str]:
    found = pod["status"]["containerStatuses"][0].get("allocatedResourcesStatus") or [{"resources": []}]
    return [item["resourceID"] for item in found[0]["resources"]]


def reasons(world: World, key: str) -> list[str]:
    name = key.partition("/")[2]
    return [event["reason"] for event in world.store.objects(EVENTS) if event["involvedObject"]["name"] == name]


def test_from_creation_to_success(world: World):
    key = world.run(gpus=2)
    pod = world.pod(key)
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("gpu-1", "Pending")
    assert world.state(key) == {"waiting": {"reason": "ContainerCreating"}}
    assert devices(pod) == list(gpu_uuids("gpu-1", 4)[:2])
    world.pass_time(1)
    assert world.state(key) == {"running": {"startedAt": stamp(START + 1)}}
    assert conditions(world.pod(key)).keys() >= {"Ready", "ContainersReady", "PodScheduled", "Initialized"}
    assert world.job()["status"]["ready"] == 1
    world.pass_time(4.5)
    assert world.pod(key)["status"]["phase"] == "Succeeded"
    assert world.state(key)["terminated"]["finishedAt"] == stamp(START + 5)
    assert conditions(world.job())["Complete"] == "CompletionsReached"
    assert reasons(world, key) == ["Scheduled", "Pulling", "Pulled", "Created", "Started"]


def test_a_pod_is_its_jobs(world: World):
    job = world.job() if world.run(name="job") else {}
    pod = world.pod(world.pod_of("job"))
    owner = pod["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", job["metadata"]["uid"], True)
    assert pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("env", "phase", "end"),
    [
        ({"exit_code": 3}, "Failed", (3, "Error")),
        ({"outcome": "oom"}, "Failed", (137, "OOMKilled")),
        ({"outcome": "oom", "exit_code": 0}, "Succeeded", (0, "OOMKilled")),
        ({"outcome": "segfault"}, "Failed", (139, "Error")),
        ({"outcome": "sigkill"}, "Failed", (137, "Error")),
        ({"outcome": "sigterm"}, "Failed", (143, "Error")),
        ({"outcome": "start-error"}, "Failed", (128, "StartError")),
        ({"outcome": "no-such"}, "Failed", (128, "StartError")),
    ],
)
def test_ends_by_itself(world: World, env: dict[str, Any], phase: str, end: tuple[int, str]):
    key = world.run(**env)
    world.pass_time(6)
    assert (world.pod(key)["status"]["phase"], ended(world.state(key))) == (phase, end)
    assert "reason" not in world.pod(key)["status"]
    assert ("Failed" if phase == "Failed" else "Complete") in conditions(world.job())


@pytest.mark.parametrize(
    ("env", "code", "end"),
    [({}, 0, (0, "Completed")), ({"exit_code": 3}, 0, (0, "Completed")), ({"outcome": "drain"}, 7, (7, "Error"))],
)
def test_ends_when_it_is_told_to(world: World, env: dict[str, Any], code: int, end: tuple[int, str]):
    key = world.run(seconds=100, **env)
    world.pass_time(3)
    world.cluster.kubelet.exit(world.pod(key), code)
    world.restart()
    world.pass_time(1)
    assert ended(world.state(key)) == end
    assert world.state(key)["terminated"]["finishedAt"] == stamp(START + 3)


def test_only_the_present_try_ends_when_it_is_told_to(world: World):
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [container(1, seconds=100)]}}
    key = world.run(spec={"backoffLimit": 3, "template": template})
    world.pass_time(2)
    world.cluster.kubelet.exit(world.pod(key), 1)
    world.pass_time(30)
    status = world.pod(key)["status"]["containerStatuses"][0]
    assert (status["restartCount"], list(status["state"])) == (1, ["running"])


@pytest.mark.parametrize(
    ("outcome", "reason", "code"),
    [("evicted", "Evicted", 137), ("preempted", "Preempting", 143), ("node-shutdown", "Terminated", 143)],
)
def test_ended_by_its_kubelet(world: World, outcome: str, reason: str, code: int):
    key = world.run(outcome=outcome)
    world.pass_time(6)
    pod = world.pod(key)
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", reason)
    assert conditions(pod)["DisruptionTarget"] == "TerminationByKubelet"
    assert world.state(key)["terminated"]["exitCode"] == code


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("image-missing", {"ErrImagePull", "ImagePullBackOff"}),
        ("image-unauthorized", {"ErrImagePull", "ImagePullBackOff"}),
        ("registry-down", {"ErrImagePull", "ImagePullBackOff"}),
        ("image-invalid", {"InvalidImageName"}),
        ("config-error", {"CreateContainerConfigError"}),
        ("never-starts", {"ContainerCreating"}),
    ],
)
def test_waits_for_ever(world: World, outcome: str, words: set[str]):
    key = world.run(outcome=outcome)
    seen = set()
    for _ in range(40):
        world.pass_time(1)
        seen.add(world.state(key)["waiting"]["reason"])
    assert seen - {"ContainerCreating"} == words - {"ContainerCreating"}
    assert (world.pod(key)["status"]["phase"], conditions(world.job())) == ("Pending", {})


@pytest.mark.parametrize(
    ("outcome", "reason"), [("admission-error", "UnexpectedAdmissionError"), ("out-of-cpu", "OutOfcpu")]
)
def test_refused_by_the_kubelet(world: World, outcome: str, reason: str):
    pod = world.pod(world.run(outcome=outcome))
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", reason)
    assert pod["status"]["message"].startswith("Pod was rejected: ")
    assert "containerStatuses" not in pod["status"]
    assert conditions(world.job())["Failed"] == "BackoffLimitExceeded"


def test_the_deadline_of_a_pod_keeps_it(world: World):
    key = world.run(seconds=100)
    world.store.update(PODS, {**world.pod(key), "spec": {**world.pod(key)["spec"], "activeDeadlineSeconds": 3}})
    world.pass_time(4)
    pod = world.pod(key)
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert ended(world.state(key)) == (143, "Error")
    assert conditions(world.job())["Failed"] == "BackoffLimitExceeded"


def test_what_ends_before_it_began_never_started(world: World):
    key = world.run(outcome="never-starts")
    world.store.update(PODS, {**world.pod(key), "spec": {**world.pod(key)["spec"], "activeDeadlineSeconds": 3}})
    world.pass_time(4)
    assert ended(world.state(key)) == (137, "ContainerStatusUnknown")
    assert "Started" not in reasons(world, key)


def test_a_deadline_against_deaf_ears_ends_in_sigkill(world: World):
    spec = {"restartPolicy": "Never", "activeDeadlineSeconds": 2, "terminationGracePeriodSeconds": 3}
    key = world.bare_pod("deaf", {**spec, "containers": [container(seconds=100, ignore_term=1)]})
    world.pass_time(4.5)
    assert "running" in world.state(key)
    world.pass_time(1)
    assert ended(world.state(key)) == (137, "Error")


def test_the_deadline_of_a_job_takes_the_pod_away(world: World):
    key = world.run(seconds=100, spec={"activeDeadlineSeconds": 3})
    world.pass_time(3)
    assert conditions(world.job())["FailureTarget"] == "DeadlineExceeded"
    world.pass_time(1)
    assert world.store.get(PODS, key) is None
    assert conditions(world.job())["Failed"] == "DeadlineExceeded"


def test_a_finalizer_keeps_what_deletion_would_take(world: World):
    key = world.run(seconds=100)
    world.store.update(PODS, with_meta(world.pod(key), finalizers=[TRACKING, "example.com/keep"]))
    world.pass_time(2)
    world.delete(JOBS, "default/job")
    world.pass_time(1)
    pod = world.pod(key)
    assert (pod["metadata"]["finalizers"], pod["metadata"]["deletionGracePeriodSeconds"]) == (["example.com/keep"], 0)
    assert ended(world.state(key)) == (143, "Error")
    world.store.update(PODS, with_meta(pod, finalizers=[]))
    assert world.store.get(PODS, key) is None


def test_the_end_is_told_before_the_object_goes(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    seen: list[str] = []
    world.store.subscribe(PODS, lambda _old, new: seen.append(new["status"]["phase"] if new else "gone"))
    world.delete(PODS, key)
    world.pass_time(1)
    assert seen[-2:] == ["Failed", "gone"]


def test_devices_are_free_again_when_the_pod_has_ended(world: World):
    first = world.run("first", gpus=4)
    second = world.run("second", gpus=1)
    assert conditions(world.pod(second)) == {}
    world.pass_time(6)
    assert world.pod(first)["status"]["phase"] == "Succeeded"
    assert devices(world.pod(second)) == [gpu_uuids("gpu-1", 4)[0]]


def test_a_pod_that_fits_nowhere_says_so_once(world: World):
    key = world.run(gpus=9)
    world.pass_time(3)
    condition = world.pod(key)["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
    assert condition["message"].startswith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu. ")
    assert reasons(world, key) == ["FailedScheduling"]


def test_a_pod_with_a_node_name_goes_past_the_scheduler(world: World):
    spec = {"nodeName": "gpu-1", "restartPolicy": "Never", "containers": [container(9)]}
    pod = world.pod(world.bare_pod("direct", spec))
    assert pod["status"]["reason"] == "UnexpectedAdmissionError"
    assert "Requested: 9, Available: 4" in pod["status"]["message"]


def test_without_a_device_plugin_it_runs_without_a_gpu(world: World):
    spec = {"nodeName": "cpu-1", "restartPolicy": "Never", "containers": [container(1)]}
    key = world.bare_pod("direct", spec)
    world.pass_time(1)
    assert "running" in world.state(key)
    assert devices(world.pod(key)) == []


def test_too_much_cpu_for_its_node(world: World):
    hungry = {**container(), "resources": {"requests": {"cpu": "99"}}}
    pod = world.pod(world.bare_pod("big", {"nodeName": "cpu-1", "restartPolicy": "Never", "containers": [hungry]}))
    assert pod["status"]["reason"] == "OutOfcpu"
    assert pod["status"]["message"].endswith("cpu, requested: 99000, used: 0, capacity: 8000")


def test_on_failure_starts_the_container_again(world: World):
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [container(1, exit_code=1, seconds=1)]}}
    key = world.run(spec={"backoffLimit": 3, "template": template})
    world.pass_time(2.5)
    assert world.state(key)["waiting"]["reason"] == "CrashLoopBackOff"
    world.pass_time(1)
    status = world.pod(key)["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["state"]["waiting"]["reason"]) == (1, "ContainerCreating")
    assert status["lastState"]["terminated"]["exitCode"] == 1


def test_a_failed_pod_is_replaced_below_the_limit(world: World):
    world.run(exit_code=1, seconds=0, spec={"backoffLimit": 1})
    world.pass_time(6)
    assert world.job()["status"]["failed"] == 2
    assert conditions(world.job())["Failed"] == "BackoffLimitExceeded"


@pytest.mark.parametrize("outcome", ["drain", "pod-deleted", "job-deleted"])
def test_somebody_takes_it_away(world: World, outcome: str):
    key = world.run(outcome=outcome)
    last: list[Json] = []
    world.store.subscribe(PODS, lambda old, new: last.append(new or old or {}))
    world.pass_time(6)
    assert world.store.get(PODS, key) is None
    assert ("DisruptionTarget" in conditions(last[-1])) is (outcome == "drain")
    assert (world.store.get(JOBS, "default/job") is None) is (outcome == "job-deleted")


def test_several_containers_end_the_pod_with_the_last(world: World):
    both = [container(seconds=1, exit_code=2), {**container(seconds=3), "name": "other"}]
    key = world.bare_pod("both", {"restartPolicy": "Never", "containers": both})
    world.pass_time(3)
    assert world.pod(key)["status"]["phase"] == "Running"
    world.pass_time(1.5)
    assert world.pod(key)["status"]["phase"] == "Failed"


def test_the_last_words_become_the_message(world: World):
    asked = {**container(exit_code=1, log_text="no data"), "terminationMessagePolicy": "FallbackToLogsOnError"}
    key = world.bare_pod("words", {"restartPolicy": "Never", "containers": [asked]})
    world.pass_time(6)
    assert world.state(key)["terminated"]["message"] == "no data\n"
