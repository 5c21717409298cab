"""What the adapter sends, and what it makes of every answer. The contract suite proves the rest on a cluster."""

from __future__ import annotations

import pytest

from app.cluster import labels
from app.cluster.kubernetes_port import KubernetesPort
from app.cluster.log_tail import log_tail
from app.cluster.port import (
    ConflictError,
    EventKind,
    GoneError,
    Kind,
    LogGoneError,
    LogRange,
    RefusedError,
    UnavailableError,
    WatchEvent,
)
from tests.cluster.builders import JOB, NAMESPACE, job, job_json, job_spec, node_json, pod, pod_json
from tests.cluster.scripted_api import DROP, HANG, Answer, ScriptedApi, answer, failure, line, stream
from tests.log_port import a_stamp

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
POD = f"{PODS}/pod-pod-uid"
NODES = "/api/v1/nodes"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def test_create_sends_the_manifest_with_our_credentials(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, answer(job_json(), 201))
    assert await port.create_job(job_spec()) == job()
    (sent,) = api.requests
    assert sent.json["metadata"]["name"] == JOB
    assert (sent.headers["authorization"], sent.headers["user-agent"]) == ("Bearer sesame", "gpuyard")


async def test_a_repeated_create_finds_its_own_job(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, failure(409, "AlreadyExists"))
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    assert await port.create_job(job_spec()) == job()


@pytest.mark.parametrize("changes", [{"attempt": 2}, {"workload_id": "another"}])
async def test_a_foreign_job_of_that_name(port: KubernetesPort, api: ScriptedApi, changes: dict[str, object]):
    api.on("POST", JOBS, failure(409, "AlreadyExists"))
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    with pytest.raises(ConflictError, match="exists and isn't attempt"):
        await port.create_job(job_spec(**changes))


async def test_a_conflict_that_passes_by(port: KubernetesPort, api: ScriptedApi):
    """A quota's counter moved: 409 without a Job of that name."""
    api.on("POST", JOBS, failure(409, "Conflict"), answer(job_json(), 201))
    assert await port.create_job(job_spec()) == job()


async def test_a_create_whose_answer_was_lost(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, Answer(body=[b"{", DROP]), failure(409, "AlreadyExists"))
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    assert await port.create_job(job_spec()) == job()


async def test_a_refusal_keeps_status_reason_and_a_short_message(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, failure(403, "Forbidden", "a webhook denied the request\n" + "x" * 5000))
    with pytest.raises(RefusedError) as caught:
        await port.create_job(job_spec())
    assert (caught.value.status, caught.value.reason, len(api.requests)) == (403, "Forbidden", 1)
    assert caught.value.message.startswith("403 Forbidden: a webhook denied the request x")
    assert len(caught.value.message) == 500


@pytest.mark.parametrize(
    ("code", "words"),
    [(403, "exceeded quota: jobs"), (403, "the namespace is being terminated"), (404, 'namespaces "jobs" not found')],
)
async def test_what_the_installation_lacks_is_no_verdict_on_the_job(
    port: KubernetesPort, api: ScriptedApi, code: int, words: str
):
    """Nor does it pass by within the call."""
    api.on("POST", JOBS, failure(code, "Forbidden", words))
    with pytest.raises(UnavailableError, match=words) as caught:
        await port.create_job(job_spec())
    assert (caught.value.status, len(api.requests)) == (code, 1)


async def test_a_missing_right_is_no_verdict_on_the_job(port: KubernetesPort, api: ScriptedApi):
    """Ours to be given; and an API server that has just started (seen of 1.36) refuses everything for a moment."""
    words = 'jobs.batch is forbidden: User "system:serviceaccount:gpuyard-system:gpuyard" cannot create resource "jobs"'
    api.on("POST", JOBS, failure(403, "Forbidden", f'{words} in API group "batch" in the namespace "jobs"'))
    with pytest.raises(UnavailableError, match="cannot create resource") as caught:
        await port.create_job(job_spec())
    assert caught.value.status == 403


