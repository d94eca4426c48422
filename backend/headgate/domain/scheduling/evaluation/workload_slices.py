"""Growing while running: a new slice of a workload takes over the pods and quota of the old one.

The new slice names the old one in an annotation and asks for all its pods. It is looked at as if
the quota of the old one were free already, so that only the difference has to be there, and gets
the same flavors. Pods on hosts stay where they are (reference topology.md §2, Elastic). In the
decision that reserves its quota the old slice is finished as replaced, which comes first, so that
quota is never counted twice (reference queueing.md §3.12).
"""

from collections.abc import Iterable, Mapping

from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import HostTable
from headgate.domain.scheduling.placement.replacement import RunningPods
from headgate.domain.workloads.predicates import has_quota_reservation, is_evicting
from headgate.domain.workloads.specs import PodSet, replaced_key
from headgate.domain.workloads.state import Workload

Workloads = Mapping[str, Workload]


def predecessor_slice(workloads: Workloads, workload: Workload) -> Workload | None:
    """The slice that ends when this workload gets its quota; who is leaving ends by itself."""
    key = replaced_key(workload.annotations) if workload.annotations else ""
    old = workloads.get(key) if key else None
    if old is None or old.key == workload.key or old.namespace != workload.namespace:
        return None
    return None if old.finished_at is not None or is_evicting(old) else old


def replaced_slice(
    partition: Partition, workloads: Workloads, workload: Workload
) -> Workload | None:
    """The slice whose quota the workload may count on, in the ClusterQueue that it waits for."""
    old = predecessor_slice(workloads, workload)
    if old is None or not has_quota_reservation(old) or old.admission is None:
        return None
    local = partition.config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    same = local is not None and local.spec.cluster_queue == old.admission.cluster_queue
    return old if same else None


def fixed_flavors(old: Workload) -> dict[tuple[str, str], str]:
    """The flavors that the pods of the old slice run on, by pod set and resource."""
    assert old.admission is not None, "only who holds quota has flavors"
    return {
        (given.name, resource): flavor
        for given in old.admission.pod_set_assignments
        for resource, flavor in given.flavors.items()
    }


def running_pods(old: Workload, pod_sets: Iterable[PodSet]) -> RunningPods:
    """Where the pods of the old slice stand that the same pod sets of the new one take over.

    Left out are pod sets that ask for something else now, and those that lost a host.
    """
    assert old.admission is not None, "only who holds quota has hosts"
    before = {each.name: (each.scheduling, each.topology_request) for each in old.spec.pod_sets}
    alike = {p.name for p in pod_sets if before.get(p.name) == (p.scheduling, p.topology_request)}
    return {
        given.name: known
        for given in old.admission.pod_set_assignments
        if (known := given.topology_assignment) is not None
        and given.name in alike
        and not any(",".join(domain.values) in old.unhealthy_nodes for domain in known.domains)
    }


def all_hosts_usable(hosts: HostTable, standing: RunningPods) -> bool:
    """Whether every host that pods stand on takes more of them; a cordoned one does not."""
    rows = [
        hosts.row_of.get(domain.values) for known in standing.values() for domain in known.domains
    ]
    return all(row is None or bool(hosts.schedulable[row]) for row in rows)
