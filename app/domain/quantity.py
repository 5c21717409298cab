"""Kubernetes resource quantities as integers: CPU in thousandths of a core, memory in bytes.

Grammar: k8s.io/apimachinery/pkg/api/resource, the decimal, binary and exponent forms.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

_QUANTITY = re.compile(r"([+-]?[0-9]*\.?[0-9]+|[+-]?[0-9]+\.)([a-zA-Z]*|[eE][+-]?[0-9]+)")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_LONGEST = 40
_LARGEST_EXPONENT = 30
_SUFFIX = {
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    "": Decimal(1),
    **{s: Decimal(10) ** (3 * i) for i, s in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{s: Decimal(2) ** (10 * i) for i, s in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}


def parse_quantity(text: str) -> Decimal:
    """The number a quantity stands for. Raises ValueError naming the text."""
    found = _QUANTITY.fullmatch(text.strip()[: _LONGEST + 1])
    if not found or len(text.strip()) > _LONGEST:
        msg = f"{text[:40]!r} is not a quantity such as 500m, 4, 16Gi or 64G"
        raise ValueError(msg)
    number, suffix = found.groups()
    exponent = int(suffix[1:]) if _EXPONENT.fullmatch(suffix) else None
    if exponent is not None and abs(exponent) > _LARGEST_EXPONENT:
        msg = f"{text[:40]!r} is a quantity beyond any machine"
        raise ValueError(msg)
    if suffix in _SUFFIX:
        return Decimal(number) * _SUFFIX[suffix]
    if exponent is not None:
        return Decimal(number + suffix)
    msg = f"{suffix!r} in {text[:40]!r} is not a unit; use m, k, M, G, T, Ki, Mi, Gi or Ti"
    raise ValueError(msg)


def parse_cpu(text: str) -> int:
    """CPU in thousandths of a core, rounded up as Kubernetes does."""
    return int((parse_quantity(text) * 1000).to_integral_value(rounding=ROUND_CEILING))


def parse_memory(text: str) -> int:
    """Memory in bytes, rounded up as Kubernetes does."""
    return int(parse_quantity(text).to_integral_value(rounding=ROUND_CEILING))


def format_cpu(millis: int) -> str:
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def format_memory(size: int) -> str:
    """Bytes in the largest unit that stays whole: a binary one, but for whole gigabytes."""
    if size and size % 10**9 == 0:
        return f"{size // 10**9}G"
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        unit = int(_SUFFIX[suffix])
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)
