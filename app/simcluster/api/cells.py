"""The columns of each kind and how a cell is read from an object. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.simcluster.meta import Json, condition_of, has_condition, name_of, parse_stamp
from app.simcluster.resources import EVENTS, JOBS, LEASES, NAMESPACES, NODES, PODS, ResourceType

Cell = Callable[[Json, float], object]
_NONE = "<none>"
_UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    cell: Cell
    wide: bool = False
    type: str = "string"


def duration(seconds: float) -> str:
    """As kubectl writes ages: two units at most, fewer the longer it is."""
    seconds = int(seconds)
    if seconds < 0:
        return "0s" if seconds > -2 else "<invalid>"  # noqa: PLR2004 - clocks may differ by a second
    for limit, big, small in _SCALES:
        if seconds < limit:
            return _two(seconds, big, small)
    return f"{seconds // _YEAR}y"


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_UNITS = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}
_SCALES = (
    (2 * _MINUTE, 1, 0),
    (10 * _MINUTE, _MINUTE, 1),
    (3 * _HOUR, _MINUTE, 0),
    (8 * _HOUR, _HOUR, _MINUTE),
    (2 * _DAY, _HOUR, 0),
    (8 * _DAY, _DAY, _HOUR),
    (2 * _YEAR, _DAY, 0),
    (8 * _YEAR, _YEAR, _DAY),
)


def _two(seconds: int, big: int, small: int) -> str:
    text = f"{seconds // big}{_UNITS[big]}"
    rest = seconds % big // small if small else 0
    return f"{text}{rest}{_UNITS[small]}" if rest else text


def _age(obj: Json, now: float) -> str:
    created = obj["metadata"].get("creationTimestamp")
    return duration(now - parse_stamp(created)) if created else _UNKNOWN


def _name(obj: Json, _now: float) -> str:
    return name_of(obj)


# pods


def pod_word(pod: Json) -> str:
    """The STATUS column: the most telling reason there is."""
    status = pod.get("status") or {}
    word = str(status.get("reason") or status.get("phase") or "")
    running = False
    for item in reversed(status.get("containerStatuses") or []):
        state = item.get("state") or {}
        if reason := (state.get("waiting") or {}).get("reason"):
            word = reason
        elif "terminated" in state:
            word = state["terminated"].get("reason") or f"ExitCode:{state['terminated']['exitCode']}"
        elif item.get("ready"):
            running = True
    if word == "Completed" and running:
        word = "Running" if has_condition(pod, "Ready") else "NotReady"
    if "deletionTimestamp" not in pod["metadata"]:
        return word
    return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"


def _pod_ready(pod: Json, _now: float) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return f"{sum(bool(item.get('ready')) for item in statuses)}/{len(pod['spec']['containers'])}"


def _pod_restarts(pod: Json, _now: float) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return str(sum(item.get("restartCount", 0) for item in statuses))


_POD = (
    Column("Name", _name),
    Column("Ready", _pod_ready),
    Column("Status", lambda pod, _now: pod_word(pod)),
    Column("Restarts", _pod_restarts),
    Column("Age", _age),
    Column("IP", lambda pod, _now: (pod.get("status") or {}).get("podIP") or _NONE, wide=True),
    Column("Node", lambda pod, _now: pod["spec"].get("nodeName") or _NONE, wide=True),
    Column("Nominated Node", lambda _pod, _now: _NONE, wide=True),
    Column("Readiness Gates", lambda _pod, _now: _NONE, wide=True),
)

# nodes


def _node_word(node: Json, _now: float) -> str:
    condition = condition_of(node, "Ready")
    word = "Unknown" if condition is None else "Ready" if condition["status"] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _address(node: Json, kind: str) -> str:
    addresses = (node.get("status") or {}).get("addresses") or []
    return next((item["address"] for item in addresses if item["type"] == kind), _NONE)


def _info(name: str) -> Cell:
    return lambda node, _now: ((node.get("status") or {}).get("nodeInfo") or {}).get(name) or _UNKNOWN


def _kernel(node: Json, now: float) -> str:
    return f"{_info('kernelVersion')(node, now)} ({_info('architecture')(node, now)})"


_NODE = (
    Column("Name", _name),
    Column("Status", _node_word),
    Column("Roles", lambda _node, _now: _NONE),
    Column("Age", _age),
    Column("Version", _info("kubeletVersion")),
    Column("Internal-IP", lambda node, _now: _address(node, "InternalIP"), wide=True),
    Column("External-IP", lambda _node, _now: _NONE, wide=True),
    Column("OS-Image", _info("osImage"), wide=True),
    Column("Kernel-Version", _kernel, wide=True),
    Column("Container-Runtime", _info("containerRuntimeVersion"), wide=True),
)

# jobs


def _job_word(job: Json, _now: float) -> str:
    for kind, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if has_condition(job, kind):
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(job, kind):
            return kind
    return "Running"


def _job_completions(job: Json, _now: float) -> str:
    return f"{(job.get('status') or {}).get('succeeded', 0)}/{job['spec'].get('completions', 1)}"


def _job_duration(job: Json, now: float) -> str:
    status = job.get("status") or {}
    if not status.get("startTime"):
        return ""
    failed = condition_of(job, "Failed")
    end = status.get("completionTime") or (failed or {}).get("lastTransitionTime")
    return duration((parse_stamp(end) if end else now) - parse_stamp(status["startTime"]))


def _images(job: Json, _now: float) -> str:
    return ",".join(item["image"] for item in job["spec"]["template"]["spec"]["containers"])


def _job_containers(job: Json, _now: float) -> str:
    return ",".join(item["name"] for item in job["spec"]["template"]["spec"]["containers"])


def _job_selector(job: Json, _now: float) -> str:
    labels = ((job["spec"].get("selector") or {}).get("matchLabels") or {}).items()
    return ",".join(f"{key}={value}" for key, value in labels) or _NONE


_JOB = (
    Column("Name", _name),
    Column("Status", _job_word),
    Column("Completions", _job_completions),
    Column("Duration", _job_duration),
    Column("Age", _age),
    Column("Containers", _job_containers, wide=True),
    Column("Images", _images, wide=True),
    Column("Selector", _job_selector, wide=True),
)

# events


def _event_seen(event: Json, now: float) -> str:
    seen = event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime") or event.get("eventTime")
    return duration(now - parse_stamp(seen)) if seen else _UNKNOWN


def _event_first(event: Json, now: float) -> str:
    first = event.get("firstTimestamp") or event.get("eventTime")
    return duration(now - parse_stamp(first)) if first else _UNKNOWN


def _event_object(event: Json, _now: float) -> str:
    involved = event.get("involvedObject") or {}
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def _event_source(event: Json, _now: float) -> str:
    source = event.get("source") or {"component": event.get("reportingComponent", "")}
    return ", ".join(source[name] for name in ("component", "host") if source.get(name))


def _event_count(event: Json, _now: float) -> str:
    return str(event.get("count") or (event.get("series") or {}).get("count", 1))


_EVENT = (
    Column("Last Seen", _event_seen),
    Column("Type", lambda event, _now: event.get("type", "")),
    Column("Reason", lambda event, _now: event.get("reason", "")),
    Column("Object", _event_object),
    Column("Subobject", lambda _event, _now: "", wide=True),
    Column("Source", _event_source, wide=True),
    Column("Message", lambda event, _now: event.get("message", "")),
    Column("First Seen", _event_first, wide=True),
    Column("Count", _event_count, wide=True),
    Column("Name", _name, wide=True),
)

COLUMNS: dict[ResourceType, tuple[Column, ...]] = {
    PODS: _POD,
    NODES: _NODE,
    JOBS: _JOB,
    EVENTS: _EVENT,
    NAMESPACES: (
        Column("Name", _name),
        Column("Status", lambda obj, _now: (obj.get("status") or {}).get("phase", "")),
        Column("Age", _age),
    ),
    LEASES: (
        Column("Name", _name),
        Column("Holder", lambda obj, _now: (obj.get("spec") or {}).get("holderIdentity") or _NONE),
        Column("Age", _age),
    ),
}
