"""What the API refuses about the volumes, tolerations and security of a pod's spec, in the real server's words. Pure.

Compared with a real 1.36 server by tests/contracts. Left out: kinds of volumes that nobody here uses, which are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.simcluster.api.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from app.simcluster.api.names import LABEL_RULE, SUBDOMAIN, label_value_problem, name_problem, qualified_problem
from app.simcluster.meta import Json
from app.simcluster.quantity import parse_quantity

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_LARGEST_ID = 2**31 - 1


def pod_causes(spec: Json, path: str) -> Iterator[Cause]:
    """Everything but the containers themselves."""
    yield from _volumes(spec.get("volumes") or [], f"{path}.volumes")
    names = {volume.get("name") for volume in spec.get("volumes") or []}
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(kind) or []):
            yield from _mounts(container.get("volumeMounts") or [], f"{path}.{kind}[{at}].volumeMounts", names)
            yield from _container_security(container.get("securityContext") or {}, f"{path}.{kind}[{at}]")
    for at, toleration in enumerate(spec.get("tolerations") or []):
        yield from _toleration(toleration, f"{path}.tolerations[{at}]")
    yield from _security(spec.get("securityContext") or {}, f"{path}.securityContext")
    if (name := spec.get("runtimeClassName")) is not None and (why := name_problem(name, SUBDOMAIN)):
        yield invalid_value(f"{path}.runtimeClassName", name, why)


def _volumes(volumes: list[Json], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, volume in enumerate(volumes):
        name, where = volume.get("name", ""), f"{path}[{at}]"
        if not name:
            yield required(f"{where}.name")
        elif why := name_problem(name, LABEL_RULE):
            yield invalid_value(f"{where}.name", name, why)
        elif name in seen:
            yield Cause(f"{where}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
        seen.add(name)
        sources = [kind for kind in volume if kind != "name"]
        for kind in sources[1:]:
            yield forbidden_value(f"{where}.{kind}", "may not specify more than 1 volume type")
        for kind in sources[:1]:
            yield from _source(kind, volume[kind] or {}, f"{where}.{kind}")


def _source(kind: str, source: Json, path: str) -> Iterator[Cause]:
    match kind:
        case "persistentVolumeClaim":
            if not source.get("claimName"):
                yield required(f"{path}.claimName")
        case "nfs":
            yield from _nfs(source, path)
        case "hostPath":
            yield from _host_path(source, path)
        case "emptyDir":
            yield from _size_limit(source.get("sizeLimit"), f"{path}.sizeLimit")


def _size_limit(size: object, path: str) -> Iterator[Cause]:
    try:
        is_size = size is None or parse_quantity(str(size)) >= 0
    except ValueError:
        is_size = False
    if not is_size:
        yield forbidden_value(path, "SizeLimit field must be a valid resource quantity")


def _nfs(source: Json, path: str) -> Iterator[Cause]:
    where = source.get("path", "")
    if not source.get("server"):
        yield required(f"{path}.server")
    if not where:
        yield required(f"{path}.path")
    if not where.startswith("/"):
        yield invalid_value(f"{path}.path", where, "must be an absolute path")


def _host_path(source: Json, path: str) -> Iterator[Cause]:
    where, kind = source.get("path", ""), source.get("type") or ""
    if not where:
        yield required(f"{path}.path")
    elif ".." in where.split("/"):
        yield invalid_value(f"{path}.path", where, "must not contain '..'")
    if kind not in _HOST_PATH_TYPES:
        yield unsupported_value(f"{path}.type", kind, _HOST_PATH_TYPES)


def _mounts(mounts: list[Json], path: str, volumes: set[Any]) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, mount in enumerate(mounts):
        name, where = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{path}[{at}].name")
        elif name not in volumes:
            yield Cause(f"{path}[{at}].name", "FieldValueNotFound", f'Not found: "{name}"')
        if not where:
            yield required(f"{path}[{at}].mountPath")
        elif where in seen:
            yield invalid_value(f"{path}[{at}].mountPath", where, "must be unique")
        seen.add(where)


def _toleration(toleration: Json, path: str) -> Iterator[Cause]:
    key, value, effect = (toleration.get(name) or "" for name in ("key", "value", "effect"))
    operator = toleration.get("operator") or "Equal"
    if key and (why := qualified_problem(key)):
        yield invalid_value(f"{path}.key", key, why)
    if not key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid_value(f"{path}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid_value(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Equal" and (why := label_value_problem(value)):
        yield invalid_value(f"{path}.operator", value, why)
    if operator == "Exists" and value:
        yield invalid_value(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    if operator not in ("Equal", "Exists"):
        yield unsupported_value(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield unsupported_value(f"{path}.effect", effect, _EFFECTS)


def _security(security: Json, path: str) -> Iterator[Cause]:
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        number = security.get(name)
        if number is not None and not 0 <= number <= _LARGEST_ID:
            yield invalid_value(f"{path}.{name}", number, f"must be between 0 and {_LARGEST_ID}, inclusive")
    seccomp = security.get("seccompProfile")
    if seccomp is None:
        return
    kind, where = seccomp.get("type"), f"{path}.seccompProfile"
    if kind not in _SECCOMP:
        yield unsupported_value(f"{where}.type", kind, _SECCOMP)
    elif kind == "Localhost" and not seccomp.get("localhostProfile"):
        yield required(f"{where}.localhostProfile", "must be set when seccomp type is Localhost")
    elif kind != "Localhost" and seccomp.get("localhostProfile"):
        yield invalid_value(f"{where}.localhostProfile", seccomp, "can only be set when seccomp type is Localhost")


def _container_security(security: Json, path: str) -> Iterator[Cause]:
    if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid_value(f"{path}.securityContext", security, why)
