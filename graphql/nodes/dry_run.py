"""What would become of a request, without submitting it."""

from __future__ import annotations

from typing import Self

import strawberry

from app.domain.workload import Workload
from app.graphql.enums import Reason
from app.graphql.nodes.waiting import QueuePlace
from app.placement import words
from app.placement.plan import Place
from app.reconcile.forecast import Trial


@strawberry.type(description="What would become of a request now, as the planner would go on. Nothing is submitted.")
class DryRun:
    starts_now: bool = strawberry.field(description="Whether it would be given a server at once.")
    server: str | None = strawberry.field(description="That server; null where it would wait.")
    cluster: str | None = strawberry.field(description="The cluster that the server is in.")
    reason: Reason | None = strawberry.field(description="Why it would wait; null where it would start.")
    message: str = strawberry.field(description="One sentence that says what it would do and why.")
    image_reference: str = strawberry.field(description="The image as the cluster would be asked for it.")
    queue: QueuePlace = strawberry.field(description="Where it would stand.")

    @classmethod
    def from_domain(cls, trial: Trial, noun: Workload) -> Self:
        answer = trial.answer
        place = answer if isinstance(answer, Place) else None
        return cls(
            starts_now=place is not None,
            server=place.server if place else None,
            cluster=place.cluster if place else None,
            reason=None if isinstance(answer, Place) else answer.reason,
            message=words.would_start(answer.server) if isinstance(answer, Place) else answer.message,
            image_reference=noun.spec.image,
            queue=QueuePlace.from_domain(trial.standing, noun, trial.relaxations),
        )
