"""How often a password may be tried: counted per account and per address, in memory, for a bounded number of keys.

A try is counted before the password is looked at and taken back when it was right, so that many at the same moment
can't slip through together. An account that does not exist is counted like one that does.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WINDOW_SECONDS = 15 * 60.0
ACCOUNT_TRIES = 10
ADDRESS_TRIES = 60  # many people may share one, behind a proxy or a gateway
_MOST_KEYS = 20_000

Key = tuple[str, str]


@dataclass
class Throttle:
    """`monotonic` is the clock's. Keys that were not used for longest are forgotten first."""

    monotonic: Callable[[], float]
    limits: dict[str, int] = field(default_factory=lambda: {"account": ACCOUNT_TRIES, "address": ADDRESS_TRIES})
    _tries: OrderedDict[Key, deque[float]] = field(default_factory=OrderedDict)

    def take(self, account: str, address: str) -> float:
        """Count a try. 0 where it may be made, else the seconds until the next one may."""
        now, keys = self.monotonic(), _keys(account, address)
        wait = max(self._wait(key, now) for key in keys)
        if not wait:
            self._count(keys, now)
        return wait

    def give_back(self, account: str, address: str) -> None:
        """The password was right: this try was none, and the account's earlier ones are forgiven."""
        account_key, address_key = _keys(account, address)
        self._tries.pop(account_key, None)
        if tries := self._tries.get(address_key):
            tries.pop()

    def _wait(self, key: Key, now: float) -> float:
        tries = self._tries.get(key)
        if not tries:
            return 0.0
        while tries and tries[0] <= now - WINDOW_SECONDS:
            tries.popleft()
        return tries[0] + WINDOW_SECONDS - now if len(tries) >= self.limits[key[0]] else 0.0

    def _count(self, keys: Sequence[Key], now: float) -> None:
        for key in keys:
            self._tries.setdefault(key, deque()).append(now)
            self._tries.move_to_end(key)
        while len(self._tries) > _MOST_KEYS:
            self._tries.popitem(last=False)


def _keys(account: str, address: str) -> tuple[Key, Key]:
    return ("account", account[:254]), ("address", _network(address))


def _network(address: str) -> str:
    """Whoever has one IPv6 address has 2**64 of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)  # noqa: PLR2004
