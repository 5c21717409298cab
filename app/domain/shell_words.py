"""What people type where a command line would be: words, parted as a shell parts them."""

from __future__ import annotations

import shlex

from app.domain.errors import InvalidInputError


def split_words(field: str, text: str, *, subject: str = "it") -> list[str]:
    """White space and newlines part, quotes protect. Raises InvalidInputError for an open quote."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInputError.of(field, f"{subject} can't be read: {str(error).lower()}") from None
