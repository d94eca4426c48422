"""Rendezvous ports: one for each running attempt, reserved at the executor that runs its rank 0.

Reservations are rows beside the log, as leases are: any API process answers with the same port, and
no two running attempts of one executor share one.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

SECONDS_BETWEEN_SWEEPS = 60.0
MAX_KNOWN = 50_000

AttemptKey = tuple[str, int]
"""The uid of a workload, and the number of its attempt."""


class WantedPort(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt, the executor of its rank 0 and its range; `preferred` is tried first."""

    executor: str
    uid: str
    attempt: int
    preferred: int
    first: int
    last: int

    @property
    def key(self) -> tuple[str, str, int]:
        """The executor and the attempt."""
        return self.executor, self.uid, self.attempt


class PortReservations(Protocol):
    """Reserved ports. Blocking; safe to use from threads and processes."""

    def reserve(self, wanted: Sequence[WantedPort]) -> dict[tuple[str, str, int], int]:
        """The port of each attempt, reserved now or before; none where the range is exhausted."""

    def release_others(self, running: Collection[AttemptKey]) -> None:
        """Release the ports of attempts that do not run and were not reserved just now."""


class RendezvousPorts:
    """The ports as one process knows them; a port never changes while its attempt runs."""

    def __init__(self, store: PortReservations) -> None:
        self._store = store
        self._known: dict[tuple[str, str, int], int] = {}
        self._sweep_at = 0.0

    async def reserve(
        self, wanted: Sequence[WantedPort], running: Callable[[], Collection[AttemptKey]]
    ) -> dict[tuple[str, str, int], int]:
        """The ports of attempts; attempts that ended give theirs back every minute, or at need."""
        missing = [each for each in wanted if each.key not in self._known]
        if missing:
            if time.monotonic() >= self._sweep_at:
                await self._sweep(running())
            found = await asyncio.to_thread(self._store.reserve, missing)
            left = [each for each in missing if each.key not in found]
            if left:
                await self._sweep(running())
                found |= await asyncio.to_thread(self._store.reserve, left)
            self._known |= found
        return {each.key: self._known[each.key] for each in wanted if each.key in self._known}

    async def _sweep(self, running: Collection[AttemptKey]) -> None:
        self._sweep_at = time.monotonic() + SECONDS_BETWEEN_SWEEPS
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        await asyncio.to_thread(self._store.release_others, running)
