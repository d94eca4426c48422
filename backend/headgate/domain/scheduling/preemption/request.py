"""A preemption request, its candidates and victims, and the order inside one workload's units.

Candidate variants are Kueue's (preemption/classical), preemption.md §1.3; units are §6.6.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.rounds.state import PreemptionReason
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message
from headgate.domain.values.quantities import FlavorResource, add_to
from headgate.domain.workloads.pods.eviction_units import (
    EvictionUnit,
    combined_unit,
    placed_pods,
)
from headgate.domain.workloads.state import Workload

Item = TypeVar("Item")

PreemptionScope: TypeAlias = Literal["Own", "Guarantee", "NoBorrow", "WhileBorrowing", "FairShare"]
"""The rule that makes a candidate a victim (preemption.md §1.3, §6.6).

Own: the preemptor's ClusterQueue (Kueue: WithinCQ). Guarantee: the victim uses quota that a subtree
with the preemptor owns (HierarchicalReclaim). NoBorrow: only if the preemptor's ClusterQueue does
not borrow afterwards (ReclaimWithoutBorrowing). WhileBorrowing: even if it borrows. FairShare: the
victim's branch has the larger share.
"""

PREEMPTION_REASONS: dict[PreemptionScope, PreemptionReason] = {
    "Own": "InClusterQueue",
    "Guarantee": "InCohortReclamation",
    "NoBorrow": "InCohortReclamation",
    "WhileBorrowing": "InCohortReclaimWhileBorrowing",
    "FairShare": "InCohortFairSharing",
}
RECLAIM_SCOPES: tuple[PreemptionScope, ...] = ("Guarantee", "NoBorrow")
"""Scopes that return nominal quota to its ClusterQueue, at any victim priority (§6.8)."""


def no_minimum_runtime(workload: Workload) -> Message | None:  # noqa: ARG001 - as the others
    """Protects no workload: every minimum runtime is over."""
    return None


class PreemptionRequest(msgspec.Struct, frozen=True, gc=False):
    """A preemptor, the amounts it needs, and the preemption policies of its ClusterQueue.

    `node` is the ClusterQueue in the quota tree. `contested` are the flavor resources whose users
    are candidates, a part of `amounts`; `short_of_quota` those of them that quota is short of.
    `occupants` are the workloads on the hosts of one topology domain, where only that domain is
    searched: they are candidates whatever they use (trap P9), others only for `short_of_quota`.
    `runtime_protection` returns the rule that protects a workload within its minimum runtime.
    `replaced_slice` is the key of the workload slice that the preemptor replaces.
    `local_queue_usage` returns the recent usage of a candidate's LocalQueue, where admission fair
    sharing is on.
    """

    preemptor: Workload
    node: str
    policies: ClusterQueuePreemption
    queued_at: Callable[[Workload], Instant]
    amounts: FlavorResourceQuantities
    contested: tuple[FlavorResource, ...]
    short_of_quota: tuple[FlavorResource, ...] = ()
    occupants: Mapping[str, bool] | None = None
    runtime_protection: Callable[[Workload], Message | None] = no_minimum_runtime
    replaced_slice: str = ""
    local_queue_usage: "Callable[[Candidate], tuple[bool, Fraction]] | None" = None

    def is_blocked_by(self, candidate: "Candidate") -> bool:
        """Whether the candidate uses a contested flavor resource or a host that is needed."""
        if self.occupants is None:
            return not candidate.amounts.keys().isdisjoint(self.contested)
        if (candidate.workload_key or candidate.workload.key) in self.occupants:
            return True
        return not candidate.amounts.keys().isdisjoint(self.short_of_quota)


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """An admitted workload, or a unit of one, and its usage of the ClusterQueue `node`.

    `eviction_unit` holds some pods, or as the last unit the remainder of the workload.
    `workload_key` is the workload's key where it was at hand; it is asked for often.
    """

    workload: Workload
    node: str
    amounts: FlavorResourceQuantities
    eviction_unit: EvictionUnit | None = None
    workload_key: str = ""

    @property
    def key(self) -> str:
        """The workload's key, or the name of the unit."""
        if self.eviction_unit is not None:
            return self.eviction_unit.name
        return self.workload_key or self.workload.key

    @property
    def pods(self) -> int:
        """The number of pods that an eviction stops."""
        return (
            placed_pods(self.workload)
            if self.eviction_unit is None
            else sum(self.eviction_unit.pods.values())
        )


