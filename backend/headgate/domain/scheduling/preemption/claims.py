"""What one preemption is about: who claims room, who could give it, and by which right."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from headgate.domain.queues.specs import ClusterQueuePreemption
from headgate.domain.rounds.events import PreemptionReason
from headgate.domain.scheduling.partition import Charge
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import Usage
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.state import Workload

Scope: TypeAlias = Literal["Own", "Guarantee", "NoBorrow", "WhileBorrowing", "FairShare"]
"""By which right someone is made to leave (preemption.md §1.3, §6.6).

Own: the same ClusterQueue. Guarantee: it stands on what the preemptor's subtree owns. NoBorrow:
only if the preemptor does not borrow afterwards. WhileBorrowing: even if it does. FairShare: its
side has the larger share.
"""

REASONS: dict[Scope, PreemptionReason] = {
    "Own": "InClusterQueue",
    "Guarantee": "InCohortReclamation",
    "NoBorrow": "InCohortReclamation",
    "WhileBorrowing": "InCohortReclaimWhileBorrowing",
    "FairShare": "InCohortFairSharing",
}
GUARANTEEING: tuple[Scope, ...] = ("Guarantee", "NoBorrow")
"""Rights that give a ClusterQueue back what it owns, whatever the victim's priority (§6.8)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants room, how much of it, and the policies of its ClusterQueue.

    `node` is the ClusterQueue in the quota tree. `contested` are the flavors' resources in which
    others stand in the way; a part of `amounts`, and `short` are those that quota is short of.
    `occupies` tells who stands on hosts that are wanted, where only those hosts will do; such a
    one is in the way whatever resources it uses (trap T9), and nobody on other hosts is.
    """

    preemptor: Workload
    node: str
    policies: ClusterQueuePreemption
    queued_at: Callable[[Workload], Instant]
    amounts: dict[FlavorResource, int]
    contested: tuple[FlavorResource, ...]
    short: tuple[FlavorResource, ...] = ()
    occupies: Callable[[Charge], bool] | None = None

    def concerns(self, charge: Charge) -> bool:
        """Whether someone who holds this stands in the way."""
        if self.occupies is None:
            return any(key in charge.amounts for key in self.contested)
        return any(key in charge.amounts for key in self.short) or self.occupies(charge)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload that might have to leave, and what it holds of the ClusterQueue `node`."""

    workload: Workload
    node: str
    charge: Charge


@dataclass(frozen=True, slots=True)
class Victim:
    """A candidate with the right by which it must leave; `meets_at` is the cohort both are in."""

    candidate: Candidate
    scope: Scope
    meets_at: str = ""

    @property
    def workload(self) -> Workload:
        """Who must leave."""
        return self.candidate.workload

    @property
    def reason(self) -> PreemptionReason:
        """Kueue's word for the right."""
        return REASONS[self.scope]


class Field(Protocol):
    """The projected state that a search tries things on; what is removed is restored at its end."""

    @property
    def tree(self) -> QuotaTree:
        """The cohorts and ClusterQueues."""
        ...

    @property
    def usage(self) -> Usage:
        """What they use, as it is after the removals so far and without the preemptor."""
        ...

    def holders(self, node: str, /) -> Iterable[Candidate]:
        """Everyone who holds a place through a ClusterQueue."""
        ...

    def remove(self, candidate: Candidate, /) -> None:
        """Count a candidate's place as free."""
        ...

    def restore(self, candidate: Candidate, /) -> None:
        """Count it as taken again."""
        ...
