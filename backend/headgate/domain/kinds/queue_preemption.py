"""Preemption policies of ClusterQueues and Cohorts (preemption.md §6.2, trap P18)."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import range_violations
from headgate.domain.rejection import Violation, violation

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
