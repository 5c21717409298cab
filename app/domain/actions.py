"""What may be asked of a workload in its present state. Pure; whether the caller may is another matter."""

from __future__ import annotations

from enum import StrEnum

from app.domain.requests import ends_soon
from app.domain.states import Phase
from app.domain.workload import Workload


class Action(StrEnum):
    """What a person may ask of a workload. Each has a command and a mutation of its name."""

    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    HOLD = "hold"
    RELEASE = "release"
    PRIORITIZE = "prioritize"
    RETRY = "retry"
    DELETE = "delete"
    RESTORE = "restore"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Action.CANCEL: "end it; it has not ended, and nobody has asked yet",
    Action.SUSPEND: "take it off the GPUs, or keep it from them, until it is resumed",
    Action.RESUME: "let it be placed again; it is suspended",
    Action.HOLD: "as `SUSPEND`, while it waits",
    Action.RELEASE: "as `RESUME`",
    Action.PRIORITIZE: "give it another priority; it has not ended",
    Action.RETRY: "submit its request once more; it has ended",
    Action.DELETE: "take it out of the lists; it has ended",
    Action.RESTORE: "put it back into the lists; it was deleted",
}


DEPRECATED = {Action.HOLD: Action.SUSPEND, Action.RELEASE: Action.RESUME}  # and what is there instead


def actions_supported(workload: Workload) -> tuple[Action, ...]:
    """Those that would change something. Another one is a conflict, or changes nothing."""
    is_over, is_deleted = workload.status.is_terminal, workload.deleted_at is not None
    supported = {
        Action.CANCEL: not is_over and workload.cancel_requested_at is None,
        Action.SUSPEND: not (is_over or workload.held_at is not None or ends_soon(workload)),
        Action.RESUME: workload.phase is Phase.SUSPENDED,
        Action.HOLD: workload.waits,
        Action.RELEASE: workload.phase is Phase.SUSPENDED,
        Action.PRIORITIZE: not is_over,
        Action.RETRY: is_over,
        Action.DELETE: is_over and not is_deleted,
        Action.RESTORE: is_deleted,
    }
    return tuple(action for action in Action if supported[action])
