"""What each ClusterQueue may still use in each flavor, by Kueue's recursion (queueing.md §2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ResourceGroup, ResourceQuota

Free: TypeAlias = dict[tuple[str, str], int]
"""By ClusterQueue and flavor."""


@dataclass(slots=True)
class _Member:
    """A queue or cohort in the tree of one flavor; `owned` and `used` are those of all below."""

    quota: ResourceQuota | None
    above: "_Member | None" = None
    below: list["_Member"] = field(default_factory=list)
    used_itself: int = 0

    def owned(self) -> int:
        own = self.quota.nominal_quota if self.quota else 0
        return own + sum(member.owned() - member.kept() for member in self.below)

    def kept(self) -> int:
        """What it never lends."""
        limit = self.quota.lending_limit if self.quota else None
        return 0 if limit is None else max(0, self.owned() - limit)

    def used(self) -> int:
        return self.used_itself + sum(max(0, m.used() - m.kept()) for m in self.below)

    def free(self) -> int:
        if self.above is None:
            return self.owned() - self.used()
        lent = self.above.free()
        limit = self.quota.borrowing_limit if self.quota else None
        if limit is not None:
            beyond = max(0, self.used() - self.kept())
            lent = min(lent, self.owned() - self.kept() - beyond + limit)
        return max(0, self.kept() - self.used()) + lent


def free_of(cluster_state: ClusterState, usage: Mapping[tuple[str, str], int]) -> Free:
    """What is free of every flavor that a ClusterQueue has quota of."""
    found: Free = {}
    for flavor in sorted(cluster_state.config.resource_flavors):
        for queue, member in _queues(cluster_state, flavor, usage).items():
            if member.quota is not None:
                found[queue, flavor] = member.free()
    return found


def _queues(
    cluster_state: ClusterState, flavor: str, usage: Mapping[tuple[str, str], int]
) -> dict[str, _Member]:
    cohorts: dict[str, _Member] = {}
    queues = {}
    for name, queue in sorted(cluster_state.config.cluster_queues.items()):
        member = _Member(_quota(queue.spec.resource_groups, flavor))
        member.used_itself = usage.get((name, flavor), 0)
        queues[name] = member
        _join(cluster_state, cohorts, member, queue.spec.cohort_name, flavor)
    return queues


def _join(
    cluster_state: ClusterState,
    cohorts: dict[str, _Member],
    member: _Member,
    cohort: str,
    flavor: str,
) -> None:
    """Put a member below its cohort, and that below its own if it is new."""
    if not cohort:
        return
    above = cohorts.get(cohort)
    if above is None:
        given = cluster_state.config.cohorts.get(cohort)
        groups = given.spec.resource_groups if given else ()
        above = cohorts[cohort] = _Member(_quota(groups, flavor))
        _join(cluster_state, cohorts, above, given.spec.parent_name if given else "", flavor)
    member.above = above
    above.below.append(member)


def _quota(groups: tuple[ResourceGroup, ...], flavor: str) -> ResourceQuota | None:
    for group in groups:
        for quotas in group.flavors:
            if quotas.name == flavor:
                return quotas.resources[0]
    return None
