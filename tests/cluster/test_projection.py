"""The projection: what it keeps, what it tells, and that a list and a watch lead to the same picture."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.observer import Observer
from app.cluster.port import Kind
from app.cluster.projection import Change, Projection, choose_pod
from app.domain.observed import ObservedNode, ObservedPod, Terminated
from tests.cluster.builders import JOB, NAMESPACE, WORKLOAD, job, node_json, pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def told() -> list[Change]:
    return []


@pytest.fixture
def projection(told: list[Change]) -> Projection:
    return Projection(NAMESPACE, told.append)


def node(**changes: Any) -> ObservedNode:
    observed = Observer().node(node_json(**changes))
    assert observed
    return observed


def test_it_is_synced_when_every_kind_was_listed(projection: Projection):
    for kind in Kind:
        assert not projection.synced
        projection.health[kind].synced = True
    assert projection.synced


def test_a_node_is_told_of_when_it_looks_different(projection: Projection, told: list[Change]):
    projection.put(node())
    projection.put(node(version=2))
    projection.put(node(gpus=3))
    assert told == [Change(Kind.NODES, "gpu-1", None, affects_capacity=True)] * 2
    assert projection.nodes["gpu-1"].allocatable_gpus == (("nvidia.com/gpu", 3),)


def test_a_job_and_its_pod_are_observed_together(projection: Projection, told: list[Change]):
    projection.put(job())
    projection.put(pod())
    assert projection.observe(JOB) == (job(), pod())
    assert [(change.kind, change.workload_id, change.affects_capacity) for change in told] == [
        (Kind.JOBS, str(WORKLOAD), False),
        (Kind.PODS, str(WORKLOAD), True),
    ]


def test_what_has_a_jobs_name_in_another_namespace_is_not_that_job(told: list[Change]):
    """Whoever may make Jobs elsewhere must not be able to say how ours ended."""
    projection = Projection(NAMESPACE, told.append, everywhere=True)
    ours, theirs = job(), replace(job(uid="theirs"), namespace="other", is_complete=True)
    their_pod = pod("theirs", namespace="other", phase="Succeeded")
    for item in (ours, pod(), theirs, their_pod):
        projection.put(item)
    assert projection.observe(JOB) == projection.observe(JOB, namespace=NAMESPACE) == (ours, pod())
    assert projection.observe(JOB, namespace="other") == (theirs, their_pod)
    projection.drop(theirs)
    projection.drop(their_pod)
    assert projection.observe(JOB) == (ours, pod())
    assert projection.observe(JOB, namespace="other") == (None, None)


def test_a_listing_of_all_namespaces_keeps_what_it_holds_in_each(told: list[Change]):
    projection = Projection(NAMESPACE, told.append, everywhere=True)
    here, there = job(), replace(job(uid="there"), namespace="other")
    projection.replace(Kind.JOBS, [here, there])
    projection.begin_list(Kind.JOBS)
    projection.replace(Kind.JOBS, [there])
    assert projection.observe(JOB)[0] is None
    assert projection.observe(JOB, namespace="other")[0] == there


def test_the_end_of_a_pod_frees_what_it_held_and_is_kept(projection: Projection, told: list[Change]):
    projection.put(pod())
    told.clear()
    projection.put(pod(phase="Succeeded"))
    assert list(projection.bound_pods()) == []
    assert projection.observe(JOB)[1] == pod(phase="Succeeded")
    assert told == [Change(Kind.PODS, "pod-pod-uid", str(WORKLOAD), affects_capacity=True)]


def test_a_container_that_ended_still_holds_its_gpus_until_the_pod_has(projection: Projection):
    projection.put(pod(terminated=Terminated(0, "Completed", "", None, None)))
    assert len(list(projection.bound_pods())) == 1


def test_of_strangers_only_what_takes_capacity_matters(projection: Projection, told: list[Change]):
    stranger = {"job_name": "", "namespace": "other"}
    projection.put(pod("waiting", node="", **stranger))
    projection.put(pod("over", phase="Failed", **stranger))
    assert (told, list(projection.bound_pods())) == ([], [])
    projection.put(pod("runs", **stranger))
    projection.put(pod("runs", waiting_reason="CrashLoopBackOff", **stranger))
    projection.drop(pod("runs", **stranger))
    assert told == [Change(Kind.PODS, "pod-runs", None, affects_capacity=True)] * 2


def test_a_pod_of_another_namespace_is_not_ours(projection: Projection):
    projection.put(pod(namespace="other"))
    assert projection.observe(JOB) == (None, None)
    assert len(list(projection.bound_pods())) == 1


def test_a_pod_that_is_gone_leaves_nothing(projection: Projection):
    projection.put(pod())
    projection.drop(pod())
    assert projection.observe(JOB) == (None, None)
    assert list(projection.bound_pods()) == []


def test_of_several_pods_the_one_that_is_not_over_counts():
    old = pod("a", phase="Failed", pod_started_at=NOW)
    new = pod("b", phase="Failed", pod_started_at=NOW + timedelta(seconds=5))
    assert choose_pod([new, old]) == choose_pod([old, new]) == new
    assert choose_pod([old, new, pod("0", phase="Pending")]) == pod("0", phase="Pending")
    assert choose_pod([]) is None


def test_a_listing_brings_what_a_watch_missed(projection: Projection, told: list[Change]):
    projection.put(node(name="gone"))
    projection.put(node(name="stays"))
    told.clear()
    projection.replace(Kind.NODES, [node(name="stays"), node(name="new")])
    assert sorted(projection.nodes) == ["new", "stays"]
    assert [change.name for change in told] == ["new", "gone"]


def test_a_listing_of_one_kind_leaves_the_others(projection: Projection):
    projection.put(pod())
    projection.put(job())
    projection.replace(Kind.NODES, [])
    assert projection.observe(JOB) == (job(), pod())


def test_a_created_job_is_known_at_once(projection: Projection):
    projection.remember_job(job())
    assert projection.observe(JOB) == (job(), None)
    assert projection.job_places() == {(NAMESPACE, JOB)}


def test_a_job_created_during_a_listing_survives_it(projection: Projection):
    projection.begin_list(Kind.JOBS)
    projection.remember_job(job())
    projection.replace(Kind.JOBS, [])
    assert projection.observe(JOB)[0] == job()


def test_a_job_created_before_a_listing_does_not(projection: Projection):
    projection.remember_job(job())
    projection.begin_list(Kind.JOBS)
    projection.replace(Kind.JOBS, [])
    assert projection.observe(JOB)[0] is None


def test_a_late_memory_does_not_overwrite_what_was_seen(projection: Projection):
    projection.put(job(is_complete=True))
    projection.remember_job(job())
    assert projection.observe(JOB)[0] == job(is_complete=True)
    projection.drop(job())
    projection.remember_job(job())
    assert projection.observe(JOB)[0] is None


def test_old_news_of_an_earlier_job_of_the_name(projection: Projection):
    projection.put(job("first"))
    projection.remember_job(job("second"))
    projection.put(job("first", is_deleting=True))
    projection.drop(job("first"))
    assert projection.observe(JOB)[0] == job("second")
    projection.put(job("second"))
    projection.drop(job("second"))
    assert projection.observe(JOB)[0] is None


PODS = st.builds(
    pod,
    st.sampled_from("abc"),
    phase=st.sampled_from(["Pending", "Running", "Failed"]),
    node=st.sampled_from(["", "gpu-1"]),
    job_name=st.sampled_from(["", JOB]),
)


@given(st.lists(PODS), st.lists(PODS, unique_by=lambda p: p.uid))
def test_a_listing_leads_to_the_same_as_starting_with_it(history: list[ObservedPod], listed: list[ObservedPod]):
    lived, fresh = Projection(NAMESPACE), Projection(NAMESPACE)
    for seen in history:
        lived.put(seen)
    for projection in (lived, fresh):
        projection.replace(Kind.PODS, listed)
    assert {p.uid: p for p in lived.bound_pods()} == {p.uid: p for p in fresh.bound_pods()}
    assert lived.observe(JOB) == fresh.observe(JOB)


@given(st.lists(PODS))
def test_capacity_never_changes_untold(history: list[ObservedPod]):
    told: list[Change] = []
    projection = Projection(NAMESPACE, told.append)
    for seen in history:
        before = {p.uid: (p.node, p.gpu_requests) for p in projection.bound_pods()}
        told.clear()
        projection.put(seen)
        after = {p.uid: (p.node, p.gpu_requests) for p in projection.bound_pods()}
        assert (before != after) == any(change.affects_capacity for change in told)
