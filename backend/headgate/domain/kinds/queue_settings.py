"""Settings that queues share: quota of resource groups, weights, and preemption policies.

ClusterQueues and Cohorts have both (queueing.md §1.1, §1.3; preemption.md §6.2, trap P18).
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    name_violations,
    range_violations,
    weight_range_violations,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.message import Amount
from headgate.domain.values.quantities import MAX_AMOUNT


class ResourceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one resource in one flavor; a missing limit means no limit."""

    name: str
    nominal_quota: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class FlavorQuotas(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of one flavor, in the order of the group's covered resources."""

    name: str
    resources: tuple[ResourceQuota, ...]


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that are always taken from the same flavor; flavors in order of preference."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


MAX_GROUPS = 16
MAX_IN_GROUP = 64
MAX_IN_ALL_GROUPS = 256
MAX_QUOTAS_IN_GROUP = 512
_GROUPS = "/spec/resourceGroups"


def group_violations(
    groups: tuple[ResourceGroup, ...], *, has_parent: bool, lends_at_most_nominal: bool
) -> Iterator[Violation]:
    """Broken rules of the resource groups of one node of the quota tree.

    Of more entries than there may be only that is told: going through them all has no bound.
    """
    sizes = tuple(_all_size_violations(groups))
    yield from sizes
    if any(size.message.code == "TooMany" for size in sizes):
        return
    yield from _repetitions(groups)
    yield from _impossible_sums(groups)
    for index, group in enumerate(groups):
        yield from _resource_name_violations(child(_GROUPS, index), group)
        for at, flavor in enumerate(group.flavors):
            place = child(_GROUPS, index, "flavors", at)
            yield from _flavor_violations(place, group, flavor)
            for quota_at, quota in enumerate(flavor.resources):
                quota_place = child(place, "resources", quota_at)
                yield from _quota_violations(quota_place, quota, has_parent=has_parent)
                if lends_at_most_nominal:
                    yield from _lending_violations(quota_place, quota)


def _all_size_violations(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    yield from count_violations(_GROUPS, len(groups), MAX_GROUPS)
    for index, group in enumerate(groups[:MAX_GROUPS]):
        yield from _size_violations(child(_GROUPS, index), group)
    yield from _total_violations(groups)


def _size_violations(place: str, group: ResourceGroup) -> Iterator[Violation]:
    resources, flavors = len(group.covered_resources), len(group.flavors)
    yield from count_violations(child(place, "coveredResources"), resources, MAX_IN_GROUP, 1)
    yield from count_violations(child(place, "flavors"), flavors, MAX_IN_GROUP, 1)
    yield from count_violations(place, resources * flavors, MAX_QUOTAS_IN_GROUP, field="resources")


def _total_violations(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    resources = sum(len(group.covered_resources) for group in groups)
    flavors = sum(len(group.flavors) for group in groups)
    yield from count_violations(_GROUPS, resources, MAX_IN_ALL_GROUPS, field="coveredResources")
    yield from count_violations(_GROUPS, flavors, MAX_IN_ALL_GROUPS, field="flavors")


def _repetitions(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    yield from duplicate_violations(
        (child(_GROUPS, index, "coveredResources", at), name)
        for index, group in enumerate(groups)
        for at, name in enumerate(group.covered_resources)
    )
    yield from duplicate_violations(
        (child(_GROUPS, index, "flavors", at, "name"), flavor.name)
        for index, group in enumerate(groups)
        for at, flavor in enumerate(group.flavors)
    )


def _impossible_sums(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    """Resources of which all flavors together have more than can be counted.

    A quota of the most that can be counted stands for one without a limit.
    """
    totals: dict[str, int] = {}
    for index, group in enumerate(groups):
        for flavor in group.flavors:
            for quota in flavor.resources:
                before = totals.get(quota.name, 0)
                totals[quota.name] = before + quota.nominal_quota
                is_countable = max(before, quota.nominal_quota) < MAX_AMOUNT
                if is_countable and totals[quota.name] > MAX_AMOUNT:
                    yield violation(
                        child(_GROUPS, index),
                        "QuotaNotCountable",
                        total=Amount(quota.name, totals[quota.name]),
                        maximum=Amount(quota.name, MAX_AMOUNT),
                        excess=Amount(quota.name, totals[quota.name] - MAX_AMOUNT),
                    )


def _resource_name_violations(place: str, group: ResourceGroup) -> Iterator[Violation]:
    for at, name in enumerate(group.covered_resources):
        yield from name_violations(
            child(place, "coveredResources", at), name, broken_rule_of_label_key
        )


def _flavor_violations(
    place: str, group: ResourceGroup, flavor: FlavorQuotas
) -> Iterator[Violation]:
    yield from name_violations(child(place, "name"), flavor.name)
    if tuple(quota.name for quota in flavor.resources) != group.covered_resources:
        resources = group.covered_resources
        yield violation(child(place, "resources"), "FlavorResourcesDiffer", resources=resources)


def _quota_violations(place: str, quota: ResourceQuota, *, has_parent: bool) -> Iterator[Violation]:
    limits = (
        ("borrowingLimit", quota.borrowing_limit),
        ("lendingLimit", quota.lending_limit),
    )
    for field, amount in (("nominalQuota", quota.nominal_quota), *limits):
        if amount is not None and amount < 0:
            told = Amount(quota.name, amount)
            yield violation(child(place, field), "BelowMinimum", value=told, minimum=0)
    for field, amount in limits:
        if amount is not None and not has_parent:
            yield violation(child(place, field), "LimitWithoutCohort", field=field)


def _lending_violations(place: str, quota: ResourceQuota) -> Iterator[Violation]:
    if quota.lending_limit is not None and quota.lending_limit > quota.nominal_quota >= 0:
        yield violation(
            child(place, "lendingLimit"),
            "LendingLimitAboveQuota",
            limit=Amount(quota.name, quota.lending_limit),
            quota=Amount(quota.name, quota.nominal_quota),
        )


def weight_violations(weight_milli: int) -> Iterator[Violation]:
    """Yields broken rules of the weight for fair sharing, in thousandths."""
    yield from weight_range_violations("/spec/fairSharing/weight", weight_milli)


WithinClusterQueuePolicy = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]


ReclaimPolicy = Literal["Never", "LowerPriority", "Any"]


OrderProfile = Literal["ScopeFirst", "PriorityFirst"]


EvictionMode = Literal["Immediate", "Soft"]
EVICTION_MODES: tuple[EvictionMode, ...] = ("Immediate", "Soft")


class BorrowWithinCohort(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a workload that borrows may preempt in other ClusterQueues, up to which priority."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class MinimumRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """How long a workload runs before it may be a victim (preemption.md §6.6).

    `preempt_seconds` protects it from its own ClusterQueue, `reclaim_seconds` from others. Where a
    ClusterQueue or Cohort has 0, the nearest Cohort above with a longer time counts.
    """

    preempt_seconds: int = 0
    reclaim_seconds: int = 0


class SoftEviction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How workloads without an evictionPolicy are evicted, and the longest grace period.

    A `default` of None is that of the installation.
    """

    default: EvictionMode | None = None
    max_grace_seconds: int = 1800


class PreemptionRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many preemption rounds a ClusterQueue may start in a minute, `burst` of them at once."""

    per_minute: int
    burst: int = 1


class ClusterQueuePreemption(msgspec.Struct, frozen=True, kw_only=True):
    """Which workloads a ClusterQueue's may preempt, in which order, and how victims are evicted.

    `reserve_for_pending_non_preemptible` keeps nominal quota for pending non-preemptible workloads
    (§6.4). `partial_admission` says whether a workload with a minCount preempts for all of its pods
    before it starts with fewer (Kueue), or starts with those that fit (KEP-5710, gang scheduling).
    """

    within_cluster_queue: WithinClusterQueuePolicy = "Never"
    reclaim_within_cohort: ReclaimPolicy = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    order_profile: OrderProfile = "ScopeFirst"
    min_runtime: MinimumRuntime = MinimumRuntime()
    soft_eviction: SoftEviction = SoftEviction()
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRate | None = None
    partial_admission: Literal["AfterPreemption", "BeforePreemption"] = "AfterPreemption"


MAX_GRACE_SECONDS = 86_400
MAX_MINIMUM_RUNTIME_SECONDS = 86_400
"""Longer would make work immune without the nominal quota that immunity costs."""


_PREEMPTION = "/spec/preemption"


def preemption_violations(preemption: ClusterQueuePreemption) -> Iterator[Violation]:
    """Yields broken rules of the policies alone (trap P18)."""
    if preemption.borrow_within_cohort.policy != "Never" and (
        preemption.reclaim_within_cohort == "Never"
    ):
        yield violation(
            f"{_PREEMPTION}/borrowWithinCohort/policy", "BorrowWithoutReclaimWithinCohort"
        )
    grace = preemption.soft_eviction.max_grace_seconds
    yield from runtime_violations(preemption.min_runtime)
    yield from range_violations(
        f"{_PREEMPTION}/softEviction/maxGraceSeconds", grace, 0, MAX_GRACE_SECONDS
    )
    if preemption.rate_limit is not None:
        rate = f"{_PREEMPTION}/rateLimit"
        yield from range_violations(f"{rate}/perMinute", preemption.rate_limit.per_minute, 1)
        yield from range_violations(f"{rate}/burst", preemption.rate_limit.burst, 1)


def runtime_violations(runtime: MinimumRuntime) -> Iterator[Violation]:
    """Yields broken rules of the minimum runtimes of a ClusterQueue or Cohort."""
    lengths = {"preempt": runtime.preempt_seconds, "reclaim": runtime.reclaim_seconds}
    for field, seconds in lengths.items():
        pointer = f"{_PREEMPTION}/minRuntime/{field}"
        yield from range_violations(pointer, seconds, 0, MAX_MINIMUM_RUNTIME_SECONDS)
