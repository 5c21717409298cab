"""Reading and rebuilding Kubernetes objects. Stored objects are never changed in place: every function
here returns a new top level and shares the rest, so that a history of versions costs little memory."""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import lru_cache
from typing import Any

Json = dict[str, Any]
Clock = Callable[[], float]  # seconds since 1970: stamps outlive the process, so it is wall time


@lru_cache(maxsize=4096)
def _stamp_of_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


@lru_cache(maxsize=16)
def http_date(second: int) -> str:
    return formatdate(second, usegmt=True)


def stamp(moment: float) -> str:
    """Kubernetes' metav1.Time: whole seconds."""
    return _stamp_of_second(int(moment))


def micro_stamp(moment: float) -> str:
    """metav1.MicroTime: always six digits."""
    return f"{_stamp_of_second(int(moment))[:-1]}.{int(moment % 1 * 1_000_000):06d}Z"


def parse_stamp(text: str) -> float:
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = float(calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")))
    return moment + (float(f"0.{fraction}") if fraction else 0.0)


def name_of(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def namespace_of(obj: Json) -> str:
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Json) -> str:
    return str(obj["metadata"]["uid"])


def key_of(obj: Json) -> str:
    """`namespace/name`, or the name alone where there are no namespaces."""
    return join_key(namespace_of(obj), name_of(obj))


def join_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def split_key(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name


def is_terminating(obj: Json) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def all_containers(pod: Json) -> list[Json]:
    """Those of the set-up and the main ones."""
    return [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]


def grace_of(pod: Json) -> float:
    """Seconds that a pod's containers have to end."""
    return float(pod["spec"].get("terminationGracePeriodSeconds", 30))


def finalizers_of(obj: Json) -> list[str]:
    return obj["metadata"].get("finalizers") or []


def with_meta(obj: Json, **changes: Any) -> Json:
    """A copy with metadata fields set; a value of None or an empty list takes the field away."""
    metadata = {**obj["metadata"], **changes}
    for name, value in changes.items():
        if value is None or value == []:
            del metadata[name]
    return {**obj, "metadata": metadata}


def with_status(obj: Json, **changes: Any) -> Json:
    """A copy with status fields set; None takes the field away."""
    status = {**(obj.get("status") or {}), **changes}
    return {**obj, "status": {name: value for name, value in status.items() if value is not None}}


def without_finalizer(obj: Json, finalizer: str) -> Json:
    return with_meta(obj, finalizers=[item for item in finalizers_of(obj) if item != finalizer])


def owner_of(obj: Json) -> Json | None:
    """The owner reference that controls the object."""
    return next((ref for ref in obj["metadata"].get("ownerReferences") or [] if ref.get("controller")), None)


def owner_uids(obj: Json) -> list[str]:
    return [str(ref["uid"]) for ref in obj["metadata"].get("ownerReferences") or []]


def condition_of(obj: Json, kind: str) -> Json | None:
    conditions: Iterable[Json] = (obj.get("status") or {}).get("conditions") or []
    return next((item for item in conditions if item["type"] == kind), None)


def has_condition(obj: Json, kind: str) -> bool:
    condition = condition_of(obj, kind)
    return condition is not None and condition["status"] == "True"


def put_condition(conditions: list[Json], new: Json) -> list[Json]:
    """The list with `new` in the place of its type; an unchanged status keeps its transition stamp."""
    old = next((item for item in conditions if item["type"] == new["type"]), None)
    if old is None:
        return [*conditions, new]
    if old["status"] == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime", new["lastTransitionTime"])}
    return [new if item is old else item for item in conditions]


def is_terminal_pod(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def node_of(pod: Json) -> str:
    return str(pod["spec"].get("nodeName") or "")
