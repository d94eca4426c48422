"""Which of a workload's hosts it cannot count on, why, and since when (topology.md §7.1).

A host that is gone, is no longer of the flavor or is being drained is lost at once. One that is
not ready or has a taint that the pods do not tolerate is lost when the executor says that no pod is
alive there, and otherwise after the time that the Configuration gives it. What is merely cordoned
keeps its pods as long as they live, and so does a host that was moved to another rack.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.scheduling.matching import untolerated
from headgate.domain.scheduling.placement.flavor_topology import belongs_to_flavor
from headgate.domain.scheduling.placement.host_table import HostTable
from headgate.domain.topology.specs import (
    HOSTNAME_LABEL,
    NodeSpec,
    ResourceFlavorSpec,
    TopologySpec,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.admission import PodSetAssignment
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.admission_checks import pod_sets_after_checks

AT_ONCE: Instant = 0
TOO_SMALL = "TooSmall"
"""Of a host that no longer has what its workloads hold; found by looking at all of them."""


@dataclass(frozen=True, slots=True)
class HostFailure:
    """Why a host cannot be counted on, and from when."""

    reason: str
    due: Instant


@dataclass(frozen=True, slots=True)
class _HostedWorkload:
    """Pods of one pod set, with what decides whether a node serves them."""

    pod_set: PodSet
    flavor_name: str
    flavor: ResourceFlavorSpec
    topology: TopologySpec
    not_ready_seconds: int | None


def host_failures(config: Config, hosts: HostTable, workload: Workload) -> dict[str, HostFailure]:
    """Its hosts in trouble by name; a place that is no host by its path, joined by commas."""
    found: dict[str, HostFailure] = {}
    if workload.admission is None:
        return found
    pod_sets = pod_sets_after_checks(workload)
    for given in workload.admission.pod_set_assignments:
        tenant = _hosted_workload(config, pod_sets, given)
        if tenant is None or given.topology_assignment is None:
            continue
        for domain in given.topology_assignment.domains:
            name = ",".join(domain.values)
            trouble = _host_failure(config, hosts, tenant, workload, domain.values)
            if trouble is not None and (name not in found or trouble.due < found[name].due):
                found[name] = trouble
    return found


def nodes_of_host(
    config: Config, hosts: HostTable, values: tuple[str, ...]
) -> tuple[Configured[NodeSpec], ...]:
    """The nodes behind a host, given by its name alone; none if it is gone."""
    if values in hosts.row_of:
        return hosts.nodes_at(values)
    known = config.nodes.get(values[-1])
    return () if known is None else (known,)


def _hosted_workload(
    config: Config, pod_sets: Mapping[str, PodSet], given: PodSetAssignment
) -> _HostedWorkload | None:
    pod_set = pod_sets.get(given.name)
    for name in given.flavors.values():
        flavor = config.resource_flavors.get(name)
        topology = config.topologies.get(flavor.spec.topology_name) if flavor else None
        if pod_set is not None and flavor is not None and topology is not None:
            seconds = config.configuration.topology.not_ready_seconds
            return _HostedWorkload(pod_set, name, flavor.spec, topology.spec, seconds)
    return None


def _host_failure(
    config: Config,
    hosts: HostTable,
    tenant: _HostedWorkload,
    workload: Workload,
    values: tuple[str, ...],
) -> HostFailure | None:
    """A host is in trouble when every node of its name is; a place above hosts when it is gone."""
    if tenant.topology.levels[-1] != HOSTNAME_LABEL:
        names = (values, (tenant.flavor_name, *values))
        is_there = any(name in hosts.row_of for name in names)
        return None if is_there else HostFailure("Removed", AT_ONCE)
    nodes = [
        node
        for node in nodes_of_host(config, hosts, values)
        if belongs_to_flavor(node, tenant.flavor, tenant.topology)
    ]
    if not nodes:
        return HostFailure("Removed", AT_ONCE)
    is_empty = values[-1] in workload.pods_gone
    found = [_node_failure(node.spec, tenant, is_empty=is_empty) for node in nodes]
    troubles = [trouble for trouble in found if trouble is not None]
    if len(troubles) < len(nodes):
        return None
    return max(troubles, key=lambda trouble: (trouble.due, trouble.reason))


def _node_failure(spec: NodeSpec, tenant: _HostedWorkload, *, is_empty: bool) -> HostFailure | None:
    return min(
        _node_failures(spec, tenant, is_empty=is_empty),
        key=lambda trouble: (trouble.due, trouble.reason),
        default=None,
    )


def _node_failures(
    spec: NodeSpec, tenant: _HostedWorkload, *, is_empty: bool
) -> Iterator[HostFailure]:
    seconds = tenant.not_ready_seconds
    if spec.draining:
        yield HostFailure("Drained", AT_ONCE)
    if not spec.ready and is_empty:
        yield HostFailure("NotReady", AT_ONCE)
    if not spec.ready and seconds is not None and spec.not_ready_since is not None:
        yield HostFailure("NotReady", seconds_after(spec.not_ready_since, seconds))
    if spec.unschedulable and is_empty:
        yield HostFailure("Cordoned", AT_ONCE)
    accepted = [
        toleration
        for toleration in (*tenant.pod_set.scheduling.tolerations, *tenant.flavor.tolerations)
        if toleration.seconds is None or not is_empty
    ]
    taints = spec.taints if is_empty else _no_execute_taints(spec, seconds)
    if untolerated(taints, accepted) is not None:
        yield HostFailure("Tainted", AT_ONCE)


def _no_execute_taints(spec: NodeSpec, seconds: int | None) -> tuple[Taint, ...]:
    """Taints that drive living pods away, where nobody tells when they are gone."""
    return () if seconds is None else tuple(t for t in spec.taints if t.effect == "NoExecute")
