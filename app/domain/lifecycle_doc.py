"""Prints docs/lifecycle.md from the state tables: `python -m app.domain.lifecycle_doc`. A test holds the file to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from app.domain.ends import end_rules
from app.domain.states import TRANSITIONS, Phase, Reason, Status
from app.domain.submission import DEFAULT_START_TIMEOUT_SECONDS, DEFAULT_TIMEOUT_SECONDS

_INTRO = """# Lifecycle

This page is printed from the code (`make lifecycle-doc`); a test fails when it is stale.

**Status** is the contract: it has six values, and the four terminal ones never change again. **Phase** is finer.
Every state carries a **reason** and one sentence with the numbers in it.
"""

_CLOCKS_INTRO = "## Three clocks\n\n"
_CLOCK_HEAD = ("clock", "runs", "limit", "default", "when it passes")
_CLOCK_ROWS = (
    (
        "queue",
        "from acceptance (or the return to the queue) until a server is chosen",
        "`queueTimeoutSeconds`",
        "none",
        "failed, `queue_timeout`",
    ),
    (
        "start",
        "from the choice of a server until the container executes",
        "`startTimeoutSeconds`",
        str(DEFAULT_START_TIMEOUT_SECONDS),
        "failed, by the kind of the last obstacle",
    ),
    (
        "run",
        "from the container's own start; image pulling does not eat it",
        "`timeoutSeconds`",
        str(DEFAULT_TIMEOUT_SECONDS),
        "timeout, `run_timeout`",
    ),
)
_CLOCKS_OUTRO = """
None runs while a workload is suspended. One that is resumed has what was left of its queue time where it had only
waited, and the whole of it where an attempt was stopped for the suspend. Start and run begin anew with each attempt.

All are enforced from stored stamps, so a restart changes nothing. The cluster enforces the run limit too, should
GPUYard be down: the pod's `activeDeadlineSeconds` starts as start + run limit and is lowered, once the container
executes, to the container's start plus the run limit.

Where the cluster's clock differs from GPUYard's by more than two seconds, measured by the dates of its answers, its
stamps are compared in its own time. A limit that seems to have passed is confirmed with the cluster before anything is
stopped, since our clock may have been set, or have slept.
"""


def render() -> str:
    """The page, ending in a newline."""
    parts = [_INTRO, _statuses(), _phases(), _ends(), _clocks(), _reasons()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _statuses() -> str:
    rows = [(f"`{s}`", s.meaning, "yes" if s.is_terminal else "no") for s in Status]
    return "## Status\n\n" + _table(("status", "meaning", "terminal"), rows)


def _phases() -> str:
    rows = [(f"`{p}`", _names(p.statuses), p.meaning, _names(TRANSITIONS[p]) or "nothing: it is an end") for p in Phase]
    return "## Phase\n\n" + _table(("phase", "status", "meaning", "may be followed by"), rows)


def _names(members: frozenset[Status] | frozenset[Phase]) -> str:
    return ", ".join(f"`{m}`" for m in type(next(iter(members))) if m in members) if members else ""


def _ends() -> str:
    rows = [(str(i), text) for i, text in enumerate(end_rules(), start=1)]
    intro = "## Ends\n\nDecided once nothing of the attempt runs any more; the first rule that matches wins.\n\n"
    return intro + _table(("", "rule"), rows)


def _clocks() -> str:
    return _CLOCKS_INTRO + _table(_CLOCK_HEAD, _CLOCK_ROWS) + _CLOCKS_OUTRO


def _reasons() -> str:
    rows = [(f"`{r}`", r.meaning, "yes" if r.is_infrastructure else "") for r in Reason]
    return "## Reasons\n\n" + _table(("reason", "meaning", "another server may be tried"), rows)


if __name__ == "__main__":
    sys.stdout.write(render())
