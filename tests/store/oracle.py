"""What the list of workloads must find, and in which order: apart from the product's own reading of it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from app.domain.filters import Condition, ListField, Operator, Order, Value
from app.domain.workload import Workload


def value_of(field: ListField, workload: Workload, project: str | None) -> Value | None:
    spec = workload.spec
    values: dict[str, Value | None] = {
        "id": workload.id,
        "name": spec.name,
        "status": workload.status.value,
        "phase": workload.phase.value,
        "reason": workload.reason.value,
        "message": workload.message,
        "imageReference": spec.image,
        "gpuCount": spec.resources.gpu_count,
        "cpuMillis": spec.resources.cpu_millis,
        "memoryBytes": spec.resources.memory_bytes,
        "timeoutSeconds": spec.timeout_seconds,
        "startTimeoutSeconds": spec.start_timeout_seconds,
        "queueTimeoutSeconds": spec.queue_timeout_seconds,
        "maxRetries": spec.max_retries,
        "retriesUsed": workload.retries_used,
        "attempt": workload.attempt,
        "exitCode": workload.exit_code,
        "succeeded": workload.succeeded,
        "priority": int(spec.priority),
        "preemptible": spec.preemptible,
        "server": workload.server or None,
        "cluster": workload.cluster or None,
        "projectId": spec.project_id,
        "project": project,
        "submittedBy": workload.submitted_by,
        "createdAt": workload.created_at,
        "startedAt": workload.started_at,
        "completedAt": workload.completed_at,
        "cancelRequestedAt": workload.cancel_requested_at,
        "deletedAt": workload.deleted_at,
        "retryOf": workload.retry_of,
    }
    return values[field.name]


_TEXTUAL = {
    Operator.CONTAINS: lambda found, value: value in found,
    Operator.STARTS: str.startswith,
    Operator.ENDS: str.endswith,
}


def meets(condition: Condition, found: Value | None) -> bool:
    """Written down anew, so that the product's own reading is held against something."""
    operator, value = condition.operator, condition.value
    if operator is Operator.EQUAL:
        return found == value
    if operator is Operator.NOT_EQUAL:
        return found != value
    if operator is Operator.LACKS:
        return found is None or str(value) not in str(found)
    if found is None:
        return False
    if operator in _TEXTUAL:
        return _TEXTUAL[operator](str(found), str(value))
    low, high = (value, found) if operator is Operator.AT_LEAST else (found, value)
    return low <= high  # type: ignore[operator]


def in_order(stored: Sequence[tuple[Workload, str | None]], order: Order) -> list[UUID]:
    """By value, ties by id, both in the direction of the order; without a value last, by id in that direction."""
    keyed = [(value_of(order.field, w, p), w.id) for w, p in stored]
    valued = sorted(((v, i) for v, i in keyed if v is not None), reverse=order.is_descending)
    rest = sorted((i for v, i in keyed if v is None), reverse=order.is_descending)
    return [i for _, i in valued] + rest


def has_word(workload: Workload, project: tuple[str, str] | None, word: str) -> bool:
    """Whether a search finds the word. `project`: slug and name."""
    texts = [workload.spec.name, workload.spec.image, workload.submitted_by, workload.server, *(project or ())]
    return any(contains_in_whatever_case(text, word) for text in texts) or is_id(word, workload.id)


def contains_in_whatever_case(text: str, word: str) -> bool:
    places = range(len(text) - len(word) + 1)
    return any(all(d in (c, c.lower(), c.upper()) for c, d in zip(word, text[i:], strict=False)) for i in places)


def is_id(word: str, workload_id: UUID) -> bool:
    try:
        return UUID(word) == workload_id
    except ValueError:
        return False
