"""How far the cluster's clock is ahead of ours, measured by the Date of its answers.

Written by `transport` with every answer, read by who compares the cluster's stamps with our own now. The Date is the
API server's; the stamps of a container's start and end are its server's, whose clock can't be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

_NOISE = timedelta(seconds=2)  # a Date has whole seconds, and the answer has been under way for a while
_LONGEST_EXCHANGE = timedelta(seconds=2)


@dataclass
class ClusterClock:
    """`ahead` is negative where the cluster is behind, zero below what can be told, and before the first answer."""

    ahead: timedelta = timedelta(0)

    def heard(self, date: str, asked: datetime, answered: datetime) -> None:
        """Take in an answer's Date, and when by our clock the request went out and the answer came."""
        if not timedelta(0) <= answered - asked <= _LONGEST_EXCHANGE:
            return  # slow, or our clock was set meanwhile
        try:
            there = parsedate_to_datetime(date) + timedelta(seconds=0.5)
            ahead = there - (asked + (answered - asked) / 2)
        except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
            return
        self.ahead = ahead if abs(ahead) > _NOISE else timedelta(0)
