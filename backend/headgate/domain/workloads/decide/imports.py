"""Decides on a workload that is taken over with its admission: from elsewhere, or from its orphans.

What is running goes on: the admission is recorded as it is, though it may exceed quota that was
lowered meanwhile. Only what could not be kept track of is rejected: queues, flavors and hosts that
do not exist, and numbers of pods that contradict the spec.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from headgate.domain.field_rules import shown
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configuration import quota_amounts
from headgate.domain.kinds.orphaned_pods import OrphanedPod
from headgate.domain.kinds.queue_settings import ResourceGroup
from headgate.domain.kinds.resource_flavor import node_is_of_flavor
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import IllegalNow, InvalidObject, Violation, child, violation
from headgate.domain.values.index_ranges import ranges_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
    pod_count,
)
from headgate.domain.workloads.commands import AdoptOrphans, ImportedStatus
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadCheckReported,
    WorkloadEvent,
    WorkloadImported,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.pod_events import ReportedPods
from headgate.domain.workloads.predicates import has_quota_reservation, require_not_terminating
from headgate.domain.workloads.specs import PodSet, WorkloadSpec
from headgate.domain.workloads.state import Workload

ADMISSION = "/status/admission"


def events_after_import(
    origin: str, status: ImportedStatus, at: Instant
) -> Iterator[WorkloadEvent]:
    """Yields the events that follow the submission: where it comes from, and what it has there."""
    given = status.admission
    executed = status.executed_seconds
    if status.admitted_at is not None:
        executed += max(0, at - status.admitted_at) // MICROSECONDS_PER_SECOND
    yield WorkloadImported(
        origin=origin,
        created_at=min(status.created_at, at),
        cluster_queue=given.cluster_queue if given else "",
        executed_seconds=executed,
        requeues=status.requeues,
        requeue_at=status.requeue_at,
        attempts=status.attempts,
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


ORPHANS = "orphaned pods"
"""The origin of a workload that was taken over where its orphaned pods run."""


class Orphan(NamedTuple):
    """An orphaned pod of a workload and the Executor that runs it."""

    executor: str
    pod: OrphanedPod


def orphans_of_workload(config: ObjectSet, key: str) -> tuple[Orphan, ...]:
    """Returns the orphaned pods of a workload that are not being killed, of all Executors."""
    return tuple(
        Orphan(name, pod)
        for name, executor in sorted(config.executors.items())
        for pod in sorted(executor.spec.orphans, key=lambda pod: (pod.pod_set, pod.index))
        if pod.workload == key and pod.decision != "Kill"
    )


def require_adoptable(state: object, orphans: Sequence[Orphan]) -> None:
    """Raises `IllegalNow` where the log has a workload that runs, has ended or is another one.

    Its orphaned pods belong to a later attempt than any that the log knows.
    """
    if not isinstance(state, Workload):
        return
    workload, pod = require_not_terminating(state), orphans[0].pod
    if workload.uid != pod.uid:
        raise IllegalNow("OrphansOfOtherWorkload", name=workload.key)
    if has_quota_reservation(workload) or workload.attempt >= pod.attempt:
        raise IllegalNow("OrphansOutrun", name=workload.key, attempt=workload.attempt)


def is_adopted(state: object, orphans: Sequence[Orphan]) -> bool:
    """Whether the workload is in the attempt of its orphaned pods, so that they are its own."""
    return (
        isinstance(state, Workload)
        and has_quota_reservation(state)
        and (state.uid, state.attempt) == (orphans[0].pod.uid, orphans[0].pod.attempt)
    )


def adoption_violations(spec: WorkloadSpec, orphans: Sequence[Orphan]) -> Iterator[Violation]:
    """Yields why orphaned pods are not the first runs of all pods of one attempt of a workload.

    Later runs may stand on any host, which the admission of an attempt does not tell.
    """
    if not all(orphan.pod.uid for orphan in orphans):
        yield violation("", "OrphansWithoutUid")
    if len({(orphan.pod.uid, orphan.pod.attempt) for orphan in orphans}) > 1:
        yield violation("", "OrphansOfSeveralAttempts")
    for number, pod_set in enumerate(spec.pod_sets):
        own = _own(pod_set, orphans)
        indices = [orphan.pod.index for orphan in own]
        place = f"/spec/podSets/{number}"
        if indices != list(range(pod_set.count)):
            yield violation(place, "OrphansAreNotAllPods", expected=pod_set.count, found=len(own))
        nodes = [node for node, _ in groupby(orphan.pod.node for orphan in own)]
        if any(orphan.pod.run > 1 for orphan in own) or len(set(nodes)) < len(nodes):
            yield violation(place, "OrphansWereMoved")


def admission_at_orphans(
    namespace: str, spec: WorkloadSpec, orphans: Sequence[Orphan], config: ObjectSet
) -> Admission:
    """The admission that a workload has where its orphaned pods run; raises `InvalidObject`.

    Each resource group has the first flavor of which all nodes of a pod set are.
    """
    local = config.local_queues.get(f"{namespace}/{spec.queue_name}")
    queue = config.cluster_queues.get(local.spec.cluster_queue) if local else None
    if queue is None:
        missing = {"kind": "LocalQueue", "name": shown(spec.queue_name)}
        raise InvalidObject.at("/spec/queueName", "ImportedReferenceMissing", **missing)
    found = []
    for number, pod_set in enumerate(spec.pod_sets):
        given = _assigned_at(pod_set, _own(pod_set, orphans), queue.spec, config)
        if given is None:
            place = f"/spec/podSets/{number}"
            raise InvalidObject.at(place, "OrphansOfNoFlavor", queue=queue.name)
        found.append(given)
    return Admission(cluster_queue=queue.name, pod_set_assignments=tuple(found))


def _own(pod_set: PodSet, orphans: Sequence[Orphan]) -> list[Orphan]:
    """The orphaned pods of a set, by index."""
    own = (orphan for orphan in orphans if orphan.pod.pod_set == pod_set.name)
    return sorted(own, key=lambda orphan: orphan.pod.index)


def _assigned_at(
    pod_set: PodSet, orphans: Sequence[Orphan], queue: ClusterQueueSpec, config: ObjectSet
) -> PodSetAssignment | None:
    per_pod = quota_amounts(pod_set.scheduling.requests, config.configuration.resources)
    amounts = {name: amount * pod_set.count for name, amount in per_pod.items()}
    amounts["pods"] = pod_set.count
    flavors: dict[str, str] = {}
    for group in queue.resource_groups:
        charged = sorted(amounts.keys() & set(group.covered_resources))
        flavor = _flavor_of(group, orphans, config)
        if charged and flavor is None:
            return None
        flavors.update({name: str(flavor) for name in charged})
    if not flavors:
        return None
    return PodSetAssignment(
        name=pod_set.name,
        flavors=flavors,
        resource_usage={name: amounts[name] for name in sorted(flavors)},
        count=pod_set.count,
        topology_assignment=_hosts_of(flavors, orphans, config),
    )


def _flavor_of(group: ResourceGroup, orphans: Sequence[Orphan], config: ObjectSet) -> str | None:
    """The first flavor that has every node of the pods, registered by the Executor of the pod."""
    nodes = [(orphan.executor, config.nodes.get(orphan.pod.node)) for orphan in orphans]
    for quotas in group.flavors:
        flavor = config.resource_flavors.get(quotas.name)
        if flavor is not None and all(
            node is not None
            and node.spec.executor == executor
            and node_is_of_flavor(node.labels, flavor.spec)
            for executor, node in nodes
        ):
            return quotas.name
    return None


def _hosts_of(
    flavors: dict[str, str], orphans: Sequence[Orphan], config: ObjectSet
) -> TopologyAssignment | None:
    """The hosts of the pods by index, where their flavor has a topology."""
    chosen = [config.resource_flavors[name].spec.topology_name for name in flavors.values()]
    topology = config.topologies.get(next(filter(None, chosen), ""))
    if topology is None:
        return None
    levels = topology.spec.levels
    by_host = topology.spec.goes_to_hosts
    places = [
        (orphan.pod.node,)
        if by_host
        else tuple(config.nodes[orphan.pod.node].labels.get(level, "") for level in levels)
        for orphan in orphans
    ]
    domains = tuple(
        TopologyDomain(values=values, count=len(list(pods))) for values, pods in groupby(places)
    )
    return TopologyAssignment(levels=(HOSTNAME_LABEL,) if by_host else levels, domains=domains)


def reports_on_orphans(orphans: Sequence[Orphan]) -> tuple[WorkloadPodsReported, ...]:
    """The reports that all orphaned pods run and are ready, one of each Executor."""
    found = []
    for executor, own in groupby(orphans, key=lambda orphan: orphan.executor):
        pods = [orphan.pod for orphan in own]
        found.append(
            WorkloadPodsReported(
                uid=pods[0].uid,
                attempt=pods[0].attempt,
                executor=executor,
                pods=tuple(_reported_pods(pods)),
            )
        )
    return tuple(found)


def _reported_pods(pods: Sequence[OrphanedPod]) -> Iterator[ReportedPods]:
    for (pod_set, node), group in groupby(pods, key=lambda pod: (pod.pod_set, pod.node)):
        own = list(group)
        indices = ranges_of([pod.index for pod in own])
        started = tuple(pod.started_at for pod in own)
        yield ReportedPods(
            pod_set=pod_set, indices=indices, run=1, node=node, type="started", started_at=started
        )
        yield ReportedPods(pod_set=pod_set, indices=indices, run=1, node=node, type="ready")


def events_after_adoption(command: AdoptOrphans, at: Instant) -> Iterator[WorkloadEvent]:
    """Yields the admission of a workload where its orphaned pods run, and that they run."""
    yield from events_after_import(ORPHANS, command.status, at)
    yield from command.reports
