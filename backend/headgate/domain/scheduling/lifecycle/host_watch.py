"""Which hosts have failed for which workload, why, and since when (topology.md §7.1).

A host that is gone, is no longer of the flavor or is being drained fails at once. A host that is
not ready, or has a taint that the pods do not tolerate, fails when the executor reports that no pod
is alive there, and otherwise after the time that the Configuration gives it. A host of a lost
executor fails at once, or never under the policy Wait (docs/executors/protocol.md). A cordoned host
keeps its pods as long as they live, and so does a host that was moved to another rack.

`HostWatch` indexes workloads by host. It changes only with admissions and nodes, so that a cycle
costs nothing for hosts that did not change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor_nodes import loss_policy
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lifecycle.admission_checks import awaits_only_topology
from headgate.domain.scheduling.lifecycle.transitions import IMMEDIATELY
from headgate.domain.scheduling.placement.flavor_topology import belongs_to_flavor
from headgate.domain.scheduling.placement.host_table import (
    ACTUAL,
    HostTable,
    host_name,
    overcommitted_leaves,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.quantities import Requests, add_to
from headgate.domain.values.selectors import Taint, untolerated
from headgate.domain.workloads.admission import (
    PodSetAssignment,
    has_ended,
    hosts_of,
    needed_admission,
)
from headgate.domain.workloads.events import (
    WorkloadEvent,
    WorkloadHostsFailed,
    WorkloadHostsRecovered,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import NodeLossPolicy, PodSet
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.admission_checks import pod_sets_after_checks

TOO_SMALL = "TooSmall"
"""The reason for a host with less allocatable resources than its workloads request."""


@dataclass(frozen=True, slots=True)
class HostFailure:
    """Why a host has failed for a workload, and the instant from which it counts."""

    reason: str
    due: Instant


@dataclass(frozen=True, slots=True)
class _HostedWorkload:
    """The pods of one pod set, with what decides whether a node serves them."""

    pod_set: PodSet
    flavor_name: str
    flavor: ResourceFlavorSpec
    topology: TopologySpec
    not_ready_seconds: int | None
    loss_policies: Mapping[str, NodeLossPolicy]


def host_failures(
    config: ObjectSet, hosts: HostTable, workload: Workload
) -> dict[str, HostFailure]:
    """The failed hosts of a workload by name; a domain above hosts by its values, comma-joined."""
    found: dict[str, HostFailure] = {}
    if workload.admission is None:
        return found
    pod_sets = pod_sets_after_checks(workload)
    for given in workload.admission.pod_set_assignments:
        hosted = _hosted_workload(config, workload, pod_sets, given)
        if hosted is None or given.topology_assignment is None:
            continue
        if has_ended(pod_sets.get(given.name), given, workload.reclaimable):
            continue
        for domain in given.topology_assignment.domains:
            name = ",".join(domain.values)
            failure = _host_failure(config, hosts, hosted, workload, domain.values)
            if failure is not None and (name not in found or failure.due < found[name].due):
                found[name] = failure
    return found


def nodes_of_host(
    config: ObjectSet, hosts: HostTable, values: tuple[str, ...]
) -> tuple[Configured[NodeSpec], ...]:
    """The nodes of a host that is given by its name alone; none if it is gone."""
    if values in hosts.row_of:
        return hosts.nodes_at(values)
    known = config.nodes.get(values[-1])
    return () if known is None else (known,)


def _hosted_workload(
    config: ObjectSet,
    workload: Workload,
    pod_sets: Mapping[str, PodSet],
    given: PodSetAssignment,
) -> _HostedWorkload | None:
    pod_set = pod_sets.get(given.name)
    for name in given.flavors.values():
        flavor = config.resource_flavors.get(name)
        topology = config.topologies.get(flavor.spec.topology_name) if flavor else None
        if pod_set is not None and flavor is not None and topology is not None:
            seconds = config.configuration.topology.not_ready_seconds
            policies = {
                executor: loss_policy(config, executor, workload.spec.node_loss_policy)
                for executor in config.executors
            }
            return _HostedWorkload(pod_set, name, flavor.spec, topology.spec, seconds, policies)
    return None


def _host_failure(
    config: ObjectSet,
    hosts: HostTable,
    hosted: _HostedWorkload,
    workload: Workload,
    values: tuple[str, ...],
) -> HostFailure | None:
    """The failure of a host if all its nodes failed; a domain above hosts fails when it is gone."""
    if hosted.topology.levels[-1] != HOSTNAME_LABEL:
        names = (values, (hosted.flavor_name, *values))
        is_there = any(name in hosts.row_of for name in names)
        return None if is_there else HostFailure("Removed", IMMEDIATELY)
    nodes = [
        node
        for node in nodes_of_host(config, hosts, values)
        if belongs_to_flavor(node, hosted.flavor, hosted.topology)
    ]
    if not nodes:
        return HostFailure("Removed", IMMEDIATELY)
    is_empty = values[-1] in workload.pods_gone
    found = [_node_failure(node.spec, hosted, is_empty=is_empty) for node in nodes]
    failures = [failure for failure in found if failure is not None]
    if len(failures) < len(nodes):
        return None
    return max(failures, key=lambda failure: (failure.due, failure.reason))


def _node_failure(spec: NodeSpec, hosted: _HostedWorkload, *, is_empty: bool) -> HostFailure | None:
    return min(
        _node_failures(spec, hosted, is_empty=is_empty),
        key=lambda failure: (failure.due, failure.reason),
        default=None,
    )


def _node_failures(
    spec: NodeSpec, hosted: _HostedWorkload, *, is_empty: bool
) -> Iterator[HostFailure]:
    seconds = hosted.not_ready_seconds
    if spec.is_executor_lost and hosted.loss_policies.get(spec.executor) == "Wait":
        return
    if spec.is_executor_lost:
        yield HostFailure("ExecutorLost", IMMEDIATELY)
    if spec.draining:
        yield HostFailure("Drained", IMMEDIATELY)
    if not spec.ready and is_empty:
        yield HostFailure("NotReady", IMMEDIATELY)
    if not spec.ready and seconds is not None and spec.not_ready_since is not None:
        yield HostFailure("NotReady", seconds_after(spec.not_ready_since, seconds))
    if spec.unschedulable and is_empty:
        yield HostFailure("Cordoned", IMMEDIATELY)
    accepted = [
        toleration
        for toleration in (*hosted.pod_set.scheduling.tolerations, *hosted.flavor.tolerations)
        if toleration.seconds is None or not is_empty
    ]
    taints = spec.taints if is_empty else _no_execute_taints(spec, seconds)
    if untolerated(taints, accepted) is not None:
        yield HostFailure("Tainted", IMMEDIATELY)


def _no_execute_taints(spec: NodeSpec, seconds: int | None) -> tuple[Taint, ...]:
    """Taints that evict living pods, where no report tells when the pods are gone."""
    return () if seconds is None else tuple(t for t in spec.taints if t.effect == "NoExecute")


def needs_second_pass(config: ObjectSet, workload: Workload) -> bool:
    """Whether hosts are sought for a quota reservation: for failed ones, or its first ones.

    topology.md §7.2; Kueue: `workload.NeedsSecondPass`.
    """
    if (
        not has_quota_reservation(workload)
        or workload.eviction is not None
        or not workload.spec.active
    ):
        return False
    if workload.terminating_at is not None or workload.cancelling_at is not None:
        return False
    return bool(workload.unhealthy_nodes) or awaits_only_topology(config, workload)


class HostWatch:
    """Index of the workloads of a partition by host, kept up to date with every workload.

    `second_pass_pending` are the workloads that need a second pass, `unplaceable` those of them
    that found no hosts since the last change. `may_be_overcommitted` is set when the allocatable
    resources of a host may have shrunk since the last check.
    """

    def __init__(self, config: ObjectSet, hosts: HostTable) -> None:
        self.placed: dict[str, Workload] = {}
        self.second_pass_pending: dict[str, Workload] = {}
        self.unplaceable: dict[str, None] = {}
        self.may_be_overcommitted = True
        self._config = config
        self._hosts = hosts
        self._by_host: dict[str, dict[str, None]] = {}
        self._due: dict[str, Instant | None] = {}

    def replace(self, old: Workload | None, new: Workload | None) -> Instant | None:
        """Take a changed workload into account; the instant at which the next host of it fails."""
        found = new or old
        assert found is not None, "something must have been or be there"
        if not _uses_hosts(old) and not _uses_hosts(new):
            return None
        key = found.key
        self.second_pass_pending.pop(key, None)
        self.unplaceable.pop(key, None)
        if new is not None and needs_second_pass(self._config, new):
            self.second_pass_pending[key] = new
        if old is not None and new is not None and _keeps_hosts(old, new):
            if key in self.placed:
                self.placed[key] = new
            return self._due.get(key)
        self._remove(key)
        if new is None or not _is_watched(new):
            return None
        self._add(new)
        return self._refresh_due(new)

    def refresh_node(self, node: Configured[NodeSpec]) -> Iterator[tuple[Workload, Instant | None]]:
        """The workloads on a node, each with the instant at which its next host fails."""
        for workload in self.workloads_on(host_name(node)):
            yield workload, self._refresh_due(workload)

    def workloads_on(self, host: str) -> tuple[Workload, ...]:
        """The workloads with pods on a host, by name."""
        return tuple(self.placed[key] for key in sorted(self._by_host.get(host, ())))

    def retry_unplaceable(self) -> None:
        """Let unplaceable workloads have another second pass."""
        self.unplaceable.clear()

    def host_events(self, workload: Workload, at: Instant) -> tuple[WorkloadEvent, ...]:
        """The event that a workload's failed hosts changed; none if they did not."""
        known = workload.unhealthy_nodes
        failed = {
            host: failure.reason
            for host, failure in sorted(self._host_failures(workload).items())
            if failure.due <= at or host in known
        }
        if failed.keys() == known.keys():
            return ()
        return (WorkloadHostsFailed(hosts=failed),) if failed else (WorkloadHostsRecovered(),)

    def overcommitted_hosts(self) -> Iterator[str]:
        """Hosts with less allocatable resources than their workloads request."""
        for place in overcommitted_leaves(self._hosts):
            if len(place) == 1 and self._is_overcommitted(place):
                yield place[0]

    def allocatable_at(self, place: tuple[str, ...]) -> Requests:
        """The allocatable resources of the nodes of a host, ready or not."""
        has: Requests = {}
        for node in self._hosts.nodes_at(place):
            add_to(has, node.spec.allocatable)
        return has

    def _is_overcommitted(self, place: tuple[str, ...]) -> bool:
        row = self._hosts.row_of.get(place)
        if row is None:
            return False
        held = self._hosts.capacity[:, row] - self._hosts.free[ACTUAL][:, row]
        has = self.allocatable_at(place)
        return any(
            int(held[line]) > has.get(resource, 0)
            for resource, line in self._hosts.resources.items()
        )

    def _host_failures(self, workload: Workload) -> dict[str, HostFailure]:
        found = host_failures(self._config, self._hosts, workload)
        for host, reason in workload.unhealthy_nodes.items():
            if reason == TOO_SMALL and host not in found and self._is_overcommitted((host,)):
                found[host] = HostFailure(TOO_SMALL, IMMEDIATELY)
        return found

    def _refresh_due(self, workload: Workload) -> Instant | None:
        failures = self._host_failures(workload)
        known = workload.unhealthy_nodes
        dues = [failure.due for host, failure in failures.items() if host not in known]
        if any(host not in failures for host in known):
            dues.append(IMMEDIATELY)
        due = min(dues, default=None)
        self._due[workload.key] = due
        return due

    def _add(self, workload: Workload) -> None:
        self.placed[workload.key] = workload
        for host in _hosts_in_use(workload):
            self._by_host.setdefault(host, {})[workload.key] = None

    def _remove(self, key: str) -> None:
        known = self.placed.pop(key, None)
        self._due.pop(key, None)
        for host in _hosts_in_use(known) if known is not None else ():
            there = self._by_host[host]
            del there[key]
            if not there:
                del self._by_host[host]


