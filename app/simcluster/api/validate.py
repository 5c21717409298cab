"""What the API refuses about a new object, field by field, in the real server's words. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from app.simcluster.api.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from app.simcluster.api.names import LABEL_RULE, SUBDOMAIN, label_value_problem, name_problem, qualified_problem
from app.simcluster.api.validate_pod import pod_causes
from app.simcluster.defaults import job_labels
from app.simcluster.meta import Json
from app.simcluster.quantity import parse_quantity
from app.simcluster.resources import JOBS, NAMESPACES, PODS, ResourceType

_MAX_ANNOTATIONS = 256 * 1024
_POLICIES = ("Always", "Never", "OnFailure")
_JOB_POLICIES = ("OnFailure", "Never")
_WORDS = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_EXTENDED = re.compile(r".+/.+")
# parts of Jobs that the simulated controller doesn't play; better refused than silently ignored
_NOT_SIMULATED = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")


def validate(resource: ResourceType, obj: Json) -> list[Cause]:
    """All that is wrong with a defaulted object; empty when it is fine."""
    causes = [*_metadata(obj["metadata"], "metadata")]
    name = str(obj["metadata"].get("name", ""))
    if resource is NAMESPACES and name and (why := name_problem(name, LABEL_RULE)):
        causes.append(invalid_value("metadata.name", name, why))
    if resource is PODS:
        causes += [*_pod_spec(obj["spec"], "spec", _POLICIES), *_images(obj["spec"])]
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
    elif why := name_problem(name, SUBDOMAIN):
        yield invalid_value(f"{path}.name", name, why)
    yield from _labels(metadata.get("labels") or {}, f"{path}.labels")
    yield from _annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    for at, finalizer in enumerate(metadata.get("finalizers") or []):
        yield from _finalizer(finalizer, f"{path}.finalizers[{at}]")


def _annotations(annotations: Json, path: str) -> Iterator[Cause]:
    for key in annotations:
        if why := qualified_problem(key.lower()):
            yield invalid_value(path, key.lower(), why)
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        yield Cause(path, "FieldValueTooLong", "Too long: may not be more than 262144 bytes")


def _finalizer(finalizer: str, path: str) -> Iterator[Cause]:
    if finalizer in {"orphan", "foregroundDeletion", "kubernetes"}:
        return
    if "/" not in finalizer:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        yield invalid_value(path, finalizer, why)
    if why := qualified_problem(finalizer):
        yield invalid_value(path, finalizer, why)


def _labels(labels: Json, path: str) -> Iterator[Cause]:
    for key, value in labels.items():
        if why := qualified_problem(key):
            yield invalid_value(path, key, why)
        if not isinstance(value, str):
            yield invalid_value(path, value, "must be a string")
        elif why := label_value_problem(value):
            yield invalid_value(path, value, why)


def _job(job: Json) -> Iterator[Cause]:
    spec = job["spec"]
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or value < 0):
            yield invalid_value(f"spec.{name}", value, "must be greater than or equal to 0")
    template = spec["template"]
    yield from _labels(template["metadata"].get("labels") or {}, "spec.template.labels")
    yield from _annotations(template["metadata"].get("annotations") or {}, "spec.template.annotations")
    yield from _own_labels(job)
    yield from _pod_spec(template["spec"], "spec.template.spec", _JOB_POLICIES)
    policy, policies = spec["podReplacementPolicy"], ("Failed", "TerminatingOrFailed")
    if policy not in policies:
        yield unsupported_value("spec.podReplacementPolicy", policy, policies)
    if spec["completionMode"] != "NonIndexed":
        yield forbidden_value("spec.completionMode", "the simulated cluster runs NonIndexed Jobs only")
    for name in _NOT_SIMULATED:
        if spec.get(name) is not None:
            yield forbidden_value(f"spec.{name}", "the simulated cluster doesn't know it")


def _own_labels(job: Json) -> Iterator[Cause]:
    given = job["spec"]["template"]["metadata"].get("labels") or {}
    for key, value in job_labels(job["metadata"].get("name", ""), job["metadata"]["uid"]).items():
        if given.get(key) != value:
            shown = json.dumps(given, sort_keys=True, separators=(",", ":"))
            why = f"Invalid value: {shown}: must be '{value}'"
            yield Cause(f"spec.template.metadata.labels[{key}]", "FieldValueInvalid", why)


def _pod_spec(spec: Json, path: str, policies: tuple[str, ...]) -> Iterator[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and (not isinstance(deadline, int) or not 1 <= deadline < 2**31):
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    seen: set[str] = set()
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(kind) or []):
            yield from _container(container, f"{path}.{kind}[{at}]", seen)
    yield from pod_causes(spec, path)
    yield from _restart_policy(spec, path, policies)
    yield from _affinity(spec, path)


def _images(spec: Json) -> Iterator[Cause]:
    """Of pods only: a Job is taken with an image that its pods will be refused for."""
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(kind) or []):
            image = container.get("image", "")
            if image.strip() != image:
                why = "must not have leading or trailing whitespace"
                yield invalid_value(f"spec.{kind}[{at}].image", image, why)


def _restart_policy(spec: Json, path: str, policies: tuple[str, ...]) -> Iterator[Cause]:
    policy = spec.get("restartPolicy")
    if not policy or (policy == "Always" and policies == _JOB_POLICIES):
        yield required(f"{path}.restartPolicy", "valid values: " + ", ".join(f'"{item}"' for item in policies))
    elif policy not in policies:
        yield unsupported_value(f"{path}.restartPolicy", policy, policies)


def _container(container: Json, path: str, seen: set[str]) -> Iterator[Cause]:
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        yield required(f"{path}.name")
    elif why := name_problem(name, LABEL_RULE):
        yield invalid_value(f"{path}.name", name, why)
    elif name in seen:
        yield Cause(f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
    seen.add(name)
    if not image:
        yield required(f"{path}.image")
    for field, allowed in _WORDS.items():
        if (word := container.get(field)) not in (None, *allowed):
            yield unsupported_value(f"{path}.{field}", word, allowed)
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
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            where = f"{path}.{kind}[{name}]"
            yield from _resource_name(name, where)
            yield from _quantity(value, where, whole=bool(_EXTENDED.fullmatch(name)))
    for name, value in requests.items():
        yield from _compared(name, value, limits.get(name), path)


def _resource_name(name: str, path: str) -> Iterator[Cause]:
    if why := qualified_problem(name):
        yield invalid_value(path, name, why)
    elif "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        yield invalid_value(path, name, "must be a standard resource type or fully qualified")
        yield invalid_value(path, name, "must be a standard resource for containers")


def _compared(name: str, request: object, limit: object, path: str) -> Iterator[Cause]:
    """A request against its limit: equal for what can't be overcommitted, else not above it."""
    is_extended = bool(_EXTENDED.fullmatch(name))
    if limit is None:
        if is_extended:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif is_extended and str(limit) != str(request):
        yield invalid_value(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
    elif not is_extended and _is_more(request, limit):
        why = f"must be less than or equal to {name} limit of {limit}"
        yield invalid_value(f"{path}.requests", str(request), why)


def _is_more(request: object, limit: object) -> bool:
    try:
        return parse_quantity(str(request)) > parse_quantity(str(limit))
    except ValueError:
        return False  # said already


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
