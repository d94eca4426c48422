"""The recorded reason why a workload is pending, for API, command line and page.

Reasons are codes with typed arguments; `headgate.messages` renders their texts and remedies.
"""

from typing import Literal

import msgspec

from headgate.domain.values.message import (
    Amount,
    Argument,
    Message,
    WorkloadKey,
    workload_references,
)

BlockerType = Literal[
    "Quota",
    "Topology",
    "Preemption",
    "Order",
    "Hold",
    "Backoff",
    "Queue",
    "AdmissionCheck",
    "Round",
]

ExclusionCause = Literal[
    "Affinity",
    "NodeSelector",
    "PodAffinity",
    "PodAntiAffinity",
    "Recorded",
    "Resource",
    "Taint",
    "TopologyDomain",
    "TopologySpread",
    "Unusable",
]
"""Why hosts take none of the pods; `Unusable` ones are not ready or cordoned, and may come back.

`Recorded` is a cause that an earlier version recorded as text.
"""


UNSCHEDULABLE = "Unschedulable"
"""The dominant reason of a workload that could not be admitted on the emptied cluster either."""


class HostExclusion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many hosts one cause excludes.

    `detail` is the resource, the taint as kubectl's, or the topology key of what pods require.
    """

    cause: ExclusionCause
    detail: str = ""
    hosts: int


class ProtectedCandidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A preemption candidate, by its key, and the rule that protects it."""

    workload: WorkloadKey
    rule: Message


class Blocker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that keeps a workload from admission. Pods and slices count one.

    Amounts are in the units of `quantities`; `need`, `have` and `short_by` are set where the
    blocker is about an amount. `reason` is a CamelCase word that several texts share, and `message`
    the text's code with those arguments that no field holds. `held_by` names workloads by key; for
    a hold, its owner. Of an unschedulable workload `have` is what the emptied cluster has, and
    `free` what of it is free now.
    """

    type: BlockerType
    reason: str
    message: Message
    pod_set: str = ""
    flavor: str = ""
    resource: str = ""
    level: str = ""
    domain: str = ""
    need: int | None = None
    have: int | None = None
    short_by: int | None = None
    held_by: tuple[WorkloadKey, ...] = ()
    refused: tuple[ProtectedCandidate, ...] = ()
    excluded_hosts: tuple[HostExclusion, ...] = ()
    free: int | None = None

    @property
    def full_message(self) -> Message:
        """The message with the fields of the blocker that are set among its arguments.

        `borrowable` is by how much the available quota exceeds the nominal one.
        """
        found: dict[str, Argument] = {"pod_set": self.pod_set, "flavor": self.flavor}
        resource = self.resource
        if resource:
            found["resource"] = resource
        if self.level:
            found["level"] = self.level
        if self.domain:
            found["domain"] = self.domain
        if self.need is not None:
            found["need"] = Amount(resource, self.need) if resource else self.need
        if self.have is not None:
            found["have"] = Amount(resource, self.have) if resource else self.have
        if self.short_by is not None:
            found["short_by"] = Amount(resource, self.short_by) if resource else self.short_by
        if self.free is not None:
            found["free"] = Amount(resource, self.free) if resource else self.free
        if self.held_by and self.type != "Hold":
            found["held_by"] = workload_references(self.held_by)
        if self.excluded_hosts:
            found["excluded_hosts"] = tuple(map(exclusion_message, self.excluded_hosts))
        found.update(self.message.arguments)
        nominal = found.get("nominal")
        if self.have is not None and isinstance(nominal, Amount) and self.have > nominal.quantity:
            found["borrowable"] = Amount(resource, self.have - nominal.quantity)
        return Message(self.message.code, found)


EXCLUSION_CODES: dict[ExclusionCause, str] = {
    "Affinity": "HostsExcludedByAffinity",
    "NodeSelector": "HostsExcludedByNodeSelector",
    "PodAffinity": "HostsExcludedByPodAffinity",
    "PodAntiAffinity": "HostsExcludedByPodAntiAffinity",
    "Recorded": "HostsExcludedByRecorded",
    "Resource": "HostsExcludedByResource",
    "Taint": "HostsExcludedByTaint",
    "TopologyDomain": "HostsExcludedByTopologyDomain",
    "TopologySpread": "HostsExcludedByTopologySpread",
    "Unusable": "HostsExcludedByUnusable",
}


def exclusion_message(found: HostExclusion) -> Message:
    """Returns the message of a number of excluded hosts."""
    return Message(EXCLUSION_CODES[found.cause], {"hosts": found.hosts, "detail": found.detail})


KUEUE_REASONS = {
    "WaitingForHosts": "WaitingForQuota",
    "RoundDraining": "WaitingForPreemptedWorkloads",
}
"""Kueue's word for reasons that Headgate tells apart, by ours."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The dominant reason of a pending workload, all blockers, and the remedies.

    `evaluated` is false where no evaluation was needed, and `dominant` says why. `message` is set
    where no blocker says it; else blocker number `deciding` does. Where the dominant reason is
    UNSCHEDULABLE, that blocker says what the emptied cluster lacks. `would_unblock` are remedies
    beside those of the blockers. `evaluation_reason` is the dominant reason of an unschedulable
    workload on the cluster as it is. Explanations with equal `fingerprint` tell a user the same.
    """

    dominant: str
    message: Message | None = None
    deciding: int = 0
    evaluated: bool = True
    blockers: tuple[Blocker, ...] = ()
    would_unblock: tuple[Message, ...] = ()
    evaluation_reason: str = ""

    @property
    def reason_message(self) -> Message:
        """The message of the dominant reason."""
        found = self.message or self.blockers[self.deciding].full_message
        return Message(UNSCHEDULABLE, {"found": found}) if self.is_unschedulable else found

    @property
    def is_unschedulable(self) -> bool:
        """Whether the workload could not be admitted on the emptied cluster either."""
        return self.dominant == UNSCHEDULABLE

    @property
    def condition_reason(self) -> str:
        """Kueue's word for the dominant reason, which conditions have."""
        found = self.dominant
        if self.is_unschedulable:
            deciding = self.blockers[self.deciding].reason if self.blockers else "WaitingForQuota"
            found = self.evaluation_reason or deciding
        return KUEUE_REASONS.get(found, found)

    @property
    def fingerprint(self) -> tuple[str, bool, tuple[tuple[str, ...], ...]]:
        """The part of the explanation that must change for it to be recorded again.

        A shortage counts by its order of magnitude (powers of two): on a busy installation it moves
        with every admission, which is no news.
        """
        matrix = tuple(
            (b.type, b.reason, b.pod_set, b.flavor, b.resource, b.level, _magnitude(b.short_by))
            for b in self.blockers
        )
        found = ((self.evaluation_reason,),) if self.evaluation_reason else ()
        return (self.dominant, self.evaluated, (*found, *matrix))


def _magnitude(short_by: int | None) -> str:
    return "" if short_by is None else str(short_by.bit_length())
