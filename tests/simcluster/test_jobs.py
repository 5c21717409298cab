"""The Job controller's next step for every constellation of pods that matters."""

from __future__ import annotations

from typing import Any

from app.simcluster.inside.jobs import TRACKING, Decision, decide_job
from app.simcluster.meta import Json, stamp
from app.simcluster.settings import Settings
from tests.simcluster.world import conditions

NOW = 1_780_000_000.0
SETTINGS = Settings(pod_retry_seconds=10, pod_retry_max_seconds=600)


def job(status: Json | None = None, **spec: Any) -> Json:
    template = {"spec": {"restartPolicy": spec.pop("restartPolicy", "Never")}}
    filled = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": template, **spec}
    return {"metadata": {"name": "j", "uid": "u"}, "spec": filled, "status": status or {}}


def pod(phase: str = "Running", *, tracked: bool = True, going: bool = False, **status: Any) -> Json:
    metadata: Json = {"name": f"p-{phase}", "namespace": "d", "uid": f"uid-{phase}", "creationTimestamp": stamp(NOW)}
    if tracked:
        metadata["finalizers"] = [TRACKING]
    if going:
        metadata["deletionTimestamp"] = stamp(NOW)
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase, **status}}


def decide(wanted: Json, *pods: Json, now: float = NOW) -> Decision:
    return decide_job(wanted, pods, now, SETTINGS)


def reasons(decision: Decision) -> dict[str, str]:
    return conditions({"status": decision.status})


def step(wanted: Json, decision: Decision) -> Json:
    return {**wanted, "status": decision.status}


def test_a_new_job_gets_a_pod():
    decision = decide(job())
    assert (decision.create, decision.delete, decision.release) == (1, (), ())
    assert decision.status == {
        "startTime": stamp(NOW),
        "active": 1,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "ready": 0,
    }


def test_success_takes_two_steps():
    first = decide(job(), pod("Succeeded"))
    assert reasons(first) == {"SuccessCriteriaMet": "CompletionsReached"}
    assert first.release == ("d/p-Succeeded",)
    assert first.status["uncountedTerminatedPods"] == {"succeeded": ["uid-Succeeded"]}
    assert "succeeded" not in first.status
    second = decide(step(job(), first), pod("Succeeded", tracked=False))
    assert reasons(second) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert (second.status["succeeded"], second.status["completionTime"]) == (1, stamp(NOW))


def test_failure_takes_two_steps():
    first = decide(job(), pod("Failed"))
    assert reasons(first) == {"FailureTarget": "BackoffLimitExceeded"}
    second = decide(step(job(), first), pod("Failed", tracked=False))
    assert reasons(second)["Failed"] == "BackoffLimitExceeded"
    assert second.status["failed"] == 1
    assert "completionTime" not in second.status
    assert [event.reason for event in second.events] == ["BackoffLimitExceeded"]


def test_below_the_limit_a_failed_pod_is_replaced_after_a_while():
    wanted = job({"failed": 1}, backoffLimit=3)
    failed = pod("Failed", tracked=False)
    assert (decide(wanted, failed).create, decide(wanted, failed).next_at) == (0, NOW + 10)
    assert decide(wanted, failed, now=NOW + 10).create == 1


def test_the_wait_doubles():
    assert decide(job({"failed": 3}, backoffLimit=9), pod("Failed", tracked=False)).next_at == NOW + 40


def test_with_on_failure_restarts_count():
    running = pod("Running", containerStatuses=[{"restartCount": 1, "state": {}}])
    assert reasons(decide(job(restartPolicy="OnFailure"), running)) == {"FailureTarget": "BackoffLimitExceeded"}
    assert not reasons(decide(job(restartPolicy="OnFailure", backoffLimit=2), running))


def test_a_deadline_deletes_the_pod_and_waits_for_its_end():
    wanted = job({"startTime": stamp(NOW - 60)}, activeDeadlineSeconds=60)
    first = decide(wanted, pod("Running"))
    assert reasons(first) == {"FailureTarget": "DeadlineExceeded"}
    assert first.delete == ("d/p-Running",)
    going = decide(step(wanted, first), pod("Running", going=True))
    assert "Failed" not in reasons(going)
    assert going.status["terminating"] == 1
    last = decide(step(wanted, going))
    assert reasons(last)["Failed"] == "DeadlineExceeded"


def test_a_deadline_ahead_is_looked_at_in_time():
    wanted = job({"startTime": stamp(NOW)}, activeDeadlineSeconds=60)
    assert decide(wanted, pod("Running")).next_at == NOW + 60


def test_a_pod_on_its_way_out_has_failed_with_the_default_policy():
    decision = decide(job(), pod("Running", going=True))
    assert reasons(decision) == {"FailureTarget": "BackoffLimitExceeded"}


def test_with_policy_failed_it_is_waited_for():
    decision = decide(job(podReplacementPolicy="Failed"), pod("Running", going=True))
    assert (reasons(decision), decision.create, decision.status["terminating"]) == ({}, 0, 1)


def test_suspending_releases_before_it_deletes():
    decision = decide(job({"startTime": stamp(NOW)}, suspend=True), pod("Running"))
    assert (decision.release, decision.delete, decision.create) == (("d/p-Running",), ("d/p-Running",), 0)
    assert reasons(decision) == {"Suspended": "JobSuspended"}
    assert "startTime" not in decision.status


def test_resuming_begins_the_clock_anew():
    suspended = decide(job(suspend=True), now=NOW - 100).status
    decision = decide(job(suspended))
    assert (decision.status["startTime"], decision.create) == (stamp(NOW), 1)
    assert decision.status["conditions"][0]["status"] == "False"


def test_a_finished_job_lets_go_of_its_pods():
    done = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": stamp(NOW)}]}
    decision = decide(job(done), pod("Running"))
    assert (decision.status, decision.create, decision.release) == (done, 0, ("d/p-Running",))


def test_surplus_pods_go_when_parallelism_is_lowered():
    decision = decide(job(parallelism=0), pod("Running"))
    assert (decision.delete, decision.create) == (("d/p-Running",), 0)


def test_a_failure_is_never_undone():
    target = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "lastTransitionTime": stamp(NOW)}
    decision = decide(job({"startTime": stamp(NOW), "conditions": [target]}), pod("Succeeded"))
    assert reasons(decision) == {"FailureTarget": "DeadlineExceeded"}