async def test_too_many_requests_are_repeated_when_the_server_says(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, failure(429, "TooManyRequests", Retry_After="0"), answer(job_json(), 201))
    assert await port.create_job(job_spec()) == job()


async def test_a_long_wait_is_the_callers(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, failure(429, "TooManyRequests", Retry_After="60"))
    with pytest.raises(UnavailableError) as caught:
        await port.create_job(job_spec())
    assert (caught.value.retry_after, len(api.requests)) == (60, 1)


@pytest.mark.parametrize("given", [failure(500), failure(503), Answer(502, [b"<html>"]), Answer(200, [b"<html>"])])
async def test_no_verdict_is_tried_three_times(port: KubernetesPort, api: ScriptedApi, given: Answer):
    api.on("GET", f"{JOBS}/{JOB}", given)
    with pytest.raises(UnavailableError) as caught:
        await port.find(JOB)
    assert len(api.requests) == 3
    assert "<html>" not in caught.value.message


async def test_a_proxys_404_is_no_absence(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{JOBS}/{JOB}", Answer(404, [b"<html>no such host"]))
    with pytest.raises(UnavailableError):
        await port.find(JOB)


async def test_an_answer_that_breaks_off(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{JOBS}/{JOB}", Answer(body=[b"{", DROP]))
    with pytest.raises(UnavailableError, match="can't be reached"):
        await port.find(JOB)


async def test_find_asks_for_the_pods_of_the_job(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{JOBS}/{JOB}", failure(404, "NotFound"))
    api.on("GET", PODS, answer({"items": [pod_json()]}))
    found_job, found_pod = await port.find(JOB)
    assert found_job is None
    assert found_pod
    assert found_pod.job_name == JOB
    selector = f"app.kubernetes.io/managed-by=gpuyard,batch.kubernetes.io/job-name={JOB}"
    assert api.requests[-1].query == {"labelSelector": selector}


async def test_why_a_job_has_no_pod_is_asked_for(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json(uid="job-uid")))
    api.on("GET", PODS, answer({"items": []}))
    early, late = ({"message": f"pod {n} is forbidden", "lastTimestamp": f"2026-11-30T12:00:0{n}Z"} for n in (1, 2))
    api.on("GET", EVENTS, answer({"items": [late, early, {"message": None}, "nonsense"]}), failure(403, "Forbidden"))
    found, _ = await port.find(JOB)
    assert found == job(uid="job-uid", obstacle="pod 2 is forbidden")
    assert api.requests[-1].query == {"fieldSelector": "involvedObject.uid=job-uid,reason=FailedCreate"}
    found, _ = await port.find(JOB)
    assert found == job(uid="job-uid")


async def test_a_pod_that_is_not_understood_is_no_absence(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    api.on("GET", PODS, answer({"items": [pod_json(status={"startTime": "yesterday"})]}))
    with pytest.raises(UnavailableError, match="can't be understood"):
        await port.find(JOB)


async def test_deletes_name_the_uid_and_the_propagation(port: KubernetesPort, api: ScriptedApi):
    api.on("DELETE", f"{JOBS}/{JOB}", answer({}), failure(404, "NotFound"), failure(409, "Conflict"))
    await port.delete_job(JOB, "uid-1")
    await port.delete_job(JOB, "uid-1")
    with pytest.raises(ConflictError):
        await port.delete_job(JOB, "uid-1")
    sent = api.requests[0].json
    assert (sent["propagationPolicy"], sent["preconditions"]) == ("Background", {"uid": "uid-1"})


async def test_a_pod_is_deleted_with_its_grace_time(port: KubernetesPort, api: ScriptedApi):
    api.on("DELETE", POD, answer({}))
    await port.delete_pod(pod())
    assert api.requests[0].json == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "pod-uid"},
    }


async def test_a_limit_is_lowered_by_a_patch(port: KubernetesPort, api: ScriptedApi):
    api.on("PATCH", POD, answer({}), failure(404, "NotFound"))
    await port.limit_run(pod(), 77)
    await port.limit_run(pod(), 77)
    sent = api.requests[0]
    assert sent.headers["content-type"] == "application/strategic-merge-patch+json"
    assert sent.json == {"metadata": {"uid": "pod-uid"}, "spec": {"activeDeadlineSeconds": 77}}


async def test_a_lower_limit_in_force_is_success_and_nothing_else_invalid_is(port: KubernetesPort, api: ScriptedApi):
    words = "spec.activeDeadlineSeconds: Invalid value: 77: must be less than or equal to previous value"
    api.on("PATCH", POD, failure(422, "Invalid", words), failure(422, "Invalid", "spec: Forbidden"))
    await port.limit_run(pod(), 77)
    with pytest.raises(RefusedError):
        await port.limit_run(pod(), 77)


async def test_a_patch_for_another_pod_of_the_name(port: KubernetesPort, api: ScriptedApi):
    api.on("PATCH", POD, failure(422, "Invalid", 'metadata.uid: Invalid value: "pod-uid": field is immutable'))
    with pytest.raises(ConflictError):
        await port.release_pod(pod())


async def test_the_hold_is_taken_off_by_name(port: KubernetesPort, api: ScriptedApi):
    api.on("PATCH", POD, answer({}))
    await port.release_pod(pod())
    assert api.requests[0].json == {
        "metadata": {"uid": "pod-uid", "$deleteFromPrimitiveList/finalizers": ["gpuyard.dev/recorded"]}
    }


async def test_a_list_is_read_page_by_page(port: KubernetesPort, api: ScriptedApi):
    first = {"metadata": {"resourceVersion": "7", "continue": "a+b/c=="}, "items": [node_json("a"), {"metadata": {}}]}
    api.on("GET", NODES, answer(first), answer({"metadata": {"resourceVersion": "7"}, "items": [node_json("b")]}))
    listing = await port.list_all(Kind.NODES)
    assert ([item.name for item in listing.items], listing.resource_version, listing.skipped) == (["a", "b"], "7", 1)
    assert [request.query for request in api.requests] == [{"limit": "2"}, {"limit": "2", "continue": "a+b/c=="}]


async def test_a_list_that_expired_half_way_is_gone(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, failure(410, "Expired"))
    with pytest.raises(GoneError):
        await port.list_all(Kind.NODES)


async def test_jobs_are_ours_of_our_namespace_and_pods_are_everybodys(port: KubernetesPort, api: ScriptedApi):
    empty = {"metadata": {"resourceVersion": "1"}, "items": []}
    api.on("GET", JOBS, answer(empty))
    api.on("GET", "/api/v1/pods", answer(empty))
    await port.list_all(Kind.JOBS)
    await port.list_all(Kind.PODS)
    assert [r.query.get("labelSelector") for r in api.requests] == ["app.kubernetes.io/managed-by=gpuyard", None]


async def watched(port: KubernetesPort, kind: Kind = Kind.NODES) -> list[WatchEvent]:
    return [event async for event in port.watch(kind, "5")]


async def test_a_watch_tells_what_changed(port: KubernetesPort, api: ScriptedApi):
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Node", "metadata": {"resourceVersion": "9"}}}
    changed = {"type": "MODIFIED", "object": node_json("a", 8)}
    api.on("GET", NODES, stream(changed, {"type": "DELETED", "object": node_json("b", 8)}, bookmark), watch=True)
    first, second, third = await watched(port)
    assert first.item
    assert second.item
    assert (first.kind, first.item.name) == (EventKind.CHANGED, "a")
    assert (second.kind, second.item.name) == (EventKind.DELETED, "b")
    assert third == WatchEvent(EventKind.BOOKMARK, "9")
    query = api.requests[0].query
    assert (query["resourceVersion"], query["allowWatchBookmarks"]) == ("5", "true")
    assert 192 <= int(query["timeoutSeconds"]) <= 288


async def test_an_event_in_pieces_and_two_in_one(port: KubernetesPort, api: ScriptedApi):
    sent = line({"type": "ADDED", "object": node_json()})
    api.on("GET", NODES, Answer(body=[sent[:50], sent[50:] + sent + b"\n"]), watch=True)
    assert len(await watched(port)) == 2


async def test_an_object_that_is_not_understood_still_moves_on(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, stream({"type": "ADDED", "object": {"metadata": {"resourceVersion": "6"}}}), watch=True)
    assert await watched(port) == [WatchEvent(EventKind.CHANGED, "6", None)]


@pytest.mark.parametrize(
    "piece",
    [
        b"<html>502 Bad Gateway</html>\n",
        b'{"type": "ADDED"}\n',
        b'["ADDED"]\n',
        {"type": "ADDED", "object": {"metadata": {}}},
        {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}},
    ],
)
async def test_after_a_line_that_is_no_event_only_a_list_helps(port: KubernetesPort, api: ScriptedApi, piece: object):
    api.on("GET", NODES, stream(piece), watch=True)
    with pytest.raises(GoneError):
        await watched(port)


async def test_an_error_event_of_another_kind(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, stream({"type": "ERROR", "object": {"kind": "Status", "code": 504}}), watch=True)
    with pytest.raises(UnavailableError):
        await watched(port)


async def test_a_watch_that_breaks_off(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, stream({"type": "ADDED", "object": node_json()}, DROP), watch=True)
    with pytest.raises(UnavailableError):
        await watched(port)


@pytest.mark.parametrize("now", ["8", "9"])
async def test_a_watch_that_says_nothing_ends_when_somebody_is_there(port: KubernetesPort, api: ScriptedApi, now: str):
    api.on("GET", NODES, stream({"type": "ADDED", "object": node_json(version=8)}, HANG), watch=True)
    api.on("GET", NODES, answer({"metadata": {"resourceVersion": now, "continue": "more"}, "items": [node_json()]}))
    assert len(await watched(port)) == 1
    assert [request.query for request in api.seen("GET", NODES)] == [{"limit": "1"}]


async def test_a_watch_that_says_nothing_from_a_version_that_is_to_come(port: KubernetesPort, api: ScriptedApi):
    """The cluster's store was restored from a backup."""
    api.on("GET", NODES, stream({"type": "ADDED", "object": node_json(version=8)}, HANG), watch=True)
    api.on("GET", NODES, answer({"metadata": {"resourceVersion": "7"}, "items": []}))
    with pytest.raises(GoneError, match="from version 8, and the cluster's API is at 7"):
        await watched(port)


async def test_a_log_is_asked_for_as_wanted(port: KubernetesPort, api: ScriptedApi):
    lines = [a_stamp(0) + b"one\n", a_stamp(1) + b"two\n"]
    api.on("GET", f"{POD}/log", Answer(body=lines))
    part = LogRange(tail_lines=5, follow=True)
    assert b"".join([chunk async for chunk in port.read_log(pod(), part)]) == b"".join(lines)
    assert api.requests[0].query == {"container": "workload", "tailLines": "5", "follow": "true", "timestamps": "true"}


def stamped(pieces: list[bytes]) -> list[bytes]:
    """As the kubelet does it: a stamp at the beginning of a line, none within one."""
    begins = [True, *(piece.endswith(b"\n") for piece in pieces)]
    return [a_stamp(i) * begins[i] + piece for i, piece in enumerate(pieces)]


@pytest.mark.parametrize(
    "words",
    [
        b"unable to retrieve container logs for containerd://24c4efacd20b407f4f0e28a212a012d306232eaf5c50c160142",
        b'failed to try resolving symlinks in path "/var/log/pods/x/workload/0.log": no such file',
        b"short",
    ],
)
async def test_what_a_kubelet_says_instead_of_a_log_is_none(port: KubernetesPort, api: ScriptedApi, words: bytes):
    """It comes with the status of a success."""
    api.on("GET", f"{POD}/log", Answer(body=[words[:3], words[3:]]))
    with pytest.raises(LogGoneError, match=words.decode()[:12]):
        await log_tail(port, pod(), 10)


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([b"short\n"], b"short\n"),
        ([b"0123456789\n", b"abcdef\n"], b"abcdef\n"),
        ([b"x" * 30], b"x" * 10),
        ([b"x" * 30, b"y" * 5], b"x" * 5 + b"y" * 5),
        ([b"a\n"] * 50, b"a\n"),
        ([], b""),
    ],
)
async def test_the_tail_of_a_log_is_bounded(port: KubernetesPort, api: ScriptedApi, pieces: list[bytes], kept: bytes):
    api.on("GET", f"{POD}/log", Answer(body=stamped(pieces)))
    assert (await log_tail(port, pod(), 10)).text == kept


