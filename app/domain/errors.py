"""Errors that a caller may act on, raised by domain and commands and mapped once at each edge.

DomainError
├── InvalidInputError        some fields are wrong; `problems` names each
├── UnauthenticatedError     nobody, or a credential that is not valid
├── ForbiddenError           known, but may not
├── NotFoundError            no such thing, or not yours: the two are not told apart
├── ConflictError            the thing's present state does not allow it
├── ResyncRequiredError      the place to go on from is not there (any more); read the state and go on from `cursor`
└── PreconditionFailedError  the organization is not set up for it; `precondition` names what is missing
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Problem:
    """One wrong field: its path in the API's spelling (`envVars[2].name`) and a sentence."""

    field: str
    message: str


class DomainError(Exception):
    """Base of all errors whose message may be shown to the caller as it is."""

    code = "INTERNAL"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInputError(DomainError):
    code = "BAD_USER_INPUT"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in problems))
        self.problems = problems

    @classmethod
    def of(cls, field: str, message: str) -> InvalidInputError:
        return cls((Problem(field, message),))


class UnauthenticatedError(DomainError):
    code = "UNAUTHENTICATED"


class ForbiddenError(DomainError):
    code = "FORBIDDEN"


class NotFoundError(DomainError):
    code = "NOT_FOUND"


class ConflictError(DomainError):
    code = "CONFLICT"


class ResyncRequiredError(DomainError):
    """`sequence` is the last event there is: where a follower goes on from once it has read the present state."""

    code = "RESYNC_REQUIRED"

    def __init__(self, organization_id: UUID, sequence: int) -> None:
        super().__init__(
            "the cursor is from after the last event there is, as after a restored database; read the present state "
            "and go on from `cursor`"
        )
        self.organization_id = organization_id
        self.sequence = sequence


class PreconditionFailedError(DomainError):
    """`precondition` is one of `feature_disabled`, `no_gpu_server`."""

    code = "PRECONDITION_FAILED"

    def __init__(self, precondition: str, message: str) -> None:
        super().__init__(message)
        self.precondition = precondition
