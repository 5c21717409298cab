"""What is shown of a workload, from the API's JSON. Pure: the moment is a parameter."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from app.client.durations import format_duration
from app.client.tables import Table

Workload = Mapping[str, Any]
ENDS = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"})
_TELLING_PHASES = frozenset({"STOPPING", "UNKNOWN", "SUSPENDED", "RESUMING"})
_UNITS = ("Ki", "Mi", "Gi", "Ti")
_UNIT = 1024


def workloads_table(workloads: Sequence[Workload], now: datetime, *, wide: bool) -> Table:
    header = ("ID", "NAME", "STATUS", "EXIT", "GPUS", "SERVER", "AGE")
    more = ("CLUSTER", "PRIORITY", "RAN", "PROJECT", "BY", "IMAGE") if wide else ()
    return Table((*header, *more, "MESSAGE"), tuple(_row(it, now, wide=wide) for it in workloads))


def _row(it: Workload, now: datetime, *, wide: bool) -> tuple[str, ...]:
    age = format_duration((now - _moment(it["createdAt"])).total_seconds())
    cells = (it["id"], it["name"], status(it), text(it["exitCode"]), text(it["gpuCount"]), it["server"] or "", age)
    more = (
        it["cluster"] or "",
        priority(it),
        _ran(it, now),
        (it["project"] or {}).get("slug", ""),
        it["submittedBy"],
        it["imageReference"],
    )
    return (*cells, *(more if wide else ()), it["message"])


def status(it: Workload) -> str:
    """The status in lower case, with the phase where it says something else."""
    word: str = it["status"].lower()
    return f"{word} ({it['phase'].lower()})" if it["phase"] in _TELLING_PHASES else word


def details(it: Workload, now: datetime) -> list[tuple[str, str]]:
    """Name and value of everything that is one line."""
    project = it["project"]
    pairs = [
        ("id", it["id"]),
        ("name", it["name"]),
        ("status", f"{status(it)}: {it['message']}"),
        ("phase, reason", f"{it['phase']}, {it['reason']}"),
        ("exit code", _exit(it)),
        ("server", it["server"] or ""),
        ("cluster", it["cluster"] or ""),
        ("GPUs", f"{it['gpuCount']}: {', '.join(it['gpus']) or 'not known yet'}"),
        ("GPUs must be", _demand(it["gpuRequirements"])),
        ("CPU, memory", f"{it['cpu']}, {_bytes(it['memoryBytes'])}"),
        ("shared memory", _bytes(it["sharedMemoryBytes"])),
        ("CUDA", it["cuda"]),
        ("image", it["imageReference"]),
        ("command", shlex.join(it["command"])),
        ("args", shlex.join(it["args"])),
        ("environment", ", ".join(variable["name"] for variable in it["envVars"])),
        ("mounts", ", ".join(_mount(mount) for mount in it["mounts"])),
        ("labels", ", ".join(f"{label['key']}={label['value']}" for label in it["labels"])),
        ("priority", priority(it) + (", preemptible" if it["preemptible"] else "")),
        ("limits", _limits(it)),
        ("project", f"{project['slug']} ({project['name']})" if project else ""),
        ("job", it["jobName"]),
        ("retry of", it["retryOf"]),
        ("submitted", f"{_when(it['createdAt'], now)} by {it['submittedBy']}"),
        ("queue", _standing(it["queue"], now)),
        ("sooner", "; ".join(could["message"] for could in (it["queue"] or {}).get("couldStartNow", ()))),
        ("waited", _waited(it["waitTotals"])),
        ("started", _when(it["startedAt"], now)),
        ("cancel asked", _when(it["cancelRequestedAt"], now)),
        ("ended", _when(it["completedAt"], now)),
        ("ran", _ran(it, now)),
    ]
    return [(name, value) for name, value in pairs if value]


def _standing(it: Mapping[str, Any] | None, now: datetime) -> str:
    if it is None:
        return ""
    where = f"no. {it['position']} of {it['total']}" if it["position"] else "outside the line for a while"
    if it["promisedStart"] is None:
        return where
    begins = _moment(it["promisedStart"])
    ahead = format_duration((begins - now).total_seconds())
    return f"{where}; starts on {it['promisedServer']} by {_stamp(it['promisedStart'])} UTC at the latest, in {ahead}"


def _waited(totals: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{format_duration(it['seconds'])} {it['words']}" for it in totals if it["seconds"])


def dry_run_lines(it: Mapping[str, Any], now: datetime) -> list[str]:
    """What would become of a request."""
    if it["startsNow"]:
        return [it["message"]]
    lines = [f"would wait: {it['message']}", f"in the queue: {_standing(it['queue'], now)}"]
    return [*lines, *(could["message"] for could in it["queue"]["couldStartNow"])]


def _demand(it: Mapping[str, Any] | None) -> str:
    if it is None:
        return ""
    parts = (
        "shared" if it["shared"] else "",
        f"MIG slices {it['migProfile']}" if it["migProfile"] else "",
        " or ".join(it["products"]),
        f"memory {_bytes(it['memoryBytes'])} or more" if it["memoryBytes"] else "",
        f"compute capability {it['computeCapability']} or higher" if it["computeCapability"] else "",
    )
    return ", ".join(filter(None, parts))


def attempts_table(it: Workload) -> Table:
    rows = (
        (
            str(a["number"]),
            a["server"],
            a["jobName"],
            _stamp(a["startedAt"]),
            _stamp(a["endedAt"]),
            text(a["exitCode"]),
            a["message"],
        )
        for a in it["attempts"]
    )
    return Table(("ATTEMPT", "SERVER", "JOB", "STARTED", "ENDED", "EXIT", "MESSAGE"), tuple(rows))


def events_table(it: Workload) -> Table:
    rows = ((_stamp(e["at"]), e["type"].lower(), e["status"].lower(), e["message"]) for e in it["events"])
    return Table(("AT", "EVENT", "STATUS", "MESSAGE"), tuple(rows))


def text(value: object) -> str:
    return "" if value is None else str(value)


def _exit(it: Workload) -> str:
    signal = it["signal"]
    return text(it["exitCode"]) + (f" (signal {signal})" if signal is not None else "")


def _limits(it: Workload) -> str:
    queue = it["queueTimeoutSeconds"]
    waiting = "none" if queue is None else format_duration(queue)
    run, start = format_duration(it["timeoutSeconds"]), format_duration(it["startTimeoutSeconds"])
    return f"run {run}, start {start}, waiting {waiting}, {it['maxRetries']} retries"


def priority(it: Workload) -> str:
    return str(it["priority"]).lower().replace("_", " ")


def _mount(it: Mapping[str, Any]) -> str:
    return f"{it['name']}:{it['path']}" + (":ro" if it["readOnly"] else "")


def _bytes(size: int | None) -> str:
    """In the largest unit that stays whole, as the cluster spells it: a binary one, but for whole gigabytes."""
    if size is None:
        return ""
    if size and size % 10**9 == 0:
        return f"{size // 10**9}G"
    unit = ""
    for larger in _UNITS:
        if not size or size % _UNIT:
            break
        size, unit = size // _UNIT, larger
    return f"{size}{unit}"


def _ran(it: Workload, now: datetime) -> str:
    if it["startedAt"] is None:
        return ""
    end = now if it["completedAt"] is None else _moment(it["completedAt"])
    return format_duration((end - _moment(it["startedAt"])).total_seconds())


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def _stamp(stamp: str | None) -> str:
    return "" if stamp is None else f"{_moment(stamp).astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _when(stamp: str | None, now: datetime) -> str:
    if stamp is None:
        return ""
    return f"{_stamp(stamp)} UTC, {format_duration((now - _moment(stamp)).total_seconds())} ago"
