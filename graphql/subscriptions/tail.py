"""Following an organization's events: those behind a number, then the new ones, for as long as the caller may."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from app.auth.trust import Trust
from app.domain.workload import Event
from app.graphql.feeds import BATCH, Feed


async def tail(feed: Feed, sequence: int, trust: Trust[Any]) -> AsyncGenerator[Sequence[Event], None]:
    """Batches in order, also empty ones; ends by the error of a right that is gone."""
    while True:
        await trust.renew()
        news = feed.news
        events = await feed.after(sequence)
        yield events
        sequence = events[-1].sequence if events else sequence
        if len(events) < BATCH:
            await news.wait()
