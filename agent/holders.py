"""Who has which GPU, where no kubelet can be asked: what the processes on it say. agent/kubelet.py asks the kubelet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from agent.host import Host
from agent.readings import Reading
from agent.report import Holder


class Holders(Protocol):
    @property
    def want_processes(self) -> bool:
        """Whether `now` needs the processes on each GPU, which cost a question more."""

    def now(self, readings: Iterable[Reading]) -> tuple[Holder, ...] | None:
        """None where nobody can tell."""


class ProcessHolders:
    """Looks at the processes that compute. A pod that has a GPU and computes nothing is not seen; of the others the
    uid is known, and no name."""

    want_processes = True

    def __init__(self, host: Host) -> None:
        self._host = host

    def now(self, readings: Iterable[Reading]) -> tuple[Holder, ...] | None:
        processes = [process for reading in readings for process in reading.processes]
        found = {(process.device, self._host.pod_of(process.pid)) for process in processes}
        return tuple(sorted((_of_process(device, uid) for device, uid in found if uid), key=in_order))


def _of_process(device: str, pod_uid: str) -> Holder:
    return Holder(device=device, namespace="", pod="", pod_uid=pod_uid)


def in_order(holder: Holder) -> tuple[str, ...]:
    """The key to sort by, so that the same holders are the same tuple."""
    return holder.device, holder.namespace, holder.pod, holder.container, holder.pod_uid
