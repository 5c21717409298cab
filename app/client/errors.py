"""What can go wrong between the command and the service, each a sentence to show as it is."""

from __future__ import annotations

from collections.abc import Sequence


class ClientError(Exception):
    """It can't be done; the message says what to do about it."""


class UnreachableError(ClientError):
    """No answer; it may come when asked later."""


class LostAnswerError(UnreachableError):
    """The request went out, what came of it is unknown, or it came too early. Asking again soon is worth it."""

    def __init__(self, message: str, wait: float = 0) -> None:
        """`wait`: seconds before which it is in vain, where the service told."""
        super().__init__(message)
        self.wait = wait


class RefusedError(ClientError):
    """The service understood and said no. `code` is one of docs/graphql.md, or empty."""

    def __init__(self, sentences: Sequence[str], code: str) -> None:
        super().__init__("; ".join(sentences))
        self.sentences, self.code = tuple(sentences), code
