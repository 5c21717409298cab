"""What a pod mounts: /dev/shm, and the volumes that an operator has named. Pure; called by the manifest builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.cluster.port import VolumeMount
from app.domain.quantity import format_memory
from app.domain.volumes import Volume, VolumeKind, nfs_parts

SHARED_MEMORY = "/dev/shm"  # noqa: S108 — a path in the container, which is its own
_SHARED_MEMORY_NAME = "shared-memory"


def volumes_and_mounts(
    mounts: Sequence[VolumeMount], shared_memory_bytes: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The pod's `volumes` and the container's `volumeMounts`. No size: /dev/shm stays the container runtime's 64 MiB.

    A volume's name in the pod is its place: an operator's name may be as long as Kubernetes allows already.
    """
    by_name = {mount.volume.name: mount.volume for mount in mounts}
    names = {name: f"volume-{i}" for i, name in enumerate(by_name)}
    volumes = [{"name": names[name], **_source(volume)} for name, volume in by_name.items()]
    inside = [_mount(names[mount.volume.name], mount) for mount in mounts]
    if shared_memory_bytes:
        memory = {"medium": "Memory", "sizeLimit": format_memory(shared_memory_bytes)}
        volumes.insert(0, {"name": _SHARED_MEMORY_NAME, "emptyDir": memory})
        inside.insert(0, {"name": _SHARED_MEMORY_NAME, "mountPath": SHARED_MEMORY})
    return volumes, inside


def _mount(name: str, mount: VolumeMount) -> dict[str, Any]:
    read_only = {"readOnly": True} if mount.read_only or mount.volume.read_only else {}
    return {"name": name, "mountPath": mount.path, **read_only}


def _source(volume: Volume) -> dict[str, Any]:
    """Read-only is said here too where the kind knows it, so that not even the kubelet mounts it for writing."""
    read_only = {"readOnly": True} if volume.read_only else {}
    match volume.kind:
        case VolumeKind.PVC:
            return {"persistentVolumeClaim": {"claimName": volume.source, **read_only}}
        case VolumeKind.NFS:
            server, path = nfs_parts(volume.source)
            return {"nfs": {"server": server, "path": path, **read_only}}
        case VolumeKind.HOST_PATH:
            # Without the type the container runtime would make a directory that is missing, owned by root.
            return {"hostPath": {"path": volume.source, "type": "Directory"}}
