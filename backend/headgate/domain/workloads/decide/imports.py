"""Decides on a workload that is taken over from another queue manager, with its admission.

What is running goes on: the admission is recorded as it is, though it may exceed quota that was
lowered meanwhile. Only what could not be kept track of is rejected: queues, flavors and hosts that
do not exist, and numbers of pods that contradict the spec.
"""

from collections.abc import Iterator

from headgate.domain.field_rules import shown
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.admission import Admission, PodSetAssignment, pod_count
from headgate.domain.workloads.commands import ImportedStatus, ImportWorkload
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadCheckReported,
    WorkloadEvent,
    WorkloadImported,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.specs import WorkloadSpec

ADMISSION = "/status/admission"


def events_after_import(command: ImportWorkload, at: Instant) -> Iterator[WorkloadEvent]:
    """Yields the events that follow the submission: where it comes from, and what it has there."""
    status, given = command.status, command.status.admission
    executed = status.executed_seconds
    if status.admitted_at is not None:
        executed += max(0, at - status.admitted_at) // MICROSECONDS_PER_SECOND
    yield WorkloadImported(
        origin=command.origin,
        created_at=min(status.created_at, at),
        cluster_queue=given.cluster_queue if given else "",
        executed_seconds=executed,
        requeues=status.requeues,
        requeue_at=status.requeue_at,
    )
    if given is not None:
        yield from _events_with_admission(status, given)
    if status.reclaimable:
        yield WorkloadPodsReclaimed(reclaimable=status.reclaimable)


def _events_with_admission(status: ImportedStatus, given: Admission) -> Iterator[WorkloadEvent]:
    yield WorkloadQuotaReserved(
        admission=given, checks=tuple(check.name for check in status.checks)
    )
    for check in status.checks:
        if check.state != "Pending":
            yield WorkloadCheckReported(
                check=check.name,
                state=check.state,
                message=check.message,
                pod_set_updates=check.pod_set_updates,
            )
    if status.admitted_at is not None:
        waited = max(0, status.admitted_at - status.created_at) // MICROSECONDS_PER_SECOND
        yield WorkloadAdmitted(waited_seconds=waited)
        if status.is_ready:
            yield WorkloadPodsReady()


def admission_violations(
    spec: WorkloadSpec, admission: Admission, config: ObjectSet
) -> Iterator[Violation]:
    """Yields what of an admission cannot be kept track of under the configuration."""
    if admission.cluster_queue not in config.cluster_queues:
        place, name = child(ADMISSION, "clusterQueue"), shown(admission.cluster_queue)
        yield violation(place, "ImportedReferenceMissing", kind="ClusterQueue", name=name)
    place = child(ADMISSION, "podSetAssignments")
    counts = {pod_set.name: pod_set.count for pod_set in spec.pod_sets}
    given = [each.name for each in admission.pod_set_assignments]
    if sorted(given) != sorted(counts):
        yield violation(place, "ImportedPodSetsDiffer", found=tuple(given), expected=tuple(counts))
        return
    for number, assigned in enumerate(admission.pod_set_assignments):
        yield from _violations(child(place, number), assigned, counts[assigned.name], config)


def _violations(
    place: str, assigned: PodSetAssignment, count: int, config: ObjectSet
) -> Iterator[Violation]:
    if not 0 <= assigned.count <= count:
        yield violation(
            child(place, "count"), "NotInRange", value=assigned.count, minimum=0, maximum=count
        )
    for resource, flavor in sorted(assigned.flavors.items()):
        if flavor not in config.resource_flavors:
            where = child(place, "flavors", resource)
            yield violation(
                where, "ImportedReferenceMissing", kind="ResourceFlavor", name=shown(flavor)
            )
    found = assigned.topology_assignment
    if found is None:
        return
    where = child(place, "topologyAssignment")
    if pod_count(found) != assigned.count:
        yield violation(
            where, "ImportedPodsDiffer", placed=pod_count(found), expected=assigned.count
        )
    if found.levels == (HOSTNAME_LABEL,):
        for domain in found.domains:
            if not _is_host(domain.values[0], config):
                name = shown(domain.values[0])
                yield violation(where, "ImportedReferenceMissing", kind="Node", name=name)


def _is_host(name: str, config: ObjectSet) -> bool:
    """Whether a node has the host name; most nodes are called by it."""
    node = config.nodes.get(name)
    if node is not None and node.labels.get(HOSTNAME_LABEL, name) == name:
        return True
    return any(each.labels.get(HOSTNAME_LABEL) == name for each in config.nodes.values())
