"""Label and field selectors: text to a test on facts. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from app.simcluster.api.errors import bad_request
from app.simcluster.history import Facts

Requirement = Callable[[Mapping[str, str]], bool]
_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_SET = re.compile(rf"^({_KEY})\s+(in|notin)\s+\(([^()]*)\)$")
_EQUALS = re.compile(rf"^({_KEY})\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)$")
_COMPARE = re.compile(rf"^({_KEY})\s*(>|<)\s*(-?[0-9]+)$")
_EXISTS = re.compile(rf"^(!?)\s*({_KEY})$")


def parse_labels(text: str) -> list[Requirement]:
    return [_label(part.strip()) for part in _split(text) if part.strip()]


def _split(text: str) -> list[str]:
    """At the commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _label(part: str) -> Requirement:
    if match := _SET.match(part):
        return _in_set(match[1], {item.strip() for item in match[4].split(",")}, wanted=match[3] == "in")
    if match := _EQUALS.match(part):
        return _equals(match[1], match[4], wanted=match[3] != "!=")
    if match := _COMPARE.match(part):
        return _compare(match[1], match[3], int(match[4]))
    if match := _EXISTS.match(part):
        key, wanted = match[2], not match[1]
        return lambda labels: (key in labels) is wanted
    raise bad_request(f"unable to parse requirement: found '{part}', expected a label requirement")


def _in_set(key: str, values: set[str], *, wanted: bool) -> Requirement:
    return lambda labels: (labels.get(key) in values) is wanted


def _equals(key: str, value: str, *, wanted: bool) -> Requirement:
    return lambda labels: (labels.get(key) == value) is wanted


def _compare(key: str, operator: str, limit: int) -> Requirement:
    def holds(labels: Mapping[str, str]) -> bool:
        value = labels.get(key, "")
        if not re.fullmatch(r"-?[0-9]+", value):
            return False
        return int(value) > limit if operator == ">" else int(value) < limit

    return holds


def parse_fields(text: str, known: Collection[str]) -> list[Requirement]:
    return [_field(part.strip(), known) for part in text.split(",") if part.strip()]


def _field(part: str, known: Collection[str]) -> Requirement:
    match = re.fullmatch(r"([^=!]+?)\s*(==|=|!=)\s*(.*)", part)
    if not match:
        raise bad_request(f"invalid field selector: {part!r}")
    name, operator, value = match.groups()
    if name not in known:
        raise bad_request(f"field label not supported: {name}")
    return _equals(name, value, wanted=operator != "!=")


class Selector:
    """Everything a list or a watch is narrowed by."""

    def __init__(self, namespace: str = "", labels: str = "", fields: str = "", known: Collection[str] = ()) -> None:
        self._namespace = namespace
        self._labels = parse_labels(labels)
        self._fields = parse_fields(fields, known)
        self.narrows = bool(self._labels or self._fields)

    def accepts(self, facts: Facts) -> bool:
        if self._namespace and facts.namespace != self._namespace:
            return False
        return all(test(facts.labels) for test in self._labels) and all(test(facts.fields) for test in self._fields)
