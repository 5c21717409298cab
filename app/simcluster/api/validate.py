"""What the API refuses about a new object, field by field, in the real server's words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from app.simcluster.api.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from app.simcluster.meta import Json
from app.simcluster.quantity import parse_quantity
from app.simcluster.resources import JOBS, NAMESPACES, PODS, ResourceType

_LABEL = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MAX_LABEL, _MAX_NAME, _MAX_ANNOTATIONS = 63, 253, 256 * 1024
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_POLICIES = ("Always", "Never", "OnFailure")
_JOB_POLICIES = ("OnFailure", "Never")
_EXTENDED = re.compile(r".+/.+")
# parts of Jobs that the simulated controller doesn't play; better refused than silently ignored
_NOT_SIMULATED = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")


def validate(resource: ResourceType, obj: Json) -> list[Cause]:
    """All that is wrong with a defaulted object; empty when it is fine."""
    causes = [*_metadata(obj["metadata"], "metadata")]
    name = str(obj["metadata"].get("name", ""))
    if resource is NAMESPACES and not _LABEL_NAME.fullmatch(name[:_MAX_LABEL]):
        causes.append(invalid_value("metadata.name", name, "a lowercase RFC 1123 label is needed"))
    if resource is PODS:
        causes += _pod_spec(obj["spec"], "spec", _POLICIES)
    if resource is JOBS:
        causes += _job(obj)
    return causes


def validate_shape(resource: ResourceType, obj: Json) -> list[Cause]:
    """What must hold before defaults can be filled in: there are containers."""
    spec, path = obj.get("spec"), "spec"
    policies: tuple[str, ...] = ()
    if resource is JOBS:
        spec, path, policies = _template_spec(spec), "spec.template.spec", _JOB_POLICIES
    if resource not in {JOBS, PODS} or _is_spec(spec):
        return []
    causes = [*_metadata(obj["metadata"], "metadata"), required(f"{path}.containers")]
    return [*causes, *(_restart_policy(spec if isinstance(spec, dict) else {}, path, policies) if policies else ())]


def _template_spec(spec: Any) -> Any:
    template = spec.get("template") if isinstance(spec, dict) else None
    return template.get("spec") if isinstance(template, dict) else None


def _is_spec(spec: Any) -> bool:
    if not isinstance(spec, dict):
        return False
    containers = spec.get("containers")
    return bool(containers) and isinstance(containers, list) and all(isinstance(item, dict) for item in containers)


def _metadata(metadata: Json, path: str) -> Iterator[Cause]:
    name = str(metadata.get("name", ""))
    if not name:
        yield required(f"{path}.name", "name or generateName is required")
    elif len(name) > _MAX_NAME:
        yield invalid_value(f"{path}.name", name, "must be no more than 253 bytes")
    elif not _SUBDOMAIN.fullmatch(name):
        yield invalid_value(f"{path}.name", name, _SUBDOMAIN_RULE)
    yield from _labels(metadata.get("labels") or {}, f"{path}.labels")
    for key in metadata.get("annotations") or {}:
        yield from _qualified(key.lower(), f"{path}.annotations")
    size = sum(len(key) + len(str(value)) for key, value in (metadata.get("annotations") or {}).items())
    if size > _MAX_ANNOTATIONS:
        yield Cause(f"{path}.annotations", "FieldValueTooLong", "Too long: may not be more than 262144 bytes")
    for finalizer in metadata.get("finalizers") or []:
        yield from _finalizer(finalizer, f"{path}.finalizers")


def _finalizer(finalizer: str, path: str) -> Iterator[Cause]:
    if finalizer in {"orphan", "foregroundDeletion", "kubernetes"}:
        return
    if "/" not in finalizer:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        yield invalid_value(path, finalizer, why)
    yield from _qualified(finalizer, path)


def _labels(labels: Json, path: str) -> Iterator[Cause]:
    for key, value in labels.items():
        yield from _qualified(key, path)
        if not isinstance(value, str):
            yield invalid_value(path, value, "must be a string")
        elif len(value) > _MAX_LABEL:
            yield invalid_value(path, value, "must be no more than 63 bytes")
        elif not _LABEL.fullmatch(value):
            yield invalid_value(path, value, _LABEL_RULE)


def _qualified(key: str, path: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(prefix) or len(prefix) > _MAX_NAME):
        yield invalid_value(path, key, f"prefix part {_SUBDOMAIN_RULE}")
    if not name or len(name) > _MAX_LABEL or not _LABEL.fullmatch(name):
        why = "name part must consist of alphanumeric characters, '-', '_' or '.', and be no more than 63 bytes"
        yield invalid_value(path, key, why)


def _job(job: Json) -> Iterator[Cause]:
    spec = job["spec"]
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or value < 0):
            yield invalid_value(f"spec.{name}", value, "must be greater than or equal to 0")
    template = spec["template"]
    yield from _labels(template["metadata"].get("labels") or {}, "spec.template.labels")
    yield from _pod_spec(template["spec"], "spec.template.spec", _JOB_POLICIES)
    policy, policies = spec["podReplacementPolicy"], ("Failed", "TerminatingOrFailed")
    if policy not in policies:
        yield unsupported_value("spec.podReplacementPolicy", policy, policies)
    if spec["completionMode"] != "NonIndexed":
        yield forbidden_value("spec.completionMode", "the simulated cluster runs NonIndexed Jobs only")
    for name in _NOT_SIMULATED:
        if spec.get(name) is not None:
            yield forbidden_value(f"spec.{name}", "the simulated cluster doesn't know it")


def _pod_spec(spec: Json, path: str, policies: tuple[str, ...]) -> Iterator[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and (not isinstance(deadline, int) or not 1 <= deadline < 2**31):
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    seen: set[str] = set()
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(kind) or []):
            yield from _container(container, f"{path}.{kind}[{at}]", seen)
    yield from _restart_policy(spec, path, policies)
    yield from _affinity(spec, path)


def _restart_policy(spec: Json, path: str, policies: tuple[str, ...]) -> Iterator[Cause]:
    policy = spec.get("restartPolicy")
    if not policy:
        yield required(f"{path}.restartPolicy", "valid values: " + ", ".join(f'"{item}"' for item in policies))
    elif policy not in policies:
        yield unsupported_value(f"{path}.restartPolicy", policy, policies)


def _container(container: Json, path: str, seen: set[str]) -> Iterator[Cause]:
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        yield required(f"{path}.name")
    elif len(name) > _MAX_LABEL or not _LABEL_NAME.fullmatch(name):
        yield invalid_value(f"{path}.name", name, "a lowercase RFC 1123 label is needed")
    elif name in seen:
        yield Cause(f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
    seen.add(name)
    if not image:
        yield required(f"{path}.image")
    elif image.strip() != image:
        yield invalid_value(f"{path}.image", image, "must not have leading or trailing whitespace")
    for at, item in enumerate(container.get("env") or []):
        yield from _env(item, f"{path}.env[{at}]")
    yield from _resources(container.get("resources") or {}, f"{path}.resources")


def _env(item: Json, path: str) -> Iterator[Cause]:
    name = item.get("name", "")
    if not name:
        yield required(f"{path}.name")
    elif "=" in name or not name.isascii() or not name.isprintable():
        yield invalid_value(
            f"{path}.name",
            name,
            "a valid environment variable name must consist only of printable ASCII characters other than '='",
        )
    if not isinstance(item.get("value") or "", str):
        yield invalid_value(f"{path}.value", item["value"], "must be a string")


def _resources(resources: Json, path: str) -> Iterator[Cause]:
    for kind in ("limits", "requests"):
        for name, value in (resources.get(kind) or {}).items():
            yield from _quantity(value, f"{path}.{kind}[{name}]", whole=bool(_EXTENDED.fullmatch(name)))
    limits = resources.get("limits") or {}
    for name, value in (resources.get("requests") or {}).items():
        if _EXTENDED.fullmatch(name) and str(limits.get(name)) != str(value):
            yield invalid_value(
                f"{path}.requests", str(value), f"must be equal to {name} limit of {limits.get(name, 0)}"
            )


def _quantity(value: object, path: str, *, whole: bool) -> Iterator[Cause]:
    try:
        number = parse_quantity(str(value))
    except ValueError:
        yield invalid_value(
            path,
            str(value),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        )
        return
    if number < 0:
        yield invalid_value(path, str(value), "must be greater than or equal to 0")
    elif whole and number != int(number):
        yield invalid_value(path, str(value), "must be an integer")


def _affinity(spec: Json, path: str) -> Iterator[Cause]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required_terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required_terms is None:
        return
    where = f"{path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if not required_terms.get("nodeSelectorTerms"):
        yield required(where, "must have at least one node selector term")
    for at, term in enumerate(required_terms.get("nodeSelectorTerms") or []):
        for number, item in enumerate(term.get("matchFields") or []):
            field = f"{where}[{at}].matchFields[{number}]"
            if item.get("key") != "metadata.name":
                yield invalid_value(f"{field}.key", item.get("key"), "not a valid field selector key")
            if len(item.get("values") or []) != 1:
                yield required(
                    f"{field}.values",
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                )
