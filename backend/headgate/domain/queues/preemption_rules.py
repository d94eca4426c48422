"""Rules for the preemption policies of a ClusterQueue (reference preemption.md §6.2, trap T18)."""

from collections.abc import Iterator

from headgate.domain.queues.specs import ClusterQueuePreemption, MinimumRuntime
from headgate.domain.rejection import Violation

LONGEST_GRACE_SECONDS = 86_400
LONGEST_MINIMUM_SECONDS = 86_400
"""Longer would make work immune without the nominal quota that immunity costs."""

_PREEMPTION = "/spec/preemption"


def preemption_violations(preemption: ClusterQueuePreemption) -> Iterator[Violation]:
    """What is wrong with the policies taken by themselves."""
    if preemption.borrow_within_cohort.policy != "Never" and (
        preemption.reclaim_within_cohort == "Never"
    ):
        yield Violation(
            pointer=f"{_PREEMPTION}/borrowWithinCohort/policy",
            rule="Preempting while borrowing needs reclaimWithinCohort to be other than Never.",
            remedy="Set reclaimWithinCohort to LowerPriority or Any, or this policy to Never.",
        )
    grace = preemption.soft_eviction.max_grace_seconds
    yield from runtime_violations(preemption.min_runtime)
    yield from _length("softEviction/maxGraceSeconds", grace, LONGEST_GRACE_SECONDS)
    yield from _rate_violations(preemption)


def runtime_violations(runtime: MinimumRuntime) -> Iterator[Violation]:
    """What is wrong with the times that a ClusterQueue or Cohort grants."""
    yield from _length("minRuntime/preempt", runtime.preempt_seconds, LONGEST_MINIMUM_SECONDS)
    yield from _length("minRuntime/reclaim", runtime.reclaim_seconds, LONGEST_MINIMUM_SECONDS)


def _length(field: str, seconds: int, most: int) -> Iterator[Violation]:
    if not 0 <= seconds <= most:
        yield Violation(
            pointer=f"{_PREEMPTION}/{field}",
            rule=f"{field.rpartition('/')[2]} lies between 0 and {most} seconds.",
            remedy="Give a length in this range; who must never go is NonPreemptible.",
        )


def _rate_violations(preemption: ClusterQueuePreemption) -> Iterator[Violation]:
    rate = preemption.rate_limit
    if rate is None:
        return
    for field, number in (("perMinute", rate.per_minute), ("burst", rate.burst)):
        if number < 1:
            yield Violation(
                pointer=f"{_PREEMPTION}/rateLimit/{field}",
                rule=f"{field} is at least 1.",
                remedy="Give a positive number, or remove rateLimit for no limit.",
            )
