"""Chance: seeded where a run must be repeatable, unpredictable where a key must be unique."""

import random
import secrets

RandomSource = random.Random
"""A source of numbers that only look random; its seed decides them all."""


def seeded(*parts: str | int) -> RandomSource:
    """A generator that gives the same numbers for the same parts on every machine."""
    return random.Random(":".join(str(part) for part in parts))  # noqa: S311 - a simulation, not a secret


def unique_key() -> str:
    """A unique idempotency key, for requests that may be sent twice."""
    return secrets.token_hex(16)
