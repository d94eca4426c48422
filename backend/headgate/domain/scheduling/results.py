"""What one family of rules tells the cycle, in words that other families understand."""

from dataclasses import dataclass
from enum import IntEnum

import msgspec

UNUSABLE_HOSTS = "not ready or cordoned"
"""Why hosts are left out that may be back any time, among the reasons of `Unplaced.excluded`."""


class Mode(IntEnum):
    """How well a request fits, worst first (queueing.md §3.4).

    NO_CANDIDATES would fit if others left, but nobody may be made to. PREEMPT fits if others are
    made to leave, some of the own ClusterQueue; RECLAIM, if only others' workloads are. DEFERRED
    fits once those already leaving have left.
    """

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    DEFERRED = 4
    FIT = 5


class QuotaResult(msgspec.Struct, frozen=True, gc=False):
    """The mode, the borrowing level, and the numbers behind them; `reason` is Kueue's word.

    `is_non_preemptible` if the numbers are those of non-preemptible workloads, which use nominal
    quota alone; `is_withheld` if free quota is withheld for pending non-preemptible workloads.
    `debt` is by how much usage exceeds the quota already: it must be freed as well.
    """

    mode: Mode
    level: int
    need: int
    have: int
    nominal: int
    most: int
    reason: str = ""
    is_non_preemptible: bool = False
    is_withheld: bool = False
    debt: int = 0


class FlavorAttempt(msgspec.Struct, frozen=True):
    """One flavor looked at for one pod set: why it is out, or how quota answered.

    `remedy` is what would end that refusal, where something would. `group` is the number of the
    resource group it was to serve; -1 for resources that none covers.
    """

    pod_set: str
    flavor: str
    refusal: str = ""
    answers: dict[str, QuotaResult] = {}
    group: int = -1
    remedy: str = ""

    @property
    def mode(self) -> Mode:
        """The worst of its resources."""
        if self.refusal:
            return Mode.NO_FIT
        return min([answer.mode for answer in self.answers.values()], default=Mode.FIT)

    @property
    def level(self) -> int:
        """The farthest that anything would be borrowed from."""
        return max([answer.level for answer in self.answers.values()], default=0)


@dataclass(frozen=True, slots=True)
class SliceLayerShortfall:
    """How many slices of one layer fit in the best domain, and how many are needed."""

    level: str
    fits: int
    needs: int


@dataclass(frozen=True, slots=True)
class PlacementShortfall:
    """Why there is no place: units that fit and are needed, at a level, and hosts left out.

    With several layers of slices `layers` says it for each; `lacks_leader` if the leader of the
    group is what has no room. `is_occupied` if there is a place, and others stand on it. `standing`
    pods of the pod set run already, and the units are what is to be added to them.
    """

    reason: str
    unit: str = "pods"
    fits: int = 0
    needs: int = 0
    level: str = ""
    domain: tuple[str, ...] = ()
    hosts: int = 0
    excluded: tuple[tuple[str, int], ...] = ()
    layers: tuple[SliceLayerShortfall, ...] = ()
    lacks_leader: bool = False
    is_occupied: bool = False
    standing: int = 0


class VictimSearch(msgspec.Struct, frozen=True, gc=False):
    """A search for victims: how many were looked at, and who may not be one.

    `reason` says why it found too few; `refused` pairs a workload with the rule that protects it.
    `kind` is the word for it: nobody may be made to leave, or only in a circle.
    """

    reason: str
    considered: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    kind: str = "PreemptionNoCandidates"