class Victim(msgspec.Struct, frozen=True, gc=False):
    """A candidate chosen for eviction; `shared_ancestor` is the lowest cohort above both sides."""

    candidate: Candidate
    scope: PreemptionScope
    shared_ancestor: str = ""

    @property
    def workload(self) -> Workload:
        """The workload that is evicted, whole or in part."""
        return self.candidate.workload

    @property
    def reason(self) -> PreemptionReason:
        """The reason of Kueue's condition Preempted."""
        return PREEMPTION_REASONS[self.scope]


def candidate_of(victim: Victim) -> Candidate:
    """Returns the candidate that the victim was chosen from."""
    return victim.candidate


class BlockedChains:
    """Unit chains with an excluded unit: no later unit of such a chain may leave.

    Where no certain hosts are needed, pod sets are evicted pod by pod, so a unit may leave only
    after those before it and may stay only if those after it stay (trap P13). The remainder of a
    workload leaves after all its units.
    """

    def __init__(self) -> None:
        self._chains: dict[str, bool] = {}

    def exclude(self, candidate: Candidate) -> None:
        """Blocks the units after an excluded candidate."""
        if candidate.eviction_unit is not None:
            self._chains[candidate.eviction_unit.chain] = True
            self._chains[candidate.workload.key] = True

    def blocks(self, candidate: Candidate) -> bool:
        """Whether a unit before the candidate is excluded."""
        eviction_unit = candidate.eviction_unit
        return eviction_unit is not None and eviction_unit.chain in self._chains


class RemovedChains:
    """Unit chains with a unit that stays removed: no earlier unit of them may be filled back."""

    def __init__(self) -> None:
        self._chains: dict[str, bool] = {}

    def keep_removed(self, candidate: Candidate) -> None:
        """Records that a candidate stays removed."""
        if candidate.eviction_unit is not None:
            self._chains[candidate.eviction_unit.chain] = True

    def blocks(self, candidate: Candidate) -> bool:
        """Whether a unit after the candidate stays removed."""
        eviction_unit = candidate.eviction_unit
        if eviction_unit is None or not self._chains:
            return False
        return candidate.workload.key in self._chains or eviction_unit.chain in self._chains


def without_excluded(
    items: Iterable[Item], of: Callable[[Item], Candidate], excluded: Mapping[str, Message]
) -> Iterator[Item]:
    """Yields the items in removal order without excluded candidates and the units after them."""
    chains = BlockedChains()
    for item in items:
        candidate = of(item)
        if candidate.key in excluded:
            chains.exclude(candidate)
        elif not chains.blocks(candidate):
            yield item


def in_chain_order(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Returns candidates by importance with the units of one workload in removal order."""
    if all(candidate.eviction_unit is None for candidate in candidates):
        return candidates
    units: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.eviction_unit is not None:
            units.setdefault(candidate.workload.key, []).append(candidate)
    return [
        each if each.eviction_unit is None else units[each.workload.key].pop()
        for each in candidates
    ]


def merge_by_workload(victims: Sequence[Victim]) -> tuple[Victim, ...]:
    """Returns one victim for each workload, in the order of their first units.

    A workload that loses its remainder is evicted whole.
    """
    if all(victim.candidate.eviction_unit is None for victim in victims):
        return tuple(victims)
    groups: dict[str, list[Victim]] = {}
    for victim in victims:
        groups.setdefault(victim.workload.key, []).append(victim)
    return tuple(_merged(group) for group in groups.values())


def _merged(group: list[Victim]) -> Victim:
    first = group[0]
    amounts: FlavorResourceQuantities = {}
    indices: dict[str, tuple[int, ...]] = {}
    is_whole = False
    for victim in group:
        eviction_unit = victim.candidate.eviction_unit
        if eviction_unit is None:
            return victim
        is_whole = is_whole or eviction_unit.is_remainder
        add_to(amounts, victim.candidate.amounts)
        for name, found in eviction_unit.indices.items():
            indices[name] = (*indices.get(name, ()), *found)
    eviction_unit = None if is_whole else combined_unit(first.workload, indices)
    return replace(
        first, candidate=replace(first.candidate, amounts=amounts, eviction_unit=eviction_unit)
    )
