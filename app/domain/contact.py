"""A live workload whose cluster can't be asked, and one whose cluster answers again. Pure, as `lifecycle` is."""

from __future__ import annotations

from dataclasses import replace

from app.domain import wording
from app.domain.lifecycle import CreateJob, Decision
from app.domain.states import Phase, Reason, check_transition
from app.domain.workload import Attempt, Workload


def lose_contact(workload: Workload, attempt: Attempt, why: str) -> Decision:
    """Nobody can say what its attempt does, for `why`, a clause. Nothing is decided on what was seen before.

    What is being stopped stays so: the intent is stored, and is carried out once the cluster answers.
    """
    if workload.phase is Phase.STOPPING:
        return Decision(replace(workload, message=wording.stopping_unheard(why)), attempt)
    check_transition(workload.phase, Phase.UNKNOWN)
    return Decision(replace(workload, phase=Phase.UNKNOWN, reason=Reason.CLUSTER_UNREACHABLE, message=why), attempt)


def regain_contact(decision: Decision) -> Decision:
    """As decided; but what was lost before its Job was made is where it was: about to be made."""
    workload = decision.workload
    if workload.phase is not Phase.UNKNOWN or CreateJob() not in decision.actions:
        return decision
    words = wording.placed(workload.server, workload.spec.resources.gpu_count, workload.spec.gpu_requirements.kind)
    check_transition(workload.phase, Phase.CREATING)
    return replace(decision, workload=replace(workload, phase=Phase.CREATING, reason=Reason.PLACED, message=words))
