"""What to do with what an ended attempt left in the cluster. Pure, as `app.domain.lifecycle` is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from app.domain.lifecycle import Action, DeleteJob, Policy, ReleasePod, TakeLog
from app.domain.observed import Observation
from app.domain.workload import Attempt


def decide_cleanup(
    attempt: Attempt, seen: Observation, now: datetime, policy: Policy
) -> tuple[Attempt, tuple[Action, ...], datetime | None]:
    """What is left of an ended attempt: first its log is stored, then the pod is released, then, after a while, the Job
    goes.

    A Job that ended by itself is kept for `job_retention_seconds`, so that people find it with kubectl.
    """
    if attempt.log_taken_at is None:
        return attempt, (TakeLog(),), None  # whoever stores it asks again
    actions: list[Action] = [ReleasePod(seen.pod)] if seen.pod is not None and seen.pod.is_held else []
    if seen.job is None:
        gone = seen.pod is None or not seen.pod.is_held
        return (replace(attempt, cleaned_at=now) if gone else attempt), tuple(actions), None
    assert attempt.ended_at is not None  # noqa: S101 — only asked for an ended attempt
    kept_until = attempt.ended_at + timedelta(seconds=policy.job_retention_seconds)
    has_stopped = seen.pod is None or seen.pod.is_over  # a sidecar may run on, on the GPUs
    if attempt.stop_reason is None and attempt.exit_code is not None and has_stopped and now < kept_until:
        return attempt, tuple(actions), kept_until
    if not seen.job.is_deleting:
        actions.append(DeleteJob(seen.job.uid))
    return attempt, tuple(actions), None
