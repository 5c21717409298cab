"""The setting that names several clusters, `GPUYARD_CLUSTERS`: what one entry holds, and how it is read."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from app.domain.dns_names import DNS_LABEL

DEFAULT_CLUSTER = "default"
_IN_CLUSTER = "in-cluster"
_FORM = "write name=/path/to/kubeconfig, name=/path/to/kubeconfig#context or name=in-cluster, separated by commas"


@dataclass(frozen=True)
class ClusterSetting:
    """`kubeconfig` None: the pod's own service account. An empty `context` is the file's current one."""

    name: str
    kubeconfig: Path | None = None
    context: str = ""


def parse_clusters(text: str) -> tuple[ClusterSetting, ...]:
    """Raise ValueError for what can't be read, a name given twice, and a file that isn't there."""
    found = tuple(_parse(entry.strip()) for entry in text.split(",") if entry.strip())
    twice = [name for name, count in Counter(cluster.name for cluster in found).items() if count > 1]
    if twice:
        msg = f"the name {twice[0]} is given to several clusters; each needs one of its own"
        raise ValueError(msg)
    if sum(cluster.kubeconfig is None for cluster in found) > 1:
        msg = f"only one cluster can be {_IN_CLUSTER}: the one that GPUYard runs in"
        raise ValueError(msg)
    return found


def _parse(entry: str) -> ClusterSetting:
    name, equals, target = (part.strip() for part in entry.partition("="))
    if not equals or not target:
        msg = f"{entry[:80]!r} names no cluster; {_FORM}"
        raise ValueError(msg)
    if not re.fullmatch(DNS_LABEL, name):
        msg = f"{name[:80]!r} is no name for a cluster: lower-case letters, digits and -, at most 63"
        raise ValueError(msg)
    if target == _IN_CLUSTER:
        return ClusterSetting(name)
    path, _, context = target.partition("#")
    if not Path(path).is_file():
        msg = f"there is no file {path} for cluster {name}"
        raise ValueError(msg)
    return ClusterSetting(name, Path(path), context)
