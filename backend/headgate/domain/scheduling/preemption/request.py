"""What one preemption is about: who claims room, who could give it, and by which right."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import msgspec

from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.rounds.events import PreemptionReason
from headgate.domain.scheduling.preemption.disruption_budgets import placed_pods
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.pods.eviction_units import EvictionUnit
from headgate.domain.workloads.state import Workload

Amounts: TypeAlias = dict[FlavorResource, int]
"""Amounts by flavor and resource."""

ShareOrder: TypeAlias = tuple[bool, Fraction]
"""Sorts the smaller share first, and those of nodes of weight 0 last."""

PreemptionScope: TypeAlias = Literal["Own", "Guarantee", "NoBorrow", "WhileBorrowing", "FairShare"]
"""By which right someone is made to leave (preemption.md §1.3, §6.6).

Own: the same ClusterQueue. Guarantee: it stands on what the preemptor's subtree owns. NoBorrow:
only if the preemptor does not borrow afterwards. WhileBorrowing: even if it does. FairShare: its
side has the larger share.
"""

PREEMPTION_REASONS: dict[PreemptionScope, PreemptionReason] = {
    "Own": "InClusterQueue",
    "Guarantee": "InCohortReclamation",
    "NoBorrow": "InCohortReclamation",
    "WhileBorrowing": "InCohortReclaimWhileBorrowing",
    "FairShare": "InCohortFairSharing",
}
RECLAIM_SCOPES: tuple[PreemptionScope, ...] = ("Guarantee", "NoBorrow")
"""Rights that give a ClusterQueue back what it owns, whatever the victim's priority (§6.8)."""


def no_minimum_runtime(workload: Workload) -> str:
    """Nobody is safe for having run only a short time."""
    del workload
    return ""


class PreemptionRequest(msgspec.Struct, frozen=True, gc=False):
    """Who wants room, how much of it, and the policies of its ClusterQueue.

    `node` is the ClusterQueue in the quota tree. `contested` are the flavors' resources in which
    others stand in the way; a part of `amounts`, and `short` are those that quota is short of.
    `occupies` tells who stands on hosts that are wanted, where only those hosts will do; such a
    one is in the way whatever resources it uses (trap T9), and nobody on other hosts is.
    `shield` tells the rule by which someone is safe who has not run for long.
    `replaced_slice` is the slice whose place it takes over anyway.
    `local_queue_usage` tells how much the LocalQueue of someone has used of late,
    where that counts; the larger has used more.
    """

    preemptor: Workload
    node: str
    policies: ClusterQueuePreemption
    queued_at: Callable[[Workload], Instant]
    amounts: Amounts
    contested: tuple[FlavorResource, ...]
    short: tuple[FlavorResource, ...] = ()
    occupies: Callable[[Workload], bool] | None = None
    shield: Callable[[Workload], str] = no_minimum_runtime
    replaced_slice: str = ""
    local_queue_usage: "Callable[[Candidate], tuple[bool, Fraction]] | None" = None

    def is_blocked_by(self, candidate: "Candidate") -> bool:
        """Whether someone stands in the way."""
        if self.occupies is None:
            return not candidate.amounts.keys().isdisjoint(self.contested)
        if self.occupies(candidate.workload):
            return True
        return not candidate.amounts.keys().isdisjoint(self.short)


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A workload that might have to leave, and what it holds of the ClusterQueue `node`.

    With a `part` only these pods of it leave, or as its last part what is left of it.
    """

    workload: Workload
    node: str
    amounts: Amounts
    part: EvictionUnit | None = None

    @property
    def key(self) -> str:
        """The workload's key, or the name of the part."""
        return self.workload.key if self.part is None else self.part.name

    @property
    def pods(self) -> int:
        """How many pods leave."""
        return placed_pods(self.workload) if self.part is None else sum(self.part.pods.values())


class Victim(msgspec.Struct, frozen=True, gc=False):
    """A candidate with the right by which it must leave; `shared_ancestor` has both under it."""

    candidate: Candidate
    scope: PreemptionScope
    shared_ancestor: str = ""

    @property
    def workload(self) -> Workload:
        """Who must leave."""
        return self.candidate.workload

    @property
    def reason(self) -> PreemptionReason:
        """Kueue's word for the right."""
        return PREEMPTION_REASONS[self.scope]


class Field(Protocol):
    """The projected state that a search tries things on; what is removed is restored at its end.

    Nodes are ClusterQueues and cohorts. Usage is as it is after the removals so far, and without
    the preemptor.
    """

    @property
    def path(self) -> Mapping[str, tuple[str, ...]]:
        """Each node with its ancestors up to the root."""
        ...

    @property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """What stands right below each node; nothing below a ClusterQueue."""
        ...

    def used(self, node: str, key: FlavorResource, /) -> int:
        """What a node uses."""
        ...

    def nominal(self, node: str, key: FlavorResource, /) -> int:
        """A node's own quota."""
        ...

    def available(self, node: str, key: FlavorResource, /) -> int:
        """How much more a ClusterQueue may use."""
        ...

    def is_within(self, node: str, keys: Iterable[FlavorResource], /) -> bool:
        """Whether a node uses no more than its subtree owns, in all of these."""
        ...

    def serve(self, node: str, asked: Amounts, /) -> tuple[bool, Amounts]:
        """Whether a node can hold what is asked within its quota, and what is left to ask above."""
        ...

    def share(self, node: str, /) -> ShareOrder:
        """The fair share of a node, comparable with any other."""
        ...

    def level(self, node: str, amounts: Amounts, /) -> int:
        """From how far a ClusterQueue would borrow for this."""
        ...

    def charge(self, node: str, amounts: Amounts, /) -> None:
        """Count so much more as used by a ClusterQueue."""
        ...

    def uncharge(self, node: str, amounts: Amounts, /) -> None:
        """The exact opposite of `charge`."""
        ...

    def holders(self, node: str, /) -> Iterable[Candidate]:
        """Everyone who holds a place through a ClusterQueue."""
        ...

    def remove(self, candidate: Candidate, /) -> None:
        """Count a candidate's quota and hosts as free."""
        ...

    def restore(self, candidate: Candidate, /) -> None:
        """Count them as taken again."""
        ...