async def test_a_tail_says_that_there_is_more_before_it(port: KubernetesPort, api: ScriptedApi):
    """The API cuts by lines, we by bytes: either leaves something out."""
    asked = 10 // 20 + 1
    for body, was_cut in (([b"short"], False), ([b"x" * 11], True), ([b"a\n"] * asked, False), ([b"a\n"] * 2, True)):
        api.on("GET", f"{POD}/log", Answer(body=stamped(body)))
        assert (await log_tail(port, pod(), 10)).was_cut is was_cut, body
    assert api.requests[0].query["tailLines"] == str(asked + 1)


async def test_a_log_that_is_not_there(port: KubernetesPort, api: ScriptedApi):
    api.on("GET", f"{POD}/log", failure(400, "BadRequest", "container is waiting to start"))
    with pytest.raises(RefusedError, match="waiting to start"):
        await log_tail(port, pod(), 10)


async def test_a_namespace_is_made_once(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", "/api/v1/namespaces", answer({}, 201), failure(409, "AlreadyExists"))
    await port.create_namespace()
    await port.create_namespace()
    marks = {labels.MANAGED_BY: labels.MANAGER}
    assert [request.json["metadata"] for request in api.requests] == [{"name": NAMESPACE, "labels": marks}] * 2


async def test_what_is_missing_is_said_in_words(port: KubernetesPort, api: ScriptedApi):
    allowed = [answer({"status": {"allowed": True}})] * 6
    api.on("GET", "/version", answer({}))
    api.on("POST", REVIEWS, *allowed, answer({"status": {}}))
    problems = await port.check()
    assert problems[0] == f"the namespace {NAMESPACE} doesn't exist"
    assert len(problems) == 8


async def test_who_may_not_look_at_the_namespace_lacks_nothing(port: KubernetesPort, api: ScriptedApi):
    api.on("POST", REVIEWS, answer({"status": {"allowed": True}}))
    api.on("GET", "/version", answer({}))
    words = 'namespaces "jobs" is forbidden: User "someone" cannot get resource "namespaces" in API group ""'
    api.on("GET", f"/api/v1/namespaces/{NAMESPACE}", failure(403, "Forbidden", words))
    assert await port.check() == ()


@pytest.mark.parametrize("not_served", [failure(404, "NotFound"), Answer(404, [b"404 page not found"])])
async def test_a_cluster_without_access_reviews_has_nothing_to_say(
    port: KubernetesPort, api: ScriptedApi, not_served: Answer
):
    api.on("POST", REVIEWS, not_served)
    api.on("GET", "/version", answer({}))
    api.on("GET", f"/api/v1/namespaces/{NAMESPACE}", answer({}))
    assert await port.check() == ()
