"""The port for leases of executors: rows beside the log, as each renewal would else be an event.

A lease ends by the database's clock. API processes say every second that they serve, and each lease
is extended by the time in which none did, so that no executor is lost because the API was away.
"""

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
