"""Why a log can't be had: each sentence in one place, shown by API, panel and command alike."""

from __future__ import annotations

from app.domain.wording import because, clip, plural

NOT_STARTED = "The container has not started; there is no log yet."
NEVER_STARTED = "The container never started, so there is no log."
EMPTY = "The log is empty so far."
WROTE_NOTHING = "The container wrote nothing."
NOT_KEPT = "The Job has been removed from the cluster, and its log with it."
POD_GONE = (
    "Its pod had left the cluster before the log was stored: deleted by force, or with its namespace or its server."
)
_DAY = 24 * 3600


def log_gone(server: str, words: str) -> str:
    return (
        f"{server} no longer had the log when it was to be stored{because(words)}. A server drops it soon after the "
        "end of a pod that is deleted or evicted."
    )


def not_given(server: str, words: str) -> str:
    return f"{server} did not give the log after the container's end, however often it was asked{because(words)}."


def refused(words: str) -> str:
    return f"The cluster gives no log{because(words)}."


def unavailable(words: str) -> str:
    return f"The cluster is not available, so the log can't be read now: {clip(words)}."


def expired(seconds: int) -> str:
    """What was kept for the retention time and is gone since."""
    kept = plural(seconds // _DAY, "day") if seconds >= _DAY else f"{seconds} s"
    return f"The log was kept for {kept} and has been removed since."
