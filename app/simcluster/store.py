"""All objects of the cluster: versions, history, disk. The one place that hands out resource versions.

Called by the API and by the controllers, always from the event loop's thread. Subscribers are told of each
change after it is made; they may wake a controller or drop a note, but never write objects from inside the call.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import orjson

from app.simcluster.facts import facts_of
from app.simcluster.history import Change, Facts, History
from app.simcluster.journal import Journal
from app.simcluster.meta import (
    Clock,
    Json,
    finalizers_of,
    has_condition,
    is_terminal_pod,
    is_terminating,
    key_of,
    stamp,
    with_meta,
)
from app.simcluster.resources import ALL, BY_PLURAL, EVENTS, JOBS, PODS, ResourceType
from app.simcluster.settings import Settings

Subscriber = Callable[[Json | None, Json | None], None]


class AlreadyExistsError(Exception):
    """There is an object of that kind, namespace and name."""


class GoneError(Exception):
    """The object to change isn't there any more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of an object. Objects that nobody works on any more are kept as bytes alone: of the many
    events, finished pods and Jobs, the decoded form would take four times the memory."""

    body: bytes
    facts: Facts
    decoded: Json | None

    @classmethod
    def of(cls, resource: ResourceType, obj: Json) -> Entry:
        return cls(_encoded(obj), facts_of(resource, obj), None if _is_cold(resource, obj) else obj)

    @property
    def obj(self) -> Json:
        return orjson.loads(self.body) if self.decoded is None else self.decoded

    def item(self, resource: ResourceType) -> bytes:
        """As an element of a list, which in Kubernetes names no kind and version."""
        return b"{" + self.body[_prefix_length(resource) :]


class Store:
    def __init__(self, settings: Settings, clock: Clock, journal: Journal) -> None:
        self.clock = clock
        self.revision = 1
        self._journal = journal
        self._objects: dict[ResourceType, dict[str, Entry]] = {resource: {} for resource in ALL}
        self._histories = {resource: History(settings.history) for resource in ALL}
        self._notes: dict[str, dict[str, Json]] = {}
        self._subscribers: dict[ResourceType, list[Subscriber]] = {resource: [] for resource in ALL}

    def load(self) -> None:
        """Read the disk. Histories are rebuilt too, so that a watch can go on over a restart."""
        for record in self._journal.load():
            self._replay(record)

    # reading

    def get(self, resource: ResourceType, key: str) -> Json | None:
        entry = self._objects[resource].get(key)
        return entry.obj if entry else None

    def entry(self, resource: ResourceType, key: str) -> Entry | None:
        return self._objects[resource].get(key)

    def keys(self, resource: ResourceType) -> list[str]:
        return list(self._objects[resource])

    def entries(self, resource: ResourceType) -> list[Entry]:
        """In the order a list answers: by namespace and name."""
        objects = self._objects[resource]
        return [objects[key] for key in sorted(objects)]

    def objects(self, resource: ResourceType) -> list[Json]:
        return [entry.obj for entry in self._objects[resource].values()]

    def by_age(self, resource: ResourceType) -> Iterator[tuple[str, Entry]]:
        """From the one written longest ago."""
        yield from self._objects[resource].items()

    def count(self, resource: ResourceType) -> int:
        return len(self._objects[resource])

    def history(self, resource: ResourceType) -> History:
        return self._histories[resource]

    # writing

    def create(self, resource: ResourceType, obj: Json) -> Json:
        key = key_of(obj)
        if key in self._objects[resource]:
            raise AlreadyExistsError(key)
        metadata = {
            **obj["metadata"],
            "uid": obj["metadata"].get("uid") or str(uuid.uuid4()),
            "creationTimestamp": stamp(self.clock()),
        }
        return self._put(resource, key, {**obj, "metadata": metadata}, None)

    def update(self, resource: ResourceType, obj: Json) -> Json:
        """Replace. Nothing happens if nothing differs; an object that only waited for this goes away."""
        key = key_of(obj)
        old = self._objects[resource].get(key)
        if old is None:
            raise GoneError(key)
        if _releases(obj):
            return self._drop(resource, key, obj, old)
        if obj == old.obj:
            return old.obj
        return self._put(resource, key, _with_generation(obj, old.obj), old)

    def remove(self, resource: ResourceType, key: str) -> Json:
        old = self._objects[resource].get(key)
        if old is None:
            raise GoneError(key)
        return self._drop(resource, key, old.obj, old)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Writes inside reach the disk together or not at all."""
        with self._journal.batch():
            yield
        self._compact_if_due()

    # notes: what the inside must remember and no client sees

    def note(self, table: str, key: str, value: Json) -> None:
        self._notes.setdefault(table, {})[key] = value
        self._write({"op": "note", "table": table, "key": key, "value": value})

    def forget(self, table: str, key: str) -> None:
        if self._notes.get(table, {}).pop(key, None) is not None:
            self._write({"op": "note", "table": table, "key": key, "value": None})

    def noted(self, table: str, key: str) -> Json | None:
        return self._notes.get(table, {}).get(key)

    def notes(self, table: str) -> dict[str, Json]:
        return self._notes.get(table, {})

    # watching

    def subscribe(self, resource: ResourceType, subscriber: Subscriber) -> None:
        self._subscribers[resource].append(subscriber)

    def expire_histories(self) -> None:
        """As compaction does in a real cluster: every version that somebody may remember is too old."""
        self.revision += 1
        for history in self._histories.values():
            history.forget_all(self.revision)

    # inside

    def _put(self, resource: ResourceType, key: str, obj: Json, old: Entry | None) -> Json:
        self.revision += 1
        obj = with_meta(_typed(resource, obj), resourceVersion=str(self.revision))
        entry = Entry.of(resource, obj)
        self._journal.write(_line("put", resource, entry.body))
        self._apply(resource, key, old, entry)
        self._tell(resource, old.obj if old else None, obj)
        return obj

    def _drop(self, resource: ResourceType, key: str, obj: Json, old: Entry) -> Json:
        self.revision += 1
        obj = with_meta(_typed(resource, obj), resourceVersion=str(self.revision))
        entry = Entry(_encoded(obj), old.facts, obj)
        self._journal.write(_line("drop", resource, entry.body))
        self._apply_drop(resource, key, entry)
        self._tell(resource, old.obj, None)
        return obj

    def _apply(self, resource: ResourceType, key: str, old: Entry | None, new: Entry) -> None:
        objects = self._objects[resource]
        objects.pop(key, None)
        objects[key] = new  # at the end: the order is that of the last writes
        old_facts = old.facts if old else None
        self._histories[resource].append(Change(self.revision, new.body, old_facts, new.facts))

    def _apply_drop(self, resource: ResourceType, key: str, last: Entry) -> None:
        self._objects[resource].pop(key, None)
        self._histories[resource].append(Change(self.revision, last.body, last.facts, None))

    def _tell(self, resource: ResourceType, old: Json | None, new: Json | None) -> None:
        for subscriber in self._subscribers[resource]:
            subscriber(old, new)
        self._compact_if_due()

    def _compact_if_due(self) -> None:
        if self._journal.wants_compaction():
            self._journal.compact(list(self._snapshot()))

    def _write(self, record: Json) -> None:
        self._journal.write(orjson.dumps(record) + b"\n")

    def _snapshot(self) -> Iterator[bytes]:
        yield orjson.dumps({"op": "revision", "value": self.revision}) + b"\n"
        for resource, objects in self._objects.items():
            yield from (_line("put", resource, entry.body) for entry in objects.values())
        for table, rows in self._notes.items():
            for key, value in rows.items():
                yield orjson.dumps({"op": "note", "table": table, "key": key, "value": value}) + b"\n"

    def _replay(self, record: Json) -> None:
        match record["op"]:
            case "revision":
                self.revision = record["value"]
                for history in self._histories.values():  # a snapshot doesn't tell the past before it
                    history.forget_all(self.revision)
            case "note" if record["value"] is None:
                self._notes.get(record["table"], {}).pop(record["key"], None)
            case "note":
                self._notes.setdefault(record["table"], {})[record["key"]] = record["value"]
            case "put" | "drop":
                self._replay_object(record["op"], BY_PLURAL[record["kind"]], record["object"])

    def _replay_object(self, op: str, resource: ResourceType, obj: Json) -> None:
        rv, key = int(obj["metadata"]["resourceVersion"]), key_of(obj)
        entry = Entry.of(resource, obj)
        if rv <= self.revision:  # from the snapshot
            self._objects[resource][key] = entry
            return
        self.revision = rv
        if op == "put":
            self._apply(resource, key, self._objects[resource].get(key), entry)
        else:
            self._apply_drop(resource, key, entry)


