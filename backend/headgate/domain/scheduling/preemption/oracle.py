"""What preemption could do for one flavor's resource alone, asked while flavors are chosen (§1.2).

It looks at quota only, so it is an optimist: the search for the whole workload may still find
nobody (trap T10).
"""

from headgate.domain.scheduling.answers import Mode
from headgate.domain.scheduling.preemption.claims import Claim
from headgate.domain.scheduling.preemption.plan import SearchRules, plan_victims
from headgate.domain.scheduling.preemption.removal import Room


def foresee(room: Room[bool], claim: Claim, rules: SearchRules) -> tuple[Mode, int]:
    """How room could be made for a claim of one flavor's resource, and how far it would borrow.

    PREEMPT if someone of its own ClusterQueue would have to leave, RECLAIM if only others.
    """
    found = plan_victims(room, claim, rules)
    for victim in found.victims:
        room.remove(victim.candidate)
    level = room.level(claim.node, claim.amounts)
    for victim in found.victims:
        room.restore(victim.candidate)
    if not found.victims:
        return Mode.NO_CANDIDATES, level
    return (Mode.PREEMPT if any(v.scope == "Own" for v in found.victims) else Mode.RECLAIM), level
