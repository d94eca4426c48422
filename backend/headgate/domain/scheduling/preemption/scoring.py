"""Which of several complete plans costs least (preemption.md §6.6, traps T11 and T14)."""

from collections.abc import Sequence
from typing import TypeAlias

from headgate.domain.kinds.workload_priority_class import FIRST_PRIORITY
from headgate.domain.scheduling.preemption.candidates import quota_reserved_at
from headgate.domain.scheduling.preemption.request import Victim
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.protection import protection_of

Score: TypeAlias = tuple[int, int, int, int, int, Instant, str]


def plan_score(victims: Sequence[Victim], violations: int, domain: str) -> Score:
    """What a plan costs; the smaller the better.

    In this order: budgets broken, the most important victim, pods by priority, workloads, pods,
    how early the most important started (the later the better), and the name of the domain.
    """
    protections = [protection_of(victim.workload.spec) for victim in victims]
    pods = [victim.candidate.pods for victim in victims]
    highest = max(protections, default=0)
    weighed = sum(
        (priority + FIRST_PRIORITY) * count
        for priority, count in zip(protections, pods, strict=True)
    )
    started = [
        quota_reserved_at(victim.workload)
        for victim, priority in zip(victims, protections, strict=True)
        if priority == highest
    ]
    earliest = min(started, default=0)
    return violations, highest, weighed, len(victims), sum(pods), -earliest, domain
