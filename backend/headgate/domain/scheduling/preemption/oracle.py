"""What preemption could do for one flavor's resource alone, asked while flavors are chosen (§1.2).

It looks at quota only, so it is an optimist: the search for the whole workload may still find
nobody (trap T10).
"""

import msgspec

from headgate.domain.scheduling.preemption.minimal_victims import Room
from headgate.domain.scheduling.preemption.request import PreemptionRequest
from headgate.domain.scheduling.preemption.victim_plan import SearchRules, VictimPlan, plan_victims
from headgate.domain.scheduling.results import Mode


class SimulatedPreemption(msgspec.Struct, frozen=True, gc=False):
    """How room could be made for one flavor's resource, how far it would borrow, and the plan.

    PREEMPT if someone of its own ClusterQueue would have to leave, RECLAIM if only others.
    """

    mode: Mode
    level: int
    plan: VictimPlan[bool]


def simulate_preemption(
    room: Room[bool], claim: PreemptionRequest, rules: SearchRules
) -> SimulatedPreemption:
    """What preemption could do for a claim of one flavor's resource."""
    found = plan_victims(room, claim, rules)
    level = _level_without(room, claim, found)
    if not found.victims:
        return SimulatedPreemption(Mode.NO_CANDIDATES, level, found)
    is_own = any(victim.scope == "Own" for victim in found.victims)
    return SimulatedPreemption(Mode.PREEMPT if is_own else Mode.RECLAIM, level, found)


def _level_without(room: Room[bool], claim: PreemptionRequest, found: VictimPlan[bool]) -> int:
    """How far the claim would borrow once the victims have left."""
    for victim in found.victims:
        room.remove(victim.candidate)
    level = room.level(claim.node, claim.amounts)
    for victim in found.victims:
        room.restore(victim.candidate)
    return level
