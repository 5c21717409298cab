"""What a node offers under one GPU resource name, and what a workload asks of it.

A whole GPU, a MIG slice and a share of a GPU are different things, and none stands in for another: more shares are
never more GPU. Names and labels are those of NVIDIA's device plugin and GPU feature discovery: `nvidia.com/gpu`,
`nvidia.com/mig-1g.10gb`, `nvidia.com/gpu.shared`. The plain name may stand for any of the three; then the product says
so by its end (`-MIG-1g.10gb`, `-SHARED`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

Version = tuple[int, ...]

DEFAULT_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*")  # a final * is anything
_MIG_NAME = re.compile(r".*/mig-(.+)")
_MIG_PRODUCT = re.compile(r"(.*)-MIG-([^-]+)")
_SHARED_NAME, _SHARED_PRODUCT = ".shared", "-SHARED"
_PROFILE = re.compile(r"[1-9]\d?g\.([1-9]\d{0,3})gb(?:\+[a-z]+(?:\.[a-z]+)*)?")
_WORD = re.compile(r"[a-z0-9]+")
GB = 10**9  # the unit of a profile's name


class Kind(NamedTuple):
    """A whole GPU has neither. `mig_profile` as `1g.10gb` or `1g.10gb+me`; what is no known form matches no request."""

    mig_profile: str = ""
    is_shared: bool = False

    @classmethod
    def of(cls, resource: str, product: str, *, is_shared: bool = False) -> Self:
        """`is_shared`: the node's labels say so of that name."""
        name = resource.removesuffix(_SHARED_NAME)
        shared = is_shared or name != resource
        if found := _MIG_NAME.fullmatch(name):
            return cls(_profile(found[1]), shared)
        if not name.endswith("/gpu"):
            return cls("", shared)
        plain = product.removesuffix(_SHARED_PRODUCT)
        by_product = _MIG_PRODUCT.fullmatch(plain)
        shared = shared or plain != product
        return cls(_profile(by_product[2]) if by_product else "", shared)


WHOLE = Kind()


class Device(NamedTuple):
    """What one resource name of a server stands for. What is not known is empty or 0, and meets no demand."""

    kind: Kind = WHOLE
    product: str = ""
    memory_bytes: int = 0
    compute_capability: Version = ()


class GpuRequirements(NamedTuple):
    """What each GPU must be; what is empty or 0 is not asked for. The product is any one of `products`."""

    products: tuple[str, ...] = ()
    memory_bytes: int = 0
    compute_capability: Version = ()
    mig_profile: str = ""
    is_shared: bool = False

    @property
    def kind(self) -> Kind:
        return Kind(self.mig_profile, self.is_shared)

    def given(self) -> dict[str, Any]:
        """Only what is asked for, as JSON has it."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    @classmethod
    def read(cls, given: dict[str, Any]) -> Self:
        """The reverse of `given`."""
        values: dict[str, Any] = {n: tuple(it) if isinstance(it, list) else it for n, it in given.items()}
        return cls(**values)


ANY_GPU = GpuRequirements()


class GpuLabels(NamedTuple):
    """What a node's labels say of its GPUs. `shared`: the resource names whose devices are shares."""

    product: str = ""
    memory_mib: int | None = None
    compute_capability: Version = ()
    shared: tuple[str, ...] = ()


NO_LABELS = GpuLabels()


@lru_cache(maxsize=16_384)
def device_of(resource: str, labels: GpuLabels) -> Device:
    """A slice has the memory that its profile names, a share all of its GPU's."""
    kind = Kind.of(resource, labels.product, is_shared=resource in labels.shared)
    memory = profile_memory(kind.mig_profile) if kind.mig_profile else (labels.memory_mib or 0) * 2**20
    return Device(kind, base_product(labels.product), memory, labels.compute_capability)


@lru_cache(maxsize=16_384)
def satisfies(device: Device, wanted: GpuRequirements) -> bool:
    return (
        device.kind == wanted.kind
        and has_product(device, wanted.products)
        and device.memory_bytes >= wanted.memory_bytes
        and device.compute_capability >= wanted.compute_capability
    )


def has_product(device: Device, products: Sequence[str]) -> bool:
    return not products or any(is_named(device.product, wanted) for wanted in products)


def is_named(product: str, wanted: str) -> bool:
    """Whether the words of `wanted` come in the product's name in that order, whatever is between them.

    `h100`, `A100 80GB` and `RTX-4090` find `NVIDIA-H100-80GB-HBM3`, `NVIDIA-A100-SXM4-80GB` and
    `NVIDIA-GeForce-RTX-4090`; words are whole, so that `A10` is no `A100`. Written together they are found too.
    """
    there = _words(product)
    at = 0
    for word in _words(wanted):
        found = next((end for start in range(at, len(there)) if (end := _end_of(word, there, start))), 0)
        if not found:
            return False
        at = found
    return bool(_words(wanted))


def _end_of(word: str, there: Sequence[str], start: int) -> int:
    """Behind the words, from `start` on, that make up the wanted one; 0 where they don't."""
    joined = ""
    for end in range(start, len(there)):
        joined += there[end]
        if joined == word:
            return end + 1
        if not word.startswith(joined):
            return 0
    return 0


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


def has_words(name: str) -> bool:
    """Whether there is anything in it that a product could be known by."""
    return bool(_words(name))


def base_product(product: str) -> str:
    """The GPU's own model, without what the label says of slices and shares."""
    plain = product.removesuffix(_SHARED_PRODUCT)
    found = _MIG_PRODUCT.fullmatch(plain)
    return found[1] if found else plain


def parse_profile(text: str) -> str:
    """A MIG profile as NVIDIA writes it, such as `1g.10gb`. Raises ValueError."""
    profile = _profile(text.strip().lower().removeprefix("mig-"))
    if not _PROFILE.fullmatch(profile):
        msg = f"must be a MIG profile such as 1g.10gb; it is {text[:40]!r}"
        raise ValueError(msg)
    return profile


def profile_memory(profile: str) -> int:
    """Bytes that a profile's name promises; 0 where it is none."""
    found = _PROFILE.fullmatch(profile)
    return int(found[1]) * GB if found else 0


def _profile(text: str) -> str:
    """In a resource's name and in a label a `+` is a dot: `1g.5gb.me` is the profile `1g.5gb+me`."""
    slices, _, rest = text.replace("+", ".").partition(".")
    memory, _, attributes = rest.partition(".")
    size = f"{slices}.{memory}" if memory else slices
    return f"{size}+{attributes}" if attributes else size


def parse_capability(text: str) -> Version:
    """`8.0` as (8, 0). Raises ValueError."""
    found = re.fullmatch(r"([1-9]\d?)\.(\d)", text.strip())
    if not found:
        msg = f"must be a compute capability such as 8.0; it is {text[:40]!r}"
        raise ValueError(msg)
    return int(found[1]), int(found[2])


def format_capability(capability: Iterable[int]) -> str:
    return ".".join(map(str, capability))
