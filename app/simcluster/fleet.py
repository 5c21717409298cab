"""The simulated servers: their description, and the Node objects made of it."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from app.simcluster.meta import Json

GPU_RESOURCE = "nvidia.com/gpu"
GPUS_ANNOTATION = "simcluster/gpus"
DEVICES_ANNOTATION = "simcluster/devices"  # where there are slices or shares: ids by resource name, as JSON
VERSION = "v1.36.2"
_UUID_SPACE = uuid.UUID("6f1d2a52-7c0e-4f0b-9d0a-6a9b1c0e5d11")
_FAMILIES = {
    "H100": ("hopper", "9", "0"),
    "H200": ("hopper", "9", "0"),
    "B200": ("blackwell", "10", "0"),
    "A100": ("ampere", "8", "0"),
    "A10": ("ampere", "8", "6"),
    "L40S": ("ada-lovelace", "8", "9"),
    "L4": ("ada-lovelace", "8", "9"),
    "T4": ("turing", "7", "5"),
    "V100": ("volta", "7", "0"),
}


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """`gpus` are those that are not cut into slices. `mig`: how many slices of each profile, which have resource names
    of their own, or the plain one with `mig_single`. `replicas`: how many shares each GPU is, under the name for shared
    ones, or the plain one without `rename_shared`. `unhealthy` are places among all devices.
    """

    name: str
    gpus: int = 0
    product: str = ""
    memory_mib: int = 0
    cpu: str = "64"
    memory: str = "512Gi"
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    driver: str = "580.95.05"
    cuda: str = "13.0"
    unhealthy: tuple[int, ...] = ()
    cordoned: bool = False
    mig: dict[str, int] = field(default_factory=dict)
    mig_single: bool = False
    replicas: int = 1
    rename_shared: bool = True

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NodeSpec:
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"unknown node fields {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        for name in ("taints", "unhealthy"):
            values = {**values, name: tuple(values.get(name, ()))}
        return cls(**values)


DEFAULT_FLEET = (
    NodeSpec("gpu-1", 8, "NVIDIA-H100-80GB-HBM3", 81559, cpu="192", memory="2Ti"),
    NodeSpec("gpu-2", 8, "NVIDIA-A100-SXM4-80GB", 81920, cpu="128", memory="1Ti", unhealthy=(5,)),
    NodeSpec("gpu-3", 4, "NVIDIA-L40S", 46068, cpu="64", memory="512Gi", driver="570.124.06", cuda="12.8"),
    NodeSpec("gpu-4", 2, "Tesla-T4", 15360, cpu="32", memory="128Gi", driver="535.183.01", cuda="12.2"),
    NodeSpec("gpu-5", 8, "NVIDIA-A100-SXM4-40GB", 40960, cpu="128", memory="1Ti", cordoned=True),
    NodeSpec("cpu-1", cpu="32", memory="128Gi"),
)


@lru_cache(maxsize=16_384)
def gpu_uuids(node: str, count: int) -> tuple[str, ...]:
    """The node's devices. Derived from its name, so that a restart finds the same ones."""
    return tuple(f"GPU-{uuid.uuid5(_UUID_SPACE, f'{node}/{index}')}" for index in range(count))


def devices(spec: NodeSpec) -> dict[str, tuple[str, ...]]:
    """The ids of the node's devices by resource name, as the device plugin names them."""
    found: dict[str, tuple[str, ...]] = {}
    if spec.gpus:
        whole = gpu_uuids(spec.name, spec.gpus)
        shares = tuple(f"{device}::{number}" for number in range(spec.replicas) for device in whole)
        is_renamed = spec.replicas > 1 and spec.rename_shared
        found[f"{GPU_RESOURCE}.shared" if is_renamed else GPU_RESOURCE] = shares if spec.replicas > 1 else whole
    for profile, count in spec.mig.items():
        name = GPU_RESOURCE if spec.mig_single else f"nvidia.com/mig-{profile}"
        found[name] = tuple(f"MIG-{uuid.uuid5(_UUID_SPACE, f'{spec.name}/{profile}/{at}')}" for at in range(count))
    return found


def node_object(spec: NodeSpec) -> Json:
    taints = [*spec.taints]
    node_spec: Json = {"taints": taints} if taints else {}
    if spec.cordoned:
        node_spec["unschedulable"] = True
    metadata: Json = {"name": spec.name, "labels": {**_base_labels(spec.name), **_gpu_labels(spec), **spec.labels}}
    if spec.mig or spec.replicas > 1:
        metadata["annotations"] = {DEVICES_ANNOTATION: json.dumps(devices(spec))}
    elif spec.gpus:
        metadata["annotations"] = {GPUS_ANNOTATION: str(spec.gpus)}
    capacity = {"cpu": spec.cpu, "memory": spec.memory}
    return {"metadata": metadata, "spec": node_spec, "status": {"capacity": capacity}}


def _base_labels(name: str) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
    }


def _gpu_labels(spec: NodeSpec) -> dict[str, str]:
    """As GPU feature discovery writes them."""
    if not devices(spec):
        return {}
    labels = {
        "gpu.present": "true",
        "gpu.product": _product(spec),
        "gpu.count": str(sum(spec.mig.values()) if spec.mig_single else spec.gpus),
        "gpu.memory": str(spec.memory_mib),
        "gpu.replicas": str(spec.replicas),
        "gpu.sharing-strategy": "time-slicing" if spec.replicas > 1 else "none",
        "gpu.mode": "compute",
        **({"mig.strategy": "single" if spec.mig_single else "mixed"} if spec.mig else {}),
        "mig.capable": str(_family(spec.product)[0] in {"ampere", "hopper", "blackwell"}).lower(),
        **_version_labels("cuda.driver-version", spec.driver, ("major", "minor", "revision")),
        **_version_labels("cuda.runtime-version", spec.cuda, ("major", "minor")),
        **_family_labels(spec.product),
    }
    return {f"nvidia.com/{name}": value for name, value in labels.items()}


def _product(spec: NodeSpec) -> str:
    if spec.mig_single:
        return f"{spec.product}-MIG-{next(iter(spec.mig))}"
    return f"{spec.product}-SHARED" if spec.replicas > 1 and not spec.rename_shared else spec.product


def _version_labels(prefix: str, version: str, parts: tuple[str, ...]) -> dict[str, str]:
    numbers = [*version.split("."), *[""] * len(parts)]
    return {f"{prefix}.full": version, **{f"{prefix}.{part}": numbers[at] for at, part in enumerate(parts)}}


def _family_labels(product: str) -> dict[str, str]:
    family, major, minor = _family(product)
    if not family:
        return {}
    return {"gpu.family": family, "gpu.compute.major": major, "gpu.compute.minor": minor}


def _family(product: str) -> tuple[str, str, str]:
    words = product.split("-")
    return next((facts for model, facts in _FAMILIES.items() if model in words), ("", "", ""))
