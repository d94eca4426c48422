"""What searches for victims in vain tell: who may not be made to leave, and by which rule.

One look searches flavor by flavor, and who it is for is told of all of them (preemption.md §6.9).
"""

from collections.abc import Iterable
from typing import Any

from headgate.domain.scheduling.preemption.candidates import MAX_LISTED_CANDIDATES
from headgate.domain.scheduling.preemption.cycle_guard import BLOCKED_BY_CYCLE_GUARD
from headgate.domain.scheduling.preemption.oracle import SimulatedPreemption
from headgate.domain.scheduling.preemption.victim_plan import VictimPlan
from headgate.domain.scheduling.results import VictimSearch

NO_LOWER_PRIORITY = "no workload of lower priority may be preempted"
TOO_FEW_VICTIMS = "too few workloads may be preempted"


def failed_search(
    plan: VictimPlan[Any], simulations: Iterable[SimulatedPreemption]
) -> VictimSearch:
    """Why the search for the whole workload brought nothing, and those for one flavor before it."""
    others = (one.plan for one in simulations if not one.plan.victims)
    return merge_searches(
        [_told(plan), *(_told(one) for one in others if one.stats is not plan.stats)]
    )


def merge_searches(searches: Iterable[VictimSearch]) -> VictimSearch:
    """One report of several searches, with the reason that tells most.

    A circle of evictions tells more than too few, and that more than nobody of lower priority.
    """
    known = list(searches)
    refused: dict[str, str] = {}
    for one in known:
        for name, rule in one.refused:
            refused.setdefault(name, rule)
    told = min(known, key=_says_little)
    listed = sorted(
        refused.items(), key=lambda named: not named[1].startswith(BLOCKED_BY_CYCLE_GUARD)
    )
    considered = max(one.considered for one in known)
    return VictimSearch(told.reason, considered, tuple(listed[:MAX_LISTED_CANDIDATES]), told.kind)


def _told(plan: VictimPlan[Any]) -> VictimSearch:
    stats = plan.stats
    refused = tuple(sorted(plan.protected.items())) + stats.report()
    circles = [rule for rule in plan.protected.values() if rule.startswith(BLOCKED_BY_CYCLE_GUARD)]
    if circles:
        chain = circles[0].removeprefix(f"{BLOCKED_BY_CYCLE_GUARD}: ")
        text = f"it would go round in a circle ({chain})"
        return VictimSearch(text, stats.considered, refused, BLOCKED_BY_CYCLE_GUARD)
    text = NO_LOWER_PRIORITY if stats.is_hopeless else TOO_FEW_VICTIMS
    return VictimSearch(text, stats.considered, refused)


def _says_little(search: VictimSearch) -> tuple[bool, bool]:
    return search.kind != BLOCKED_BY_CYCLE_GUARD, search.reason == NO_LOWER_PRIORITY
