"""Failures as Kubernetes says them: an HTTP code and a Status body. Raised anywhere under api/, rendered in app.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from app.simcluster.meta import Json
from app.simcluster.resources import ResourceType


class ApiError(Exception):
    def __init__(
        self, code: int, reason: str, message: str, details: Json | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = int(code)
        self.reason = reason
        self.details = details
        self.headers = headers or {}

    def status(self) -> Json:
        body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        return {name: value for name, value in body.items() if value not in (None, "")}


def success(resource: ResourceType, obj: Json) -> Json:
    """The answer to a DELETE that left nothing behind."""
    details = {**_details(resource, obj["metadata"]["name"]), "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(resource: ResourceType, name: str) -> Json:
    group = {"group": resource.group} if resource.group else {}
    return {"name": name, **group, "kind": resource.plural}


def bad_request(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def namespace_terminating(resource: ResourceType, name: str, namespace: str) -> ApiError:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    said = f"namespace {namespace} is being terminated"
    causes = [{"reason": "NamespaceTerminating", "message": said, "field": "metadata.namespace"}]
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message, {**_details(resource, name), "causes": causes})


def denied(resource: ResourceType, obj: Json, code: int, reason: str, message: str) -> ApiError:
    return ApiError(code, reason, message, _details(resource, obj["metadata"]["name"]))


def not_found(resource: ResourceType, name: str) -> ApiError:
    message = f'{resource.qualified} "{name}" not found'
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", message, _details(resource, name))


def no_such_resource() -> ApiError:
    """The group and version are served, but not this kind or subresource."""
    message = "the server could not find the requested resource"
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", message, {})


class NoSuchPathError(ApiError):
    """Said in plain text, as the real server does: nothing is known there that could be missing."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, "NotFound", "404 page not found")


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message, {})


def not_acceptable() -> ApiError:
    message = "406: Not Acceptable\n\nAvailable representations: application/json"
    return ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message, {})


def unsupported_media() -> ApiError:
    return ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def too_large_body(limit: int) -> ApiError:
    message = f"Request entity too large: limit is {limit}"
    return ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message, {})


def already_exists(resource: ResourceType, name: str) -> ApiError:
    message = f'{resource.qualified} "{name}" already exists'
    return ApiError(HTTPStatus.CONFLICT, "AlreadyExists", message, _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: ResourceType, name: str, why: str = MODIFIED) -> ApiError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, _details(resource, name))


def other_uid(resource: ResourceType, obj: Json, asked: str) -> ApiError:
    """A precondition on the uid that doesn't hold. Here the kind is named, not the plural."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
    why = f"the UID in the precondition ({asked}) does not match the UID in record ({uid})"
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}.'
    message += " The object might have been deleted and then recreated"
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, {**_details(resource, name), "kind": resource.kind})


def expired(message: str) -> ApiError:
    return ApiError(HTTPStatus.GONE, "Expired", message)


def too_large_version(asked: int, current: int) -> ApiError:
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    return ApiError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details)


def too_many_requests() -> ApiError:
    message = "the server has received too many requests and has asked us to try again later"
    headers = {"Retry-After": "1"}
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, {"retryAfterSeconds": 1}, headers)


def internal(message: str) -> ApiError:
    details = {"causes": [{"message": message}]}
    return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", f"Internal error occurred: {message}", details)


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong."""

    field: str
    reason: str  # FieldValueRequired, FieldValueInvalid, FieldValueForbidden, ...
    message: str


def required(field: str, why: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value{': ' + why if why else ''}")


def invalid_value(field: str, value: object, why: str) -> Cause:
    shown = "null" if value is None else f'"{value}"' if isinstance(value, str) else f"{value}"
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {why}")


def forbidden_value(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def unsupported_value(field: str, value: object, supported: Sequence[str]) -> Cause:
    names = ", ".join(f'"{item}"' for item in supported)
    return Cause(field, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {names}')


def invalid_options(kind: str, cause: Cause) -> ApiError:
    """Parameters of a request that can't be, which the real server words as an invalid object of theirs."""
    listed = {"reason": cause.reason, "message": cause.message, "field": cause.field}
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [listed]}
    message = f'{kind}.meta.k8s.io "" is invalid: {cause.field}: {cause.message}'
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def invalid(resource: ResourceType, name: str, causes: Sequence[Cause]) -> ApiError:
    words = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    joined = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    group = {"group": resource.group} if resource.group else {}
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    named = {"name": name} if name else {}
    details = {**named, **group, "kind": resource.kind, "causes": listed}
    message = f'{kind} "{name}" is invalid: {joined}'
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)
