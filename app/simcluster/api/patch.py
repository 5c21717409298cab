"""The three kinds of PATCH, as pure functions from the old object to the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.simcluster.api.errors import ApiError, bad_request
from app.simcluster.meta import Json

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

# Lists that a strategic merge joins by a key instead of replacing them, by the field's name. Where a name has
# another meaning elsewhere in the objects served here, the path in front of it says which one is meant.
_MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "ownerReferences": "uid",
    "taints": "key",
    "addresses": "type",
    "hostAliases": "ip",
}
_PRIMITIVE_LISTS = {"finalizers"}
_DELETE_PRIMITIVE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"
_PATCH = "$patch"


def apply_patch(media: str, old: Json, patch: Any) -> Json:
    if media == JSON_PATCH:
        result = json_patch(old, patch)
    elif not isinstance(patch, dict):
        raise bad_request("the patch must be an object")
    else:
        result = merge_patch(old, patch) if media == MERGE else strategic_patch(old, patch)
    if not isinstance(result, dict) or not isinstance(result.get("metadata"), dict):
        raise bad_request("the patch leaves no object behind")
    return result


def merge_patch(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def strategic_patch(old: Json, patch: Json) -> Json:
    if patch.get(_PATCH) == "replace":
        return {name: value for name, value in patch.items() if name != _PATCH}
    if patch.get(_PATCH) == "delete":
        return {}
    result = dict(old)
    for name, value in patch.items():
        if name.startswith(_DELETE_PRIMITIVE):
            _remove_from(result, name.removeprefix(_DELETE_PRIMITIVE), value)
        elif name.startswith(_ORDER) or name in {_RETAIN, _PATCH}:
            continue
        elif value is None:
            result.pop(name, None)
        else:
            result[name] = _strategic_value(name, result.get(name), value)
    for name, order in patch.items():
        if name.startswith(_ORDER):
            _reorder(result, name.removeprefix(_ORDER), order)
    return result if _RETAIN not in patch else {k: v for k, v in result.items() if k in patch[_RETAIN]}


def _remove_from(result: Json, name: str, values: list[Any]) -> None:
    left = [item for item in result.get(name) or [] if item not in values]
    if left:
        result[name] = left
    else:
        result.pop(name, None)


def _strategic_value(name: str, old: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return strategic_patch(old if isinstance(old, dict) else {}, value)
    if isinstance(value, list) and name in _PRIMITIVE_LISTS:
        return [*(old or []), *[item for item in value if item not in (old or [])]]
    if isinstance(value, list) and name in _MERGE_KEYS:
        return _merge_list(_MERGE_KEYS[name], old or [], value)
    return value


def _merge_list(key: str, old: list[Json], patches: list[Json]) -> list[Json]:
    if any(item.get(_PATCH) == "replace" for item in patches):
        return [item for item in patches if _PATCH not in item]
    result = list(old)
    for item in patches:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next((i for i, known in enumerate(result) if known.get(key) == item[key]), None)
        if item.get(_PATCH) == "delete":
            result = [known for known in result if known.get(key) != item[key]]
        elif at is None:
            result.append({name: value for name, value in item.items() if name != _PATCH})
        else:
            result[at] = strategic_patch(result[at], item)
    return result


def _reorder(result: Json, name: str, order: list[Any]) -> None:
    """Listed elements first, in the order given."""
    key = _MERGE_KEYS.get(name)
    wanted = [item.get(key) if isinstance(item, dict) else item for item in order]

    def place(item: Any) -> int:
        own = item.get(key) if isinstance(item, dict) else item
        return wanted.index(own) if own in wanted else len(wanted)

    if name in result:
        result[name] = sorted(result[name], key=place)


# JSON patch, RFC 6902


def json_patch(old: Json, operations: Any) -> Json:
    if not isinstance(operations, list):
        raise bad_request("a JSON patch must be a list of operations")
    document: Any = _copied(old)
    for operation in operations:
        document = _operate(document, operation)
    result: Json = document
    return result


def _copied(value: Any) -> Any:
    """Containers anew, since the stored object must not change."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _operate(document: Any, operation: Any) -> Any:
    try:
        action = _ACTIONS[operation["op"]]
        return action(document, operation)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {}) from error


def _add(document: Any, operation: Json) -> Any:
    return _put(document, _path(operation["path"]), operation["value"])


def _remove(document: Any, operation: Json) -> Any:
    parent, last = _parent(document, _path(operation["path"]))
    del parent[_at(parent, last)]
    return document


def _replace(document: Any, operation: Json) -> Any:
    _value(document, _path(operation["path"]))  # it must be there
    if not _path(operation["path"]):
        return operation["value"]
    parent, last = _parent(document, _path(operation["path"]))
    parent[_at(parent, last)] = operation["value"]
    return document


def _move(document: Any, operation: Json) -> Any:
    value = _value(document, _path(operation["from"]))
    _remove(document, {"path": operation["from"]})
    return _put(document, _path(operation["path"]), value)


def _copy(document: Any, operation: Json) -> Any:
    return _put(document, _path(operation["path"]), _copied(_value(document, _path(operation["from"]))))


def _test(document: Any, operation: Json) -> Any:
    if _value(document, _path(operation["path"])) != operation["value"]:
        raise ValueError("testing value failed")
    return document


_ACTIONS: dict[str, Callable[[Any, Json], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _path(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"not a pointer: {pointer}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(parent: Any, part: str) -> Any:
    return int(part) if isinstance(parent, list) else part


def _value(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[_at(document, part)]
    return document


def _parent(document: Any, path: list[str]) -> tuple[Any, str]:
    return _value(document, path[:-1]), path[-1]


def _put(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _parent(document, path)
    if not isinstance(parent, list):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    elif 0 <= int(last) <= len(parent):
        parent.insert(int(last), value)
    else:
        raise IndexError(last)
    return document
