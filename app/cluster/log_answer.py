"""Tells a log from what a kubelet says in its place, with the status of a success, when it has none any more.

Seen of Kubernetes 1.36: "unable to retrieve container logs for containerd://…" once the container is removed, "failed
to try resolving symlinks in path …" once its folder is. A line of a log has a stamp, which such a sentence lacks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from app.cluster.port import LogGoneError
from app.domain.log_lines import LONGEST_STAMP, stamp_length
from app.domain.wording import clip


async def only_a_log(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The same bytes, none of them empty. LogGoneError where they don't begin with a stamp."""
    head, is_log = b"", False
    async for chunk in chunks:
        if is_log:
            yield chunk
            continue
        head += chunk
        if len(head) >= LONGEST_STAMP:
            yield _checked(head)
            is_log = True
    if not is_log and head:
        yield _checked(head)


def _checked(head: bytes) -> bytes:
    if not stamp_length(head):
        raise LogGoneError(clip(head.decode("utf-8", "replace")))
    return head
