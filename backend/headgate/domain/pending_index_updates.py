"""Changes of workloads that the partitions have not been told of yet."""

from headgate.domain.scheduling.partition.usage_changes import is_usage_unchanged
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload

MAX_PENDING_INDEX_UPDATES = 1_000
"""So many workloads at most are kept waiting: whoever asks then waits some 50 ms for them."""


class PendingIndexUpdates:
    """What each changed workload was when the partitions last heard of it.

    Most workloads change several times before anybody asks, and only the last state matters then:
    what partitions keep of a workload follows from its state alone. What is remembered of one that
    waits does not, as each change of it is a reason to look again; so its changes are told one by
    one, up to the one that gives it a place, and what then changes nothing of what it takes.
    """

    def __init__(self) -> None:
        self.before: dict[str, Workload | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether the partitions should be told now."""
        return len(self.before) >= MAX_PENDING_INDEX_UPDATES

    def put(self, key: str, before: Workload | None, after: Workload | None) -> Workload | None:
        """Note a change; what the workload was before, if its change to `before` is told first."""
        first = self.before.setdefault(key, before)
        if first is None or first is before or has_quota_reservation(first):
            return None
        if (
            before is not None
            and has_quota_reservation(before)
            and is_usage_unchanged(before, after)
        ):
            return None
        self.before[key] = before
        return first

    def take(self) -> dict[str, Workload | None]:
        """All of them with what they were, to be told now."""
        taken, self.before = self.before, {}
        return taken
