"""Kubernetes' rules for names, labels and qualified keys, worded as its API does. Pure."""

from __future__ import annotations

import re

MAX_LABEL, MAX_NAME = 63, 253
_PART = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def name_problem(name: str, rule: str) -> str:
    """Why it isn't a name by SUBDOMAIN or LABEL_RULE; empty where it is."""
    form, longest, unit = (
        (_SUBDOMAIN, MAX_NAME, "bytes") if rule is SUBDOMAIN else (_DNS_LABEL, MAX_LABEL, "characters")
    )
    if len(name) > longest:
        return f"must be no more than {longest} {unit}"
    return "" if form.fullmatch(name) else rule


def label_value_problem(value: str) -> str:
    if len(value) > MAX_LABEL:
        return "must be no more than 63 bytes"
    return "" if not value or _PART.fullmatch(value) else _VALUE_RULE


def qualified_problem(key: str) -> str:
    """Why it isn't `[prefix/]name`, as keys of labels and names of resources are; empty where it is."""
    prefix, slash, name = key.partition("/")
    if not slash:
        prefix, name = "", key
    elif "/" in name:
        rule = _NAME_PART_RULE.replace("name part", "a qualified name", 1)
        return f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    elif not prefix:
        return "prefix part must be non-empty"
    elif why := name_problem(prefix, SUBDOMAIN):
        return f"prefix part {why}"
    if not name:
        return "name part must be non-empty"
    if len(name) > MAX_LABEL:
        return "name part must be no more than 63 bytes"
    return "" if _PART.fullmatch(name) else _NAME_PART_RULE
