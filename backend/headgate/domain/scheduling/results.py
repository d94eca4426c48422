"""What one family of rules returns to the cycle, in terms that all families share."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import msgspec

from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import HostExclusion


class Mode(IntEnum):
    """How well a request fits, worst first (queueing.md §3.4; Kueue: `flavorAssignmentMode`).

    NO_CANDIDATES would fit if workloads left, but none may be preempted. PREEMPT fits once victims
    have gone, some of them of the own ClusterQueue; RECLAIM, if all are of other ClusterQueues.
    DEFERRED fits once running evictions have finished.
    """

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    DEFERRED = 4
    FIT = 5


class QuotaResult(msgspec.Struct, frozen=True, gc=False):
    """The mode and borrowing level of a request for quota; `reason` is Kueue's word.

    `is_non_preemptible` if the numbers are those of non-preemptible workloads, which use nominal
    quota alone; `is_withheld` if free quota is withheld for pending non-preemptible workloads,
    which a higher borrowing limit ends only where there is one (`has_borrowing_limit`).
    `debt` is by how much usage exceeds the quota already: it must be freed as well.
    """

    mode: Mode
    borrowing_level: int
    need: int
    have: int
    nominal: int
    maximum: int
    reason: str = ""
    is_non_preemptible: bool = False
    is_withheld: bool = False
    has_borrowing_limit: bool = True
    debt: int = 0


class FlavorAttempt(msgspec.Struct, frozen=True):
    """One flavor tried for one pod set: why it is refused, or the quota results by resource.

    `group` is the number of the resource group; -1 for resources that no group covers.
    """

    pod_set: str
    flavor: str
    refusal: Message | None = None
    answers: dict[str, QuotaResult] = {}
    group: int = -1

    @property
    def mode(self) -> Mode:
        """The worst mode of its resources."""
        if self.refusal is not None:
            return Mode.NO_FIT
        return min([answer.mode for answer in self.answers.values()], default=Mode.FIT)

    @property
    def borrowing_level(self) -> int:
        """The highest borrowing level of its resources."""
        return max([answer.borrowing_level for answer in self.answers.values()], default=0)


@dataclass(frozen=True, slots=True)
class SliceLayerShortfall:
    """How many topology slices of one layer fit in the best domain, and how many are needed."""

    level: str
    fits: int
    needs: int


@dataclass(frozen=True, slots=True)
class PlacementShortfall:
    """Why pods have no placement: units that fit and are needed at a level, and excluded hosts.

    With several layers of topology slices `layers` tells it for each; `lacks_leader` if the leader
    of the group has no host. `is_occupied` if a placement exists and other pods occupy it.
    `running_pods` pods of the pod set run already, and the units are to be added to them. `reason`
    says it where no numbers do.
    """

    reason: Message | None = None
    unit: Literal["pods", "slices"] = "pods"
    fits: int = 0
    needs: int = 0
    level: str = ""
    domain: tuple[str, ...] = ()
    hosts: int = 0
    excluded: tuple[HostExclusion, ...] = ()
    layers: tuple[SliceLayerShortfall, ...] = ()
    lacks_leader: bool = False
    is_occupied: bool = False
    running_pods: int = 0


class VictimSearch(msgspec.Struct, frozen=True, gc=False):
    """A search for victims: how many candidates it considered, and which it refused.

    `reason` tells why it found too few, if it did; `refused` pairs a workload with the rule that
    protects it. `kind` is the reason code: no candidates, or only by a cycle of preemptions.
    """

    reason: Message | None
    considered: int = 0
    refused: tuple[tuple[str, Message], ...] = ()
    kind: str = "PreemptionNoCandidates"


BLOCKED_BY_CYCLE_GUARD = "PreemptionBlockedByCycleGuard"
"""The code of the rule that protects candidates from evictions that would close a cycle."""
