"""Hosts and preemption rounds counted independently.

The pods on each host, and whether they fit (topology.md §3); of a round every victim, and that it
has one end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from headgate.application.verify import Findings
from headgate.application.verify.lifecycle_audit import AuditedWorkload, is_leaving_for
from headgate.application.verify.quota_audit import ConfigurationAudit
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.rounds import state as r
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import Taint, Toleration
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

PODS = "pods"
DomainPath = tuple[tuple[str, ...], tuple[str, ...]]
"""A topology domain: the keys of its levels and the values they have there."""


class HostAudit:
    """Usage by place; what is placed must fit beside everything that is there then."""

    def __init__(self, settings: ConfigurationAudit, findings: Findings) -> None:
        self._settings = settings
        self._findings = findings
        self._by_hostname: dict[str, list[str]] = {}
        self._revision = -1
        self.used: dict[DomainPath, Requests] = {}

    def take(self, spec: WorkloadSpec, admission: Admission, *, is_whole: bool = True) -> None:
        """Checks that every pod fits its host, and counts it."""
        for pod_set, assigned, place, count in placements(spec, admission):
            amounts = _amounts(pod_set, count)
            self._check(pod_set, assigned, place, amounts)
            self._count(place, amounts)
        if is_whole:
            self.check_counts(admission)

    def add(self, spec: WorkloadSpec, admission: Admission) -> None:
        """Counts the pods of what another queue manager had admitted, without a check."""
        for pod_set, _, place, count in placements(spec, admission):
            self._count(place, _amounts(pod_set, count))

    def _count(self, place: DomainPath, amounts: Requests) -> None:
        used = self.used.setdefault(place, {})
        for resource, amount in amounts.items():
            used[resource] = used.get(resource, 0) + amount

    def give_back(self, spec: WorkloadSpec, admission: Admission) -> None:
        """Count the rooms as free again."""
        for pod_set, _, place, count in placements(spec, admission):
            used = self.used.setdefault(place, {})
            for resource, amount in _amounts(pod_set, count).items():
                used[resource] = used.get(resource, 0) - amount

    def move(self, spec: WorkloadSpec, before: Admission, after: Admission) -> None:
        """Checks that pods with a new host fit there; kept pods are not checked."""
        there = Counter(_rooms(spec, before))
        here = Counter(_rooms(spec, after))
        self.give_back(spec, _only(before, there - here))
        self.take(spec, _only(after, here - there), is_whole=False)

    def leave(self, spec: WorkloadSpec, before: Admission, after: Admission) -> None:
        """Checks that a shrunk workload keeps hosts that it had, and no others."""
        there = Counter(_rooms(spec, before))
        here = Counter(_rooms(spec, after))
        for name, place in here - there:
            where = "/".join(place[1])
            self._findings.add("ReclaimedPodsChangeNoPlacement", f"{name}: {where}")
        self.give_back(spec, _only(before, there - here))

    def cut(self, spec: WorkloadSpec, before: Admission, after: Admission) -> None:
        """The same where there is one place for each pod that is wanted."""
        self.leave(spec, before, after)
        counts = {pod_set.name: pod_set.count for pod_set in spec.pod_sets}
        given = (
            replace(assigned, count=min(assigned.count, counts.get(assigned.name, assigned.count)))
            for assigned in after.pod_set_assignments
        )
        self.check_counts(replace(after, pod_set_assignments=tuple(given)))

    def check_counts(self, admission: Admission) -> None:
        """Checks that every pod of an admission has one place, unless it awaits its first."""
        for assigned in admission.pod_set_assignments:
            if (
                assigned.topology_assignment is None
                or assigned.delayed_topology_request == "Pending"
            ):
                continue
            placed = sum(domain.count for domain in assigned.topology_assignment.domains)
            if placed != assigned.count:
                self._findings.add(
                    "EveryPodHasOnePlace", f"{assigned.name}: {placed} of {assigned.count}"
                )

    def _check(
        self, pod_set: PodSet, assigned: PodSetAssignment, place: DomainPath, amounts: Requests
    ) -> None:
        hosts = list(self._hosts(assigned, place))
        where = "/".join(place[1])
        usable = [host for host in hosts if self._takes_pods(host)]
        if not usable:
            self._findings.add("PodsGoToHostsThatTakePods", where)
            return
        if place[0] == (HOSTNAME_LABEL,):
            self._check_tolerations(pod_set, assigned, usable, where)
        used = self.used.get(place, {})
        for resource, amount in amounts.items():
            capacity = sum(_free(host, resource) for host in usable)
            if amount and used.get(resource, 0) + amount > capacity:
                self._findings.add(
                    "NoHostIsGivenMoreThanItHas",
                    f"{where} {resource}: {used.get(resource, 0)} + {amount} of {capacity}",
                )

    def _check_tolerations(
        self, pod_set: PodSet, assigned: PodSetAssignment, hosts: list[NodeSpec], where: str
    ) -> None:
        names = sorted(set(assigned.flavors.values()))
        flavors = [self._settings.flavors.get(name) for name in names]
        tolerations = pod_set.scheduling.tolerations + tuple(
            each for flavor in flavors if flavor is not None for each in flavor.tolerations
        )
        for host in hosts:
            for taint in host.taints:
                if taint.effect != "PreferNoSchedule" and not _tolerated(taint, tolerations):
                    self._findings.add("EveryTaintOfHostIsTolerated", where)

    def _hosts(self, assigned: PodSetAssignment, place: DomainPath) -> Iterator[NodeSpec]:
        """The nodes of the place that belong to the assigned flavors."""
        wanted: dict[str, str] = {}
        for name in assigned.flavors.values():
            flavor = self._settings.flavors.get(name)
            if flavor is not None and flavor.topology_name:
                wanted.update(flavor.node_labels)
        levels, values = place
        for name in self._candidates(levels, values):
            labels = self._settings.node_labels.get(name, {})
            named = {HOSTNAME_LABEL: name, **labels}
            at_place = all(
                named.get(key) == value for key, value in zip(levels, values, strict=True)
            )
            if at_place and all(labels.get(key, "") == value for key, value in wanted.items()):
                yield self._settings.nodes[name]

    def _candidates(self, levels: tuple[str, ...], values: tuple[str, ...]) -> list[str]:
        if HOSTNAME_LABEL not in levels:
            return list(self._settings.nodes)
        if self._revision != self._settings.revision:
            self._revision = self._settings.revision
            self._by_hostname = {}
            for name in self._settings.nodes:
                hostname = self._settings.node_labels.get(name, {}).get(HOSTNAME_LABEL, name)
                self._by_hostname.setdefault(hostname, []).append(name)
        return self._by_hostname.get(values[levels.index(HOSTNAME_LABEL)], [])

    def _takes_pods(self, host: NodeSpec) -> bool:
        return host.ready and not host.unschedulable


def placements(
    spec: WorkloadSpec, admission: Admission
) -> Iterator[tuple[PodSet, PodSetAssignment, DomainPath, int]]:
    """Every pod set at every place it was given, with how many pods."""
    pod_sets = {pod_set.name: pod_set for pod_set in spec.pod_sets}
    for assigned in admission.pod_set_assignments:
        found = assigned.topology_assignment
        pod_set = pod_sets.get(assigned.name)
        if found is None or pod_set is None:
            continue
        for domain in found.domains:
            yield pod_set, assigned, (found.levels, domain.values), domain.count


def moved(before: Admission, after: Admission) -> Admission:
    """What was held, in the places that its pods have afterwards; ended pod sets have none."""
    places = {given.name: given.topology_assignment for given in after.pod_set_assignments}
    return replace(
        before,
        pod_set_assignments=tuple(
            replace(given, topology_assignment=places.get(given.name, given.topology_assignment))
            if given.count or given.topology_assignment
            else given
            for given in before.pod_set_assignments
        ),
    )


def _rooms(spec: WorkloadSpec, admission: Admission) -> dict[tuple[str, DomainPath], int]:
    return {
        (assigned.name, place): count for _, assigned, place, count in placements(spec, admission)
    }


def _only(admission: Admission, rooms: Mapping[tuple[str, DomainPath], int]) -> Admission:
    """The admission with these pods alone."""
    return replace(
        admission,
        pod_set_assignments=tuple(
            replace(given, topology_assignment=_of_pod_set(given, rooms))
            for given in admission.pod_set_assignments
        ),
    )


def _of_pod_set(
    given: PodSetAssignment, rooms: Mapping[tuple[str, DomainPath], int]
) -> TopologyAssignment | None:
    known = given.topology_assignment
    if known is None:
        return None
    domains = tuple(
        TopologyDomain(values=values, count=count)
        for (name, (_, values)), count in rooms.items()
        if name == given.name
    )
    return replace(known, domains=domains)


def _amounts(pod_set: PodSet, count: int) -> Requests:
    amounts = {name: amount * count for name, amount in pod_set.scheduling.requests.items()}
    amounts[PODS] = count
    return amounts


def _free(host: NodeSpec, resource: str) -> int:
    return host.allocatable.get(resource, 0) - host.used_by_others.get(resource, 0)


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


class AuditedRound(msgspec.Struct, kw_only=True):
    """One round so far."""

    id: str
    preemptor: str
    victims: frozenset[str]
    released: set[str]
    changed_at: Instant
    is_satisfied: bool = False
    lost_its_place: bool = False
    is_over: bool = False


class RoundAudit:
    """All rounds by stream, judged against the lives of preemptor and victims."""

    def __init__(self, workloads: dict[str, AuditedWorkload], findings: Findings) -> None:
        self._workloads = workloads
        self._findings = findings
        self.courses: dict[str, AuditedRound] = {}

    def read(self, stream: str, event: r.RoundEvent, at: Instant) -> None:
        """Judge and follow one step of a round."""
        if isinstance(event, r.RoundCommitted):
            self._committed(stream, event, at)
            return
        course = self.courses.get(stream)
        if course is None:
            self._findings.add("RoundBeginsByBeingCommitted", type(event).__name__)
            return
        if course.is_over:
            self._findings.add("RoundEndsOnce", type(event).__name__)
        course.changed_at = at
        match event:
            case r.VictimReleased():
                self._released(course, event)
            case r.PlacementInvalidated():
                course.lost_its_place = True
            case r.RoundSatisfied():
                self._all_released(course)
                course.is_satisfied = True
            case r.RoundCompleted():
                self._completed(course)
                course.is_over = True
            case r.RoundSuperseded() | r.RoundAborted() | r.RoundExpired():
                course.is_over = True

    def check_end(self, now: Instant, grace: int) -> None:
        """Every round is over, or open for a reason: a victim that has not stopped, or a wait."""
        for stream, course in self.courses.items():
            if course.is_over or now - course.changed_at <= grace:
                continue
            waits_for = [
                key for key in course.victims - course.released if self._still(key, course)
            ]
            changed = [
                workload.changed_at
                for key in course.victims
                if (workload := self._workloads.get(key))
            ]
            settled = all(now - at > grace for at in changed)
            if not course.is_satisfied and not waits_for and settled:
                self._findings.add(
                    "OpenRoundWaitsForVictim", "AllVictimsAreReleased", stream=stream
                )
            preemptor = self._workloads.get(course.preemptor)
            if (preemptor is None or preemptor.is_finished) and settled:
                self._findings.add("OpenRoundHasPreemptor", course.preemptor, stream=stream)

    def _committed(self, stream: str, event: r.RoundCommitted, at: Instant) -> None:
        if stream in self.courses:
            self._findings.add("RoundIsCommittedOnce", event.round_id)
        victims = frozenset(victim.workload for victim in event.victims)
        if event.preemptor in victims:
            self._findings.add("NoWorkloadPreemptsItself", event.preemptor)
        for key in sorted(victims):
            workload = self._workloads.get(key)
            if workload is None or workload.quota is None:
                self._findings.add("VictimsHoldQuota", key)
        preemptor = self._workloads.get(event.preemptor)
        if preemptor is None or preemptor.quota is not None:
            self._findings.add("EveryPreemptorIsPending", event.preemptor)
        self.courses[stream] = AuditedRound(
            id=event.round_id,
            preemptor=event.preemptor,
            victims=victims,
            released=set(),
            changed_at=at,
        )

    def _released(self, course: AuditedRound, event: r.VictimReleased) -> None:
        key = event.workload
        if key not in course.victims:
            self._findings.add("RoundReleasesItsOwnVictims", key)
        if key in course.released:
            self._findings.add("VictimIsReleasedOnce", key)
        if self._still(key, course):
            self._findings.add("ReleasedVictimHasNoQuota", key)
        course.released.add(key)

    def _all_released(self, course: AuditedRound) -> None:
        missing = sorted(course.victims - course.released)
        if missing:
            self._findings.add("RoundIsSatisfiedOnceAllVictimsAreReleased", ", ".join(missing))

    def _completed(self, course: AuditedRound) -> None:
        """Victims may still be evicting where others freed capacity (preemption.md §6.10)."""
        if course.lost_its_place:
            self._findings.add("LostNominationIsNotFinalPlacement", course.preemptor)
        preemptor = self._workloads.get(course.preemptor)
        if preemptor is None or preemptor.quota is None:
            self._findings.add("SatisfiedRoundHasNominatedCapacity", course.preemptor)

    def _still(self, key: str, course: AuditedRound) -> bool:
        """Whether the victim still holds what this round takes from it."""
        workload = self._workloads.get(key)
        return (
            workload is not None
            and workload.quota is not None
            and is_leaving_for(workload, course.id)
        )
