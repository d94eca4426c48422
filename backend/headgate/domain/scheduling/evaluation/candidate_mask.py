"""Who of all who hold a place may be made to leave, all asked at once (preemption.md §6.6, 3-4)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest

from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex, mask_of
from headgate.domain.scheduling.placement.host_table import Bools
from headgate.domain.scheduling.preemption.candidates import (
    MAX_LISTED_CANDIDATES,
    CandidateStats,
    PreemptionPolicyName,
    protection_rule,
)
from headgate.domain.scheduling.preemption.request import PreemptionRequest
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.state import Workload


@dataclass(frozen=True, slots=True)
class CandidateMask:
    """A mask over the crowd of those who may be made to leave, and who was looked at."""

    admitted: AdmittedIndex
    evictable: Bools
    stats: CandidateStats

    def names(self) -> list[str]:
        """All who may be made to leave."""
        return self.admitted.names_in(self.evictable)


def mask_candidates(
    admitted: AdmittedIndex,
    workloads: Mapping[str, Workload],
    claim: PreemptionRequest,
    reach: Iterable[tuple[str, PreemptionPolicyName]],
    safe_now: Callable[[str], Iterable[str]],
) -> CandidateMask:
    """Everyone who holds a place through the ClusterQueues in `reach`, but the claimant.

    Says of each what `candidates.allowed` says of one who stands in the way; `safe_now` names, for
    a ClusterQueue, those who are shielded from the claim.
    """
    others = (claim.replaced_slice, *admitted.units_of.get(claim.replaced_slice, ()))
    there = ~mask_of(admitted, (claim.preemptor.key, *others))
    evictable, considered = there & ~there, 0
    singly = admitted.single_pods() if admitted.units_of else evictable
    safe: list[tuple[str, PreemptionPolicyName]] = []
    for node, policy in reach:
        asked = there & admitted.in_cluster_queue(node.removeprefix("clusterqueue/"))
        may = asked & _may_leave(admitted, workloads, claim, policy)
        may &= ~mask_of(admitted, safe_now(node))
        considered += int((asked & ~singly).sum())
        evictable |= may
        safe.extend((name, policy) for name in admitted.names_in(asked & ~may & ~singly))
    listed = [
        (name, protection_rule(claim, policy, workloads[name]))
        for name, policy in nsmallest(MAX_LISTED_CANDIDATES, safe)
    ]
    parts = int((evictable & singly).sum())
    return CandidateMask(
        admitted, evictable, CandidateStats(considered, listed, len(safe) - len(listed), parts)
    )


def _may_leave(
    admitted: AdmittedIndex,
    workloads: Mapping[str, Workload],
    claim: PreemptionRequest,
    policy: PreemptionPolicyName,
) -> Bools:
    """By the same rule as `rule_against`; only those of equal priority are looked at singly."""
    if policy == "Any":
        return admitted.preemptible
    mine = claim.preemptor.spec.priority
    lower: Bools = admitted.preemptible & (admitted.protections < mine)
    if policy == "LowerPriority":
        return lower
    equal = admitted.names_in(admitted.preemptible & (admitted.protections == mine))
    newer = (
        name for name in equal if not protection_rule(claim, policy, workloads[workload_of(name)])
    )
    return lower | mask_of(admitted, newer)
