"""Watches: changes of one kind from a version on, as lines of JSON."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator

import orjson
from starlette.responses import Response, StreamingResponse

from app.simcluster.api.errors import ApiError, expired, too_large_version
from app.simcluster.api.params import Form, ListParams
from app.simcluster.api.respond import JSON_TYPE
from app.simcluster.api.streams import Stream, Streams
from app.simcluster.api.table import table_line
from app.simcluster.history import Change, ExpiredError, Facts
from app.simcluster.meta import Json
from app.simcluster.resources import ResourceType
from app.simcluster.settings import Settings
from app.simcluster.store import Store, matching

_TOO_OLD = "too old resource version: {asked} ({oldest})"


class Watcher:
    """One watch. It reads from the kind's history at its own pace; falling out of that ends it with 410."""

    def __init__(
        self, store: Store, settings: Settings, resource: ResourceType, params: ListParams, form: Form
    ) -> None:
        self._store = store
        self._settings = settings
        self._resource = resource
        self._params = params
        self._form = form
        self._history = store.history(resource)
        self._first = True  # a table's first line has the columns

    def response(self, streams: Streams) -> Response:
        version = self._params.resource_version
        if version and int(version) > self._store.revision:
            raise too_large_version(int(version), self._store.revision)
        return StreamingResponse(self._lines(streams), media_type=JSON_TYPE, headers={"Cache-Control": "no-cache"})

    async def _lines(self, streams: Streams) -> AsyncIterator[bytes]:
        with streams.open(self._params.timeout or self._settings.watch_seconds) as stream:
            self._history.wait_on(stream.event)
            try:
                async for chunk in self._chunks(stream):
                    yield chunk
            except ExpiredError as error:
                asked = self._params.resource_version or "0"
                yield self._error(expired(_TOO_OLD.format(asked=asked, oldest=error.oldest)))
            finally:
                self._history.leave(stream.event)

    async def _chunks(self, stream: Stream) -> AsyncIterator[bytes]:
        index, start = self._start()
        if start:
            yield start
        bookmarked = time.monotonic()
        while not stream.is_over():
            changes = self._history.read(index)
            index += len(changes)
            if lines := b"".join(self._shown(changes)):
                yield lines
            if changes:
                continue  # there may be more
            if self._bookmark_due(bookmarked):
                bookmarked = time.monotonic()
                yield self._bookmark({})
            await stream.wait(self._settings.bookmark_seconds)
        if self._params.bookmarks and not stream.ended:
            yield self._bookmark({})

    def _start(self) -> tuple[int, bytes]:
        """Where in the history to begin, and what is said before it."""
        params = self._params
        version = int(params.resource_version or 0)
        if version and not params.initial_events:
            return self._history.start_after(version), b""
        entries = matching(self._store.entries(self._resource), params.selector.accepts)
        lines = [self._line("ADDED", entry.body) for entry in entries]
        if params.initial_events and params.bookmarks:
            lines.append(self._bookmark({"k8s.io/initial-events-end": "true"}))
        return self._history.end(), b"".join(lines)

    def _shown(self, changes: list[Change]) -> Iterator[bytes]:
        accepts = self._params.selector.accepts
        for change in changes:
            kind = _kind(_seen(change.old, accepts), _seen(change.new, accepts))
            if kind:
                yield self._line(kind, change.body)

    def _line(self, kind: str, body: bytes) -> bytes:
        if self._form is Form.OBJECT:
            return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)
        with_columns, self._first = self._first, False
        return table_line(self._resource, kind, orjson.loads(body), self._store.clock(), with_columns=with_columns)

    def _bookmark_due(self, last: float) -> bool:
        return self._params.bookmarks and time.monotonic() - last >= self._settings.bookmark_seconds

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        metadata: Json = {"resourceVersion": str(self._store.revision)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _error(self, error: ApiError) -> bytes:
        return orjson.dumps({"type": "ERROR", "object": error.status()}) + b"\n"


def _seen(facts: Facts | None, accepts: Callable[[Facts], bool]) -> bool:
    return facts is not None and accepts(facts)


def _kind(before: bool, after: bool) -> str:
    """For the watcher, an object that begins to match has been added, one that stops has been deleted."""
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""
