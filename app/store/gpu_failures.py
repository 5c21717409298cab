"""Events about GPUs that failed under a workload. The node agent and the device plugin may both tell of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from app.domain.events import event_of
from app.domain.wording import gpu_failed
from app.domain.workload import EventType, Workload
from app.store.models import EventRow
from app.store.writes import tell


async def tell_gpu_failures(
    workload: Workload, failed: Mapping[str, str], at: datetime, again_after: timedelta | None = None
) -> bool:
    """Tell the workload of the GPUs, by UUID with why, that its present attempt was not told of yet; whether any was.

    With `again_after` one that was told of longer ago is told again: it was well in between.
    """
    told = EventRow.filter(workload_id=workload.id, type=EventType.GPU_FAILED.value, attempt=workload.attempt)
    told = told.filter(at__gt=at - again_after) if again_after is not None else told
    messages = [str(message) for message in await told.values_list("message", flat=True)]
    events = [
        replace(event_of(workload, EventType.GPU_FAILED, at), message=gpu_failed(uuid, workload.server, why))
        for uuid, why in failed.items()
        if not any(f" {uuid} " in message for message in messages)
    ]
    if events:
        await tell(workload.organization_id, events)
    return bool(events)