def _hosts_in_use(workload: Workload) -> tuple[str, ...]:
    """The hosts of pod sets that have not ended."""
    assert workload.admission is not None, "only admissions are indexed"
    if not workload.reclaimable:
        return hosts_of(workload.admission)
    pod_sets = workload.spec.pod_sets
    return hosts_of(needed_admission(workload.admission, pod_sets, workload.reclaimable))


def _uses_hosts(workload: Workload | None) -> bool:
    """Whether a workload has, had or awaits hosts; other workloads are not indexed."""
    if workload is None or workload.admission is None:
        return False
    if workload.unhealthy_nodes:
        return True
    for given in workload.admission.pod_set_assignments:
        if given.topology_assignment is not None or given.delayed_topology_request == "Pending":
            return True
    return False


def _is_watched(workload: Workload) -> bool:
    return (
        has_quota_reservation(workload)
        and workload.eviction is None
        and workload.admission is not None
        and any(given.topology_assignment for given in workload.admission.pod_set_assignments)
    )


def _keeps_hosts(old: Workload, new: Workload) -> bool:
    """Whether nothing changed that host failures of the workload depend on."""
    return _is_watched(old) == _is_watched(new) and (
        old.admission is new.admission
        and old.unhealthy_nodes is new.unhealthy_nodes
        and old.pods_gone is new.pods_gone
        and old.spec is new.spec
        and old.reclaimable is new.reclaimable
    )
