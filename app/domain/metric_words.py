"""Why a workload has no curves: each sentence in one place, and the choice between them. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.domain.wording import plural

SHARED = "others may have used the GPU at the same time, so its samples are nobody's"
NOT_STARTED = "It has not started, so nothing of it has been measured yet."
NEVER_STARTED = "It never started, so nothing of it was measured."
NO_DEVICE = "Nothing of its GPUs is measured: neither a node agent nor the cluster has told which ones it has."
NONE_YET = "No samples of its GPUs have come yet; a node agent sends them every few seconds."
NO_SAMPLES = "Nothing of its GPUs is measured: no node agent has sent samples of them in this time."
NO_SAMPLES_OF_IT = "Nothing is measured: its server's node agent has sent no samples of it in this time."
ALL_SHARED = "Nothing is told of its GPUs: " + SHARED + "."
_DAY = timedelta(days=1)
_SOON = timedelta(minutes=2)  # after a start


def why_no_curves(
    *,
    started_at: datetime | None,
    is_over: bool,
    devices: int,
    shared: int,
    end: datetime,
    now: datetime,
    kept_for: timedelta,
) -> str:
    """Why there is no sample of a workload in a time that ended at `end`. Of its `devices`, so many were `shared`."""
    if started_at is None:
        return NEVER_STARTED if is_over else NOT_STARTED
    if end <= now - kept_for:
        kept = plural(kept_for // _DAY, "day")
        return f"Samples are kept for {kept}; those of this time have been removed since."
    if devices and shared == devices:
        return ALL_SHARED
    if not is_over and now - started_at < _SOON:
        return NONE_YET
    return NO_SAMPLES if devices else NO_DEVICE
