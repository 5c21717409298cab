"""Writing core/v1 events. An event of the same object, reason and words raises a count instead.

The scheduler reports through the newer events API, which core/v1 shows with eventTime and a series in the place of
stamps and count; others through the older one. Readers have to know both, so both are written here.
"""

from __future__ import annotations

from collections import OrderedDict

from app.simcluster.meta import Json, key_of, micro_stamp, namespace_of, stamp
from app.simcluster.resources import EVENTS
from app.simcluster.store import Store

REMEMBERED = 4096
SCHEDULER = "default-scheduler"
KUBELET = "kubelet"


class Recorder:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def normal(self, obj: Json, reason: str, message: str, component: str, container: str = "") -> None:
        self._record(obj, {"reason": reason, "message": message, "type": "Normal"}, component, container)

    def warning(self, obj: Json, reason: str, message: str, component: str, container: str = "") -> None:
        self._record(obj, {"reason": reason, "message": message, "type": "Warning"}, component, container)

    def _record(self, obj: Json, words: Json, component: str, container: str) -> None:
        now = self._store.clock()
        same = (str(obj["metadata"]["uid"]), words["reason"], words["message"])
        if old := self._store.get(EVENTS, self._recent.get(same, "")):
            self._store.update(EVENTS, {**old, **_again(old, now)})
            return
        involved = _reference(obj, container)
        # named in the order of writing, since stamps may be equal
        name = f"{involved['name']}.{int(now * 1e6):x}{self._store.revision % 0xFFFF:04x}"
        metadata = {"name": name, "namespace": namespace_of(obj) or "default"}
        event = {"metadata": metadata, "involvedObject": involved, **words, **_reported(obj, component, now)}
        self._recent[same] = key_of(self._store.create(EVENTS, event))
        if len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)


def _again(old: Json, now: float) -> Json:
    if old.get("eventTime") is None:
        return {"count": old["count"] + 1, "lastTimestamp": stamp(now)}
    count = (old.get("series") or {}).get("count", 1) + 1
    return {"series": {"count": count, "lastObservedTime": micro_stamp(now)}}


def _reported(obj: Json, component: str, now: float) -> Json:
    if component == SCHEDULER:
        return {
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": micro_stamp(now),
            "action": "Binding" if obj["spec"].get("nodeName") else "Scheduling",
            "reportingComponent": component,
            "reportingInstance": f"{component}-simcluster",
        }
    host = str(obj["spec"].get("nodeName") or "") if obj["kind"] == "Pod" and component == KUBELET else ""
    return {
        "source": {"component": component, **({"host": host} if host else {})},
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "count": 1,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": host,
    }


def _reference(obj: Json, container: str) -> Json:
    metadata = obj["metadata"]
    place = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    uid = metadata["name"] if obj["kind"] == "Node" else metadata["uid"]  # as the kubelet has always done
    part = {"fieldPath": f"spec.containers{{{container}}}"} if container else {}
    return {
        "kind": obj["kind"],
        **place,
        "name": metadata["name"],
        "uid": uid,
        "apiVersion": obj["apiVersion"],
        "resourceVersion": metadata["resourceVersion"],
        **part,
    }