def _is_cold(resource: ResourceType, obj: Json) -> bool:
    if resource is JOBS:
        return has_condition(obj, "Complete") or has_condition(obj, "Failed")
    return resource is EVENTS or (resource is PODS and is_terminal_pod(obj))


def _encoded(obj: Json) -> bytes:
    """Copied once, since what orjson returns keeps the whole buffer it was written into: thrice the size."""
    return bytes(memoryview(orjson.dumps(obj)))


@cache
def _prefix_length(resource: ResourceType) -> int:
    return len(orjson.dumps({"kind": resource.kind, "apiVersion": resource.api_version, "": 0})) - len('"":0}')


def _line(op: str, resource: ResourceType, body: bytes) -> bytes:
    return b'{"op":"%b","kind":"%b","object":%b}\n' % (op.encode(), resource.plural.encode(), body)


def _typed(resource: ResourceType, obj: Json) -> Json:
    """With kind and version in front, where a list can cut them off (see `Entry.item`)."""
    types = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**types, **obj, **types}


def _releases(obj: Json) -> bool:
    """Deleted, and neither a finalizer nor a grace period holds it."""
    grace = obj["metadata"].get("deletionGracePeriodSeconds")
    held = finalizers_of(obj) or grace or (obj.get("spec") or {}).get("finalizers")  # a namespace's own
    return is_terminating(obj) and not held


def _with_generation(obj: Json, old: Json) -> Json:
    """The next generation, if the desired state differs. Being bound to a node doesn't count."""
    generation = old["metadata"].get("generation")
    if generation is None or obj.get("spec") == old.get("spec") or _was_bound(obj, old):
        return obj
    return with_meta(obj, generation=generation + 1)


def _was_bound(obj: Json, old: Json) -> bool:
    return "nodeName" in obj["spec"] and "nodeName" not in old["spec"]


def matching(entries: Iterable[Entry], accept: Callable[[Facts], bool]) -> list[Entry]:
    return [entry for entry in entries if accept(entry.facts)]
