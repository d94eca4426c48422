"""What the followed read models answer, and what they are asked."""

import msgspec

from headgate.domain.values.instants import Instant


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One victim of one preemption round (product.md §2 no. 6).

    `freed` are amounts by `flavor/resource`; `lost` are those amounts times the whole seconds the
    victim had run when the round was committed. `outcome` is how the round ended, "" while open.
    """

    round_id: str
    victim: str
    preemptor: str
    preemptor_priority: int
    preemptor_queue: str
    victim_queue: str
    rule: str
    victim_priority: int
    pods: int
    freed: dict[str, int]
    running_seconds: int
    lost: dict[str, int]
    considered: int
    committed_at: Instant
    released_at: Instant | None = None
    released_by: str = ""
    ended_at: Instant | None = None
    outcome: str = ""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Entries as of a position."""

    position: int
    entries: list[LedgerEntry]


class LedgerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Entries that touch a workload (as either side) or a ClusterQueue; empty fields do not filter.

    `after` is (committed_at, round_id, victim) of the last entry of the page before.
    """

    workload: str = ""
    cluster_queue: str = ""
    after: tuple[Instant, str, str] | None = None
    limit: int = 100


class QueueMinute(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in one ClusterQueue in the minute that begins at `minute`.

    `cluster_queue` is "" for workloads whose LocalQueue was not there.
    """

    cluster_queue: str
    minute: Instant
    submitted: int = 0
    admitted: int = 0
    evicted: int = 0
    finished: int = 0


class QueueHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Minutes as of a position; those in which nothing happened are left out."""

    position: int
    minutes: list[QueueMinute]
