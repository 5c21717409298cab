"""What would become of the request that stands in the form, as it is said beside its button."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.errors import DomainError
from app.placement import words
from app.placement.plan import Place
from app.reconcile.forecast import Trial


@dataclass(frozen=True)
class ProspectView:
    """`position` 0: it would not wait; a promised start is in `message`.

    `is_problem`: the form can't be sent as it is; `message` says why.
    """

    message: str
    is_problem: bool = False
    starts_now: bool = False
    position: int = 0
    total: int = 0
    could_start: tuple[str, ...] = ()


def prospect_view(trial: Trial) -> ProspectView:
    answer, standing = trial.answer, trial.standing
    if isinstance(answer, Place):
        return ProspectView(words.would_start(answer.server), starts_now=True)
    return ProspectView(
        answer.message,
        position=standing.position or 0,
        total=standing.total,
        could_start=tuple(it.message for it in trial.relaxations),
    )


def problem_view(error: DomainError) -> ProspectView:
    return ProspectView(error.message, is_problem=True)
