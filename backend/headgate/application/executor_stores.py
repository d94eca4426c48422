"""What stands beside the log for executors: leases, rendezvous ports, and sessions into pods.

Each renewal, reservation and frame would else be an event. A rendezvous port is reserved for each
running attempt, at the executor that runs its rank 0.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from headgate.domain.values.instants import Instant


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The time within which the process with this epoch must be heard of."""

    executor: str
    epoch: int
    renewed_at: Instant
    expires_at: Instant
    running_pods: int = 0
    has_ended: bool = False


class ExecutorLeases(Protocol):
    """The lease of each executor that was ever claimed. Blocking; safe to use from threads."""

    def grant(self, executor: str, epoch: int, lease_seconds: int) -> Lease:
        """Begin the lease of a new process; one of a newer epoch stays and is returned."""

    def renew(
        self, executor: str, epoch: int, *, lease_seconds: int, running_pods: int
    ) -> Lease | None:
        """Extend the lease from now on; None where the row is of another epoch or missing."""

    def find(self, executor: str) -> Lease | None:
        """The lease of an executor, if it was ever claimed."""

    def serve(self, *, max_gap_seconds: int) -> list[Lease]:
        """Say that the API serves; all leases, by executor.

        Where that was last said more than `max_gap_seconds` ago, every lease that had not ended
        then is extended by that time first.
        """


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

    def is_exhausted(self, wanted: WantedPort) -> bool:
        """Whether the attempt has no port and none of its range is free."""

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

    async def is_awaited(self, wanted: WantedPort) -> bool:
        """Whether an attempt has no port because all of its range are in use."""
        if wanted.key in self._known:
            return False
        return await asyncio.to_thread(self._store.is_exhausted, wanted)

    async def _sweep(self, running: Collection[AttemptKey]) -> None:
        self._sweep_at = time.monotonic() + SECONDS_BETWEEN_SWEEPS
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        await asyncio.to_thread(self._store.release_others, running)


MAX_UNREAD_BYTES = 1_048_576
"""Frames that one side has not read; more of them are refused until it has."""
MAX_SILENT_SECONDS = 15
"""A side without a connection for longer is gone."""
MAX_UNTAKEN_SECONDS = 30
"""An executor that has not begun a session by then is not there."""
MAX_IDLE_SECONDS = 14_400
"""Without input for longer a session ends, as with a Kubernetes' exec."""
MAX_SESSIONS = 64
"""Sessions of one executor at a time."""


class PodSession(msgspec.Struct, frozen=True, kw_only=True):
    """A command beside the processes of a pod, and the terminal of the user who asked for it."""

    id: str
    executor: str
    user: str
    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int
    command: tuple[str, ...]
    has_terminal: bool
    columns: int = 80
    rows: int = 24
    terminal: str = "xterm"


class SessionStanding(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a session goes on, and how long the other side has been silent.

    `silent_seconds` is None where the other side was never there.
    """

    is_open: bool
    silent_seconds: float | None
    idle_seconds: float
    age_seconds: float


class PodSessions(Protocol):
    """Sessions and their frames. Blocking; safe to use from threads and processes."""

    def open(self, session: PodSession, *, now: Instant) -> bool:
        """Begin a session; False where its executor has as many as it may have."""

    def take(self, executor: str, epoch: int) -> list[PodSession]:
        """The sessions that the executor has not begun yet, each once.

        None for an epoch that is not the lease's: the lease cannot change until they are taken.
        """

    def find(self, session_id: str) -> PodSession | None:
        """A session that has not been removed."""

    def send(self, session_id: str, *, to_executor: bool, number: int, content: bytes) -> bool:
        """Add a frame, once for each number; False while too many bytes are unread."""

    def receive(self, session_id: str, *, by_executor: bool) -> list[bytes]:
        """The frames for one side that it has not received, in order."""

    def touch(self, session_id: str, *, by_executor: bool) -> SessionStanding | None:
        """Note that one side is there; None for a session that was removed."""

    def end(self, session_id: str) -> None:
        """Say that one side has ended; frames under way are still received."""

    def sweep(self) -> None:
        """Remove sessions that ended, or that both sides have left, some minutes ago."""
