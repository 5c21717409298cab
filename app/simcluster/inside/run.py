"""What the kubelet remembers of a pod: a few stamps in a note on disk, read back after a restart."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from app.simcluster.inside.behaviour import Exit
from app.simcluster.inside.timeline import Ended, Stop
from app.simcluster.meta import Json

TABLE = "runs"  # by pod uid


@dataclass(frozen=True, slots=True)
class PodStop:
    """Why the whole pod was told to end. An empty reason: it was deleted."""

    stop: Stop
    reason: str = ""
    message: str = ""
    disruption: str = ""  # the DisruptionTarget condition's message, where there is to be one
    deleted: bool = False  # the pod's deletion has been taken into account


@dataclass(frozen=True, slots=True)
class Try:
    """The present try of one container; earlier ones leave their end and a count."""

    since: float
    restarts: int = 0
    last: Ended | None = None


@dataclass(frozen=True, slots=True)
class PodRun:
    key: str
    node: str
    since: float  # when the kubelet took the pod
    devices: dict[str, list[str]] = field(default_factory=dict)  # by container
    tries: dict[str, Try] = field(default_factory=dict)  # by container, where it isn't the first
    stop: PodStop | None = None
    fired: bool = False  # what SIM_OUTCOME does from outside has been done
    told: Exit | None = None

    def try_of(self, container: str) -> Try:
        return self.tries.get(container, Try(self.since))

    def with_try(self, container: str, new: Try) -> PodRun:
        return replace(self, tries={**self.tries, container: new})

    def to_json(self) -> Json:
        return {
            "key": self.key,
            "node": self.node,
            "since": self.since,
            "devices": self.devices,
            "tries": {name: _try_json(item) for name, item in self.tries.items()},
            "stop": _stop_json(self.stop) if self.stop else None,
            "fired": self.fired,
            "told": asdict(self.told) if self.told else None,
        }

    @classmethod
    def from_json(cls, value: Json) -> PodRun:
        tries = {name: _try_from(item) for name, item in value["tries"].items()}
        stop = _stop_from(value["stop"]) if value["stop"] else None
        told = Exit(**value["told"]) if value.get("told") else None
        return cls(**{**value, "tries": tries, "stop": stop, "told": told})


def _try_json(item: Try) -> Json:
    last = item.last
    ended = last and [last.code, last.reason, last.message, last.started, last.finished]
    return {"since": item.since, "restarts": item.restarts, "last": ended}


def _try_from(value: Json) -> Try:
    last: list[Any] | None = value["last"]
    return Try(value["since"], value["restarts"], Ended(*last) if last else None)


def _stop_json(item: PodStop) -> Json:
    return {**asdict(item), "stop": [item.stop.at, item.stop.kill]}


def _stop_from(value: Json) -> PodStop:
    return PodStop(**{**value, "stop": Stop(*value["stop"])})
