"""From what someone typed about a workload's GPUs to checked `GpuRequirements`. Every problem is named by its field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.domain.errors import InvalidInputError, Problem
from app.domain.gpus import GpuRequirements, Kind, has_words, parse_capability, parse_profile, profile_memory
from app.domain.quantity import format_memory, parse_memory
from app.domain.wording import gpus

T = TypeVar("T")

FIELD = "gpuRequirements"
MAX_PRODUCTS = 16
MAX_PRODUCT = 100
MIN_MEMORY, MAX_MEMORY = 2**20, 10 * 2**40


@dataclass(frozen=True)
class GpuDraft:
    """As it came in: nothing is checked yet. The fields are the API's."""

    products: Sequence[str] = ()
    memory: str | None = None
    compute_capability: str | None = None
    mig_profile: str | None = None
    shared: bool = False


NOTHING_ASKED = GpuDraft()


def check_gpu_requirements(draft: GpuDraft, gpu_count: int, problems: list[Problem]) -> GpuRequirements:
    """What could be read; what could not is told in `problems`."""
    wanted = GpuRequirements(
        products=_products(draft.products, problems),
        memory_bytes=_read("memory", draft.memory, _memory, problems) or 0,
        compute_capability=_read("computeCapability", draft.compute_capability, parse_capability, problems) or (),
        mig_profile=_read("migProfile", draft.mig_profile, parse_profile, problems) or "",
        is_shared=draft.shared,
    )
    has = profile_memory(wanted.mig_profile)
    if has and wanted.memory_bytes > has:
        what = f"a MIG slice {wanted.mig_profile} has {format_memory(has)}, and {format_memory(wanted.memory_bytes)}"
        problems.append(Problem(f"{FIELD}.memory", f"{what} are asked for. Ask for a larger profile, or for less"))
    if wanted.is_shared and gpu_count > 1:
        words = f"must be 1 where shared GPUs are asked for, as more shares are never more GPU; it is {gpu_count}"
        problems.append(Problem("gpuCount", words))
    return wanted


def check_fits_largest(gpu_count: int, kind: Kind, server: str, largest: int) -> None:
    """Raise when no server on record is large enough. Cordoned servers and unhealthy GPUs count.

    Where there is none of the kind at all, a request may wait for one.
    """
    if gpu_count > largest > 0:
        raise InvalidInputError.of(
            "gpuCount",
            f"{gpus(gpu_count, kind)} on one server were asked for; the largest server on record, {server}, has "
            f"{largest}. Ask for {largest} or fewer",
        )


def _products(names: Sequence[str], problems: list[Problem]) -> tuple[str, ...]:
    if len(names) > MAX_PRODUCTS:
        problems.append(Problem(f"{FIELD}.products", f"at most {MAX_PRODUCTS} are taken; {len(names)} were given"))
        return ()
    found = tuple(dict.fromkeys(" ".join(name.split()) for name in names))
    for at, name in enumerate(names):
        if not (name.isprintable() and len(name) <= MAX_PRODUCT and has_words(name)):
            words = f"must be a product's name or a part of it, such as H100, at most {MAX_PRODUCT} characters"
            problems.append(Problem(f"{FIELD}.products[{at}]", f"{words}; it is {name[:40]!r}"))
    return found


def _read(field: str, text: str | None, parse: Callable[[str], T], problems: list[Problem]) -> T | None:
    if text is None or not text.strip():
        return None
    try:
        return parse(text)
    except ValueError as error:
        problems.append(Problem(f"{FIELD}.{field}", str(error)))
        return None


def _memory(text: str) -> int:
    size = parse_memory(text)
    if not MIN_MEMORY <= size <= MAX_MEMORY:
        low, high = format_memory(MIN_MEMORY), format_memory(MAX_MEMORY)
        msg = f"must be between {low} and {high}, such as 40G; it is {text.strip()[:40]}"
        raise ValueError(msg)
    return size
