"""Kubernetes quantities (`500m`, `16Gi`, `2`) as exact numbers, and the sum of what a pod asks for."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from app.simcluster.meta import Json

_FORM = re.compile(r"^([+-]?[0-9.]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$")
_DECIMAL: dict[str, Decimal | int] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("0.001"),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
}
_BINARY: dict[str, Decimal | int] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_FACTORS = {**_DECIMAL, **_BINARY}

Amounts = dict[str, int]  # cpu in thousandths of a core, all else in units: sums stay whole numbers


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Decimal:
    match = _FORM.match(text)
    if not match:
        raise ValueError(f"not a quantity: {text!r}")
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix[:1] in {"e", "E"} and suffix not in _FACTORS:
        return number * Decimal(10) ** int(suffix[1:])
    return number * _FACTORS.get(suffix, 1)


def amounts(quantities: Json) -> Amounts:
    return {name: _amount(name, str(value)) for name, value in quantities.items()}


def _amount(name: str, text: str) -> int:
    value = parse_quantity(text) * (1000 if name == "cpu" else 1)
    return int(value.to_integral_value(rounding="ROUND_CEILING"))


def pod_requests(spec: Json) -> Amounts:
    """The most at one time: containers with all sidecars, or an init container with those before it; and one pod."""
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in spec.get("initContainers") or []:
        asked = _requests(container)
        if is_sidecar(container):
            sidecars = _plus(sidecars, asked)
        else:
            highest = _most(highest, _plus(sidecars, asked))
    total = sidecars
    for container in spec["containers"]:
        total = _plus(total, _requests(container))
    of_pod = _requests(spec)  # where given, it stands for the containers'
    return {**_plus({**_most(total, highest), **of_pod}, amounts(spec.get("overhead") or {})), "pods": 1}


def is_sidecar(container: Json) -> bool:
    """An init container that runs on beside the main ones."""
    return container.get("restartPolicy") == "Always"


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _requests(container: Json) -> Amounts:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
