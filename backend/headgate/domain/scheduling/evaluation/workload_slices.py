"""Elastic scale-up: a new workload slice takes over the pods and quota of a running one.

Kueue: workloadslicing (KEP-77). The new slice names the old one in an annotation and requests all
pods. It is evaluated without the old slice's quota, so that only the difference must fit, and with
the same flavors. Running pods stay on their hosts (topology.md §2, Elastic). The decision that
reserves quota for the new slice first finishes the old one, so that quota is never counted twice
(queueing.md §3.12).
"""

from collections.abc import Iterable

from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import HostTable
from headgate.domain.scheduling.placement.replacement import RunningPods
from headgate.domain.workloads.predicates import has_quota_reservation, is_evicting
from headgate.domain.workloads.specs import PodSet, replaced_key
from headgate.domain.workloads.state import Workload, WorkloadsByKey


def predecessor_slice(workloads: WorkloadsByKey, workload: Workload) -> Workload | None:
    """Returns the slice that finishes once this workload has its quota; None if it is evicting."""
    key = replaced_key(workload.annotations) if workload.annotations else ""
    old = workloads.get(key) if key else None
    if old is None or old.key == workload.key or old.namespace != workload.namespace:
        return None
    return None if old.finished_at is not None or is_evicting(old) else old


def replaced_slice(
    partition: Partition, workloads: WorkloadsByKey, workload: Workload
) -> Workload | None:
    """Returns the slice in the same ClusterQueue that the workload takes quota over from."""
    old = predecessor_slice(workloads, workload)
    if old is None or not has_quota_reservation(old) or old.admission is None:
        return None
    local = partition.config.local_queues.get(workload.local_queue_key)
    same = local is not None and local.spec.cluster_queue == old.admission.cluster_queue
    return old if same else None


def fixed_flavors_of(old: Workload) -> dict[tuple[str, str], str]:
    """Returns the flavors of the old slice by pod set and resource."""
    assert old.admission is not None, "a slice with quota has an admission"
    return {
        (given.name, resource): flavor
        for given in old.admission.pod_set_assignments
        for resource, flavor in given.flavors.items()
    }


def running_pods(old: Workload, pod_sets: Iterable[PodSet]) -> RunningPods:
    """Returns the hosts of the old slice's pods that the same pod sets of the new one take over.

    Leaves out pod sets with changed requests, and those with a failed host.
    """
    assert old.admission is not None, "a slice with quota has an admission"
    before = {each.name: (each.scheduling, each.topology_request) for each in old.spec.pod_sets}
    alike = {p.name for p in pod_sets if before.get(p.name) == (p.scheduling, p.topology_request)}
    return {
        given.name: known
        for given in old.admission.pod_set_assignments
        if (known := given.topology_assignment) is not None
        and given.name in alike
        and not any(",".join(domain.values) in old.unhealthy_nodes for domain in known.domains)
    }


def all_hosts_usable(hosts: HostTable, running: RunningPods) -> bool:
    """Whether every host of the running pods is schedulable, so not cordoned."""
    rows = [
        hosts.row_of.get(domain.values) for known in running.values() for domain in known.domains
    ]
    return all(row is None or bool(hosts.schedulable[row]) for row in rows)
