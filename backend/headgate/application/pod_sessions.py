"""The port for sessions into pods: frames between a user's connection and an executor's.

Rows beside the log, as the content of sessions is never recorded. Either side may be connected to
any API process.
"""

from typing import Protocol

import msgspec

from headgate.domain.values.instants import Instant

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

    def take(self, executor: str) -> list[PodSession]:
        """The sessions that the executor has not begun yet, each once."""

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
