"""Who has which GPU, by the word of the kubelet."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent.holders import Holders, ProcessHolders, in_order
from agent.host import Host
from agent.podresources import Assignment, KubeletError, PodResources
from agent.readings import Reading
from agent.report import Holder

_log = logging.getLogger(__name__)
_DEVICE_FILE = re.compile(r"(?:nvidia|gpu-)(\d+)$")  # GKE's device plugin, NVIDIA's DRA driver


def chosen_holders(socket: Path, host: Host) -> Holders:
    """The kubelet's where its folder is; the socket itself goes and comes with the kubelet."""
    return KubeletHolders(PodResources(socket)) if socket.parent.is_dir() else ProcessHolders(host)


class KubeletHolders:
    """Asks the kubelet. While it does not answer, nothing is known: that is not the same as nobody."""

    want_processes = False

    def __init__(self, pods: PodResources) -> None:
        self._pods = pods
        self._is_failing = False

    def now(self, readings: Iterable[Reading]) -> tuple[Holder, ...] | None:
        try:
            assignments = self._pods.assignments()
        except KubeletError as error:
            if not self._is_failing:
                _log.warning("the kubelet does not say which pod has which GPU: %s", error)
            self._is_failing = True
            return None
        self._is_failing = False
        return holders_of(assignments, {each.minor: each.device.uuid for each in readings if each.minor is not None})


def holders_of(assignments: Iterable[Assignment], uuids: Mapping[int, str]) -> tuple[Holder, ...]:
    """Devices by UUID; `uuids` are by the number of the device file, which some plugins name instead."""
    found = {
        Holder(
            device=_uuid(device, uuids),
            namespace=assignment.namespace,
            pod=assignment.pod,
            container=assignment.container,
            is_shared=bool(replica),
        )
        for assignment in assignments
        for device, _, replica in [assignment.device.partition("::")]
    }
    return tuple(sorted(found, key=in_order))


def _uuid(device: str, uuids: Mapping[int, str]) -> str:
    match = _DEVICE_FILE.fullmatch(device)
    return uuids.get(int(match[1]), device) if match else device
