"""How many GPUs a project has a right to, and how many it may use at most.

Whole GPUs count, each as one; MIG slices and shares don't, whatever GPU they are of. A project uses what its attempts
hold from their placement until the cluster has confirmed that nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.errors import InvalidInputError, Problem
from app.domain.wording import gpus

MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """In whole GPUs. None: nothing is guaranteed, and what is not preemptible is not limited; there is no maximum."""

    guaranteed: int | None = None
    maximum: int | None = None

    @property
    def words(self) -> str:
        guaranteed = "nothing guaranteed" if self.guaranteed is None else f"{self.guaranteed} guaranteed"
        return f"{guaranteed}, {'no maximum' if self.maximum is None else f'{self.maximum} at most'}"

    def over(self, used: int) -> int | None:
        """How much of what is used is beyond the guarantee; None without one."""
        return None if self.guaranteed is None else max(0, used - self.guaranteed)


NO_QUOTA = Quota()


def check_quota(guaranteed: int | None, maximum: int | None) -> Quota:
    """Raises InvalidInputError, with the names of the API."""
    given = (("guaranteedGpus", guaranteed), ("maxGpus", maximum))
    problems = [
        Problem(name, f"must be between 0 and {MOST}; it is {value}")
        for name, value in given
        if value is not None and not 0 <= value <= MOST
    ]
    if not problems and guaranteed is not None and maximum is not None and guaranteed > maximum:
        problems = [Problem("maxGpus", f"must not be less than what is guaranteed, {guaranteed}; it is {maximum}")]
    if problems:
        raise InvalidInputError(tuple(problems))
    return Quota(guaranteed, maximum)


def over_promised(quotas: Iterable[Quota], gpus_on_record: int) -> str:
    """A warning where the servers on record can't keep all guarantees at once; empty where they can."""
    promised = sum(quota.guaranteed or 0 for quota in quotas)
    if promised <= gpus_on_record:
        return ""
    return (
        f"all guarantees together are {gpus(promised)}, but the servers on record have {gpus(gpus_on_record)}: "
        "not every project can have its guarantee at the same time"
    )
