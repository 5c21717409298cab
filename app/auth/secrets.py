"""Making and checking secrets. Passwords are hashed with argon2id; API tokens are long and random, so SHA-256 does."""

from __future__ import annotations

import asyncio
import hashlib
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

TOKEN_PREFIX = "gpuyard_"  # noqa: S105 — lets scanners of leaked secrets recognise one
_hasher = PasswordHasher()


def new_token() -> str:
    """A fresh API token, shown once."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored of a token: 64 hexadecimal digits."""
    return hashlib.sha256(token.encode()).hexdigest()


async def hash_password(password: str) -> str:
    """Takes tens of milliseconds and megabytes on purpose, so it runs off the event loop."""
    return await asyncio.to_thread(_hasher.hash, password)


async def verify_password(password_hash: str, password: str) -> bool:
    return await asyncio.to_thread(_verify, password_hash, password)


def _verify(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False
