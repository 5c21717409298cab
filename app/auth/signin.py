"""Sign-in with an address and a password.

A refusal tells nothing about the account: an unknown one, one without a password, a disabled one and a wrong password
get the same words after the same work. Only so many passwords are hashed at a time: each takes 64 MiB.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog

from app.auth import sessions
from app.auth.secrets import hash_password, verify_password
from app.auth.throttle import Throttle
from app.clock import Clock
from app.store import audit, people
from app.store.people import User

_log = structlog.get_logger(__name__)

_AT_A_TIME = 2
_LONGEST_PASSWORD = 1024


class SignInError(Exception):
    """The address or the password is wrong, and nobody is told which."""


class TooManyTriesError(SignInError):
    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many tries; wait {seconds:.0f} s")
        self.seconds = seconds


@dataclass
class SignIn:
    clock: Clock
    throttle: Throttle = field(init=False)
    _decoy: str = ""
    _hashing: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(_AT_A_TIME))

    def __post_init__(self) -> None:
        self.throttle = Throttle(self.clock.monotonic)

    async def sign_in(self, email: str, password: str, address: str, present: str = "") -> str:
        """The new session's secret; `present` is the one that the browser has. Raises SignInError."""
        account = email.strip().lower()
        if wait := self.throttle.take(account, address):
            _log.warning("sign-in refused: too many tries", address=address)
            raise TooManyTriesError(wait)
        user = await self._check(account, password)
        if user is None:
            _log.warning("sign-in refused", address=address)
            raise SignInError
        self.throttle.give_back(account, address)
        now = self.clock.now()
        await audit.record(at=now, actor=user.email, action="sign_in", organization="", outcome="done", target=address)
        return await sessions.begin(user.id, now, instead_of=present)

    async def _check(self, account: str, password: str) -> User | None:
        """The user whose password it is. The same work whether or not there is such a user."""
        async with self._hashing:
            decoy = self._decoy = self._decoy or await hash_password("nobody's")
            may_be_one = len(password) <= _LONGEST_PASSWORD
            user = await people.find_user(account) if may_be_one else None
            is_right = await verify_password((user and user.password_hash) or decoy, password[:_LONGEST_PASSWORD])
        usable = user is not None and bool(user.password_hash) and user.disabled_at is None
        return user if is_right and usable and may_be_one else None
