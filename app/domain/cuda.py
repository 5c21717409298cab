"""Which NVIDIA driver a CUDA image needs.

The driver is the host's, the toolkit the image's. Within a CUDA major version any driver from that major's minimum on
runs it (minor-version compatibility); a driver older than the toolkit's own minor may lack features, which is worth a
warning. Sources: NVIDIA, CUDA Compatibility guide; toolkit release notes for the bundled drivers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Version = tuple[int, ...]

# CUDA major -> the oldest Linux driver that runs it
MINIMUM_DRIVER: dict[int, Version] = {11: (450, 80, 2), 12: (525, 60, 13), 13: (580, 65, 6)}

_TOOLKIT_TAG = re.compile(r"(?:^|[^a-z0-9])(?:cuda|cu)[-_]?(\d{1,2})\.(\d{1,2})(?!\d)", re.IGNORECASE)
_COMPACT_TAG = re.compile(r"(?:^|[^a-z0-9])cu(\d{2})(\d)(?![0-9])", re.IGNORECASE)
_LEADING = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})")


@dataclass(frozen=True)
class CudaVersion:
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """The reverse of `str`. Raises ValueError for anything but a major and a minor number."""
        if not _LEADING.fullmatch(text):
            msg = f"must be a CUDA version such as 12.4; it is {text[:40]!r}"
            raise ValueError(msg)
        major, _, minor = text.partition(".")
        return cls(int(major), int(minor))

    @property
    def minimum_driver(self) -> Version | None:
        """None where the major version is not in the table: then no server is ruled out."""
        return MINIMUM_DRIVER.get(self.major)


def cuda_of_image(path: str, tag: str) -> CudaVersion | None:
    """The CUDA version that a reference states, or None. A bare number counts only for a repository named `cuda`."""
    repository = path.rsplit("/", 1)[-1]
    if repository == "cuda" and (found := _LEADING.match(tag)):
        return CudaVersion(int(found[1]), int(found[2]))
    found = _TOOLKIT_TAG.search(tag) or _COMPACT_TAG.search(tag)
    return CudaVersion(int(found[1]), int(found[2])) if found else None


def parse_driver(text: str) -> Version | None:
    """`535.104.05` as numbers; None for anything else."""
    parts = text.split(".")
    return tuple(int(p) for p in parts) if text and all(p.isdecimal() for p in parts) else None


def is_newer_minor(cuda: CudaVersion | None, supported: str) -> bool:
    """Whether a toolkit is of a later minor version than the highest that a driver was made for, as `12.2`."""
    found = _LEADING.match(supported)
    if cuda is None or found is None:
        return False
    return cuda.major == int(found[1]) and cuda.minor > int(found[2])


def driver_runs(driver: Version | None, cuda: CudaVersion | None) -> bool:
    """True unless the driver is known to be older than the CUDA version's minimum."""
    minimum = cuda.minimum_driver if cuda else None
    return driver is None or minimum is None or driver >= minimum
