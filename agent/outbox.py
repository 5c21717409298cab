"""What the app does not know yet about one node: what goes into the next report, and what becomes of it. No I/O.

Inventory and holders travel when they changed since the last report that arrived, samples each once; what could not be
delivered waits in a buffer with an end, the oldest samples go first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.look import Look
from agent.report import (
    MOST_DEVICES,
    MOST_HOLDERS,
    OLDEST_SAMPLE_SECONDS,
    Holder,
    Inventory,
    PodSample,
    Receipt,
    Report,
    Sample,
)

SAMPLES_PER_REPORT = 500


@dataclass(frozen=True, slots=True)
class Identity:
    """Who reports: the node, its boot, and this process."""

    node: str
    boot_id: str
    agent_version: str
    agent_id: str
    started_at: datetime


class Outbox:
    """One node's. Its owner sees to it that one thread uses it at a time."""

    def __init__(self, identity: Identity, most_samples: int) -> None:
        self.identity = identity
        self.dropped = 0  # samples that the buffer had no room for, or that grew too old
        self._sequence = 0
        self._inventory: Inventory | None = None
        self._holders: tuple[Holder, ...] | None = None
        self._told_inventory: Inventory | None = None
        self._told_holders: tuple[Holder, ...] | None = None
        self._most_samples = most_samples
        self._samples: deque[Sample | PodSample] = deque()  # in order of time

    @property
    def buffered(self) -> int:
        return len(self._samples)

    @property
    def is_news(self) -> bool:
        """Whether the app has something to learn that should not wait."""
        return self._inventory != self._told_inventory or self._holders != self._told_holders

    def add(self, look: Look) -> None:
        self._inventory = _bounded(look.inventory)
        if look.holders is not None:
            self._holders = look.holders[:MOST_HOLDERS]
        self._samples.extend((*look.samples, *look.pod_samples))
        self._drop(len(self._samples) - self._most_samples)

    def next(self, now: datetime) -> Report:
        """The next report. It has to be followed by `delivered`, `failed` or `refused` before another is made."""
        oldest = now - timedelta(seconds=OLDEST_SAMPLE_SECONDS)
        self._drop(sum(sample.at < oldest for sample in self._samples))
        taken = [self._samples.popleft() for _ in range(min(len(self._samples), SAMPLES_PER_REPORT))]
        self._sequence += 1
        who = self.identity
        return Report(
            node=who.node,
            boot_id=who.boot_id,
            agent_version=who.agent_version,
            agent_id=who.agent_id,
            started_at=who.started_at,
            sequence=self._sequence,
            sent_at=now,
            inventory=None if self._inventory == self._told_inventory else self._inventory,
            holders=None if self._holders == self._told_holders else self._holders,
            samples=tuple(each for each in taken if isinstance(each, Sample)),
            pod_samples=tuple(each for each in taken if isinstance(each, PodSample)),
        )

    def delivered(self, report: Report, receipt: Receipt) -> None:
        """The app keeps a late report's samples, and nothing else of it."""
        if not receipt.is_late:
            self._told_inventory = report.inventory or self._told_inventory
            self._told_holders = self._told_holders if report.holders is None else report.holders
        if receipt.wants_everything:
            self._told_inventory = self._told_holders = None

    def failed(self, report: Report) -> None:
        """It did not arrive, or nobody knows whether it did: its samples wait for the next one."""
        both: list[Sample | PodSample] = [*report.samples, *report.pod_samples]
        self._samples.extendleft(sorted(both, key=lambda sample: sample.at, reverse=True))
        self._drop(len(self._samples) - self._most_samples)

    def refused(self, report: Report) -> None:
        """The app will not have it as it is: sent again, its samples would stand in the way of all others."""
        self.dropped += len(report.samples) + len(report.pod_samples)

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self._samples.popleft()
        self.dropped += max(count, 0)


def _bounded(inventory: Inventory) -> Inventory:
    """Nobody has so many; a report that the app refuses whole would say less."""
    if len(inventory.devices) <= MOST_DEVICES:
        return inventory
    return Inventory(
        inventory.state,
        f"{inventory.message}; {len(inventory.devices)} GPUs were found, {MOST_DEVICES} are told".strip("; "),
        inventory.driver_version,
        inventory.cuda_version,
        inventory.devices[:MOST_DEVICES],
    )
