"""Writing core/v1 events. An event of the same object, reason and words raises a count instead."""

from __future__ import annotations

from collections import OrderedDict

from app.simcluster.meta import Json, key_of, namespace_of, stamp
from app.simcluster.resources import EVENTS
from app.simcluster.store import Store

REMEMBERED = 4096


class Recorder:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def normal(self, obj: Json, reason: str, message: str, component: str) -> None:
        self._record(obj, "Normal", reason, message, component)

    def warning(self, obj: Json, reason: str, message: str, component: str) -> None:
        self._record(obj, "Warning", reason, message, component)

    def _record(self, obj: Json, kind: str, reason: str, message: str, component: str) -> None:
        now = self._store.clock()
        same = (str(obj["metadata"]["uid"]), reason, message)
        if old := self._store.get(EVENTS, self._recent.get(same, "")):
            self._store.update(EVENTS, {**old, "count": old["count"] + 1, "lastTimestamp": stamp(now)})
            return
        event = self._event(obj, kind, reason, message, component)
        self._recent[same] = key_of(self._store.create(EVENTS, event))
        if len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)

    def _event(self, obj: Json, kind: str, reason: str, message: str, component: str) -> Json:
        now = self._store.clock()
        involved = _reference(obj)
        # in the order of writing, where stamps are equal
        name = f"{involved['name']}.{int(now * 1e6):x}{self._store.revision % 0xFFFF:04x}"
        source = _source(obj, component)
        return {
            "metadata": {"name": name, "namespace": namespace_of(obj) or "default"},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": stamp(now),
            "lastTimestamp": stamp(now),
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": source.get("host", ""),
        }


def _reference(obj: Json) -> Json:
    metadata = obj["metadata"]
    place = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    uid = metadata["name"] if obj["kind"] == "Node" else metadata["uid"]  # as the kubelet has always done
    return {
        "kind": obj["kind"],
        **place,
        "name": metadata["name"],
        "uid": uid,
        "apiVersion": obj["apiVersion"],
        "resourceVersion": metadata["resourceVersion"],
    }


def _source(obj: Json, component: str) -> Json:
    host = obj["spec"].get("nodeName") if obj["kind"] == "Pod" else None
    return {"component": component, **({"host": host} if host and component == "kubelet" else {})}
