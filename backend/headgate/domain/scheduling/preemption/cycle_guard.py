"""No endless laps: who was made to leave for whom, and what that forbids (preemption.md §6.9).

Reclaiming ignores priority and preempting does not, so a mix of both can go round for ever although
every step is allowed. A circle of evictions is cut at a step that priority alone allows.
"""

from collections.abc import Iterable

from headgate.domain.scheduling.preemption.eviction_graph import Epoch, Precedents, way
from headgate.domain.scheduling.preemption.post_validation import Wrongs
from headgate.domain.scheduling.preemption.request import RECLAIM_SCOPES, Victim

BLOCKED = "PreemptionBlockedByCycleGuard"
"""How a refusal of the guard begins; the path of evictions follows."""


def closes_circle(
    precedents: Precedents, epoch: Epoch, preemptor: str, victims: Iterable[Victim]
) -> Wrongs:
    """Victims whose eviction would close a circle of evictions, with the way round.

    Discretionary victims are protected by any way back to the preemptor. One by right of what is
    owned is protected only if every step of the way was such a one too.
    """
    suspects = [victim for victim in victims if precedents.is_preemptor(victim.workload.key)]
    if not suspects:
        return {}
    edges = precedents.followers(epoch)
    wrongs: Wrongs = {}
    for victim in suspects:
        key = victim.workload.key
        by_right = victim.scope in RECLAIM_SCOPES
        back = way(edges, key, preemptor, bool if by_right else _any)
        if back:
            first, *others = reversed(back)
            wrongs[victim.candidate.key] = (
                f"{BLOCKED}: {first} made way for {', which made way for '.join(others)}"
            )
    return wrongs


def _any(is_guaranteed: bool) -> bool:  # noqa: FBT001 - called for each step of a way
    del is_guaranteed
    return True
