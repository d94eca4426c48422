"""No endless laps: who was made to leave for whom, and what that forbids (preemption.md §6.9).

Reclaiming ignores priority and preempting does not, so a mix of both can go round for ever although
every step is allowed. A circle of evictions is cut at a step that priority alone allows.
"""

from collections.abc import Iterable

from headgate.domain.scheduling.preemption.eviction_graph import Epoch, EvictionGraph, shortest_path
from headgate.domain.scheduling.preemption.post_validation import ExcludedVictims
from headgate.domain.scheduling.preemption.request import RECLAIM_SCOPES, Victim

BLOCKED_BY_CYCLE_GUARD = "PreemptionBlockedByCycleGuard"
"""How a refusal of the guard begins; the path of evictions follows."""


def victims_closing_cycle(
    eviction_graph: EvictionGraph, epoch: Epoch, preemptor: str, victims: Iterable[Victim]
) -> ExcludedVictims:
    """Victims whose eviction would close a circle of evictions, with the way round.

    Discretionary victims are protected by any way back to the preemptor. One by right of what is
    owned is protected only if every step of the way was such a one too.
    """
    suspects = [victim for victim in victims if eviction_graph.is_preemptor(victim.workload.key)]
    if not suspects:
        return {}
    edges = eviction_graph.followers(epoch)
    wrongs: ExcludedVictims = {}
    for victim in suspects:
        key = victim.workload.key
        by_right = victim.scope in RECLAIM_SCOPES
        back = shortest_path(edges, key, preemptor, bool if by_right else _any)
        if back:
            first, *others = reversed(back)
            wrongs[victim.candidate.key] = (
                f"{BLOCKED_BY_CYCLE_GUARD}: {first} "
                f"made way for {', which made way for '.join(others)}"
            )
    return wrongs


def _any(is_guaranteed: bool) -> bool:  # noqa: FBT001 - called for each step of a way
    del is_guaranteed
    return True
