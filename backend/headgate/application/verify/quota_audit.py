"""Configuration folded as plain specs, and quota counted by it (queueing.md §4).

Quota is counted independently: what each queue uses and what is available.
"""

from typing import Any

from msgspec.structs import replace

from headgate.application.verify import Findings
from headgate.domain.kinds import cluster_queue as q
from headgate.domain.kinds import local_queue as lq
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec, CohortSpec
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_settings import ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.nodes import state as t
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.quantities import FlavorResource, FlavorUsage
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    has_ended,
    needed_admission,
)
from headgate.domain.workloads.preemption_events import (
    WorkloadGrown,
    WorkloadShrunk,
    shrunk_admission,
)
from headgate.domain.workloads.specs import WorkloadSpec

DELETED = "Deleted"


class ConfigurationAudit:
    """Specs by kind and name; `revision` grows with each change of a queue or a cohort."""

    def __init__(self) -> None:
        self.revision = 0
        self.cluster_queues: dict[str, ClusterQueueSpec] = {}
        self.cohorts: dict[str, CohortSpec] = {}
        self.local_queues: dict[str, LocalQueueSpec] = {}
        self.flavors: dict[str, ResourceFlavorSpec] = {}
        self.nodes: dict[str, NodeSpec] = {}
        self.node_labels: dict[str, dict[str, str]] = {}

    def read(self, kind: str, key: str, event: DomainEvent) -> None:
        """Follow one change of configuration."""
        known = self._specs(kind)
        if known is None:
            return
        self.revision += 1
        spec = getattr(event, "spec", None)
        if spec is not None:
            known[key] = spec
            if kind == "node":
                self.node_labels[key] = getattr(event, "labels", {})
        elif type(event).__name__.endswith(DELETED):
            known.pop(key, None)
        elif key in known:
            known[key] = _changed(known[key], event)

    def _specs(self, kind: str) -> dict[str, Any] | None:
        by_kind: dict[str, dict[str, Any]] = {
            "clusterqueue": self.cluster_queues,
            "cohort": self.cohorts,
            "localqueue": self.local_queues,
            "resourceflavor": self.flavors,
            "node": self.nodes,
        }
        return by_kind.get(kind)


def _changed(spec: Any, event: DomainEvent) -> Any:  # noqa: ANN401 - any kind of spec
    match event:
        case q.ClusterQueueStopped() | lq.LocalQueueStopped():
            return replace(spec, stop_policy=event.policy)
        case q.ClusterQueueResumed() | lq.LocalQueueResumed():
            return replace(spec, stop_policy="None")
        case t.NodeReported():
            return replace(
                spec,
                ready=event.ready,
                allocatable=event.allocatable,
                used_by_others=event.used_by_others,
            )
        case t.NodeFellSilent():
            return replace(spec, ready=False)
        case t.NodeCordoned() | t.NodeDrainStarted():
            return replace(spec, unschedulable=True)
        case t.NodeUncordoned():
            return replace(spec, unschedulable=False)
        case _:
            return spec


UNLIMITED = 1 << 62
NOTHING = ResourceQuota(name="", nominal_quota=0)

QuotaNode = tuple[str, str]
"""A ClusterQueue or a Cohort in the tree: `("queue" | "cohort", name)`."""


def usage_of(admission: Admission) -> FlavorUsage:
    """What an admission takes, by flavor and resource."""
    taken: FlavorUsage = {}
    for assigned in admission.pod_set_assignments:
        for resource, amount in assigned.resource_usage.items():
            flavor = assigned.flavors.get(resource)
            if flavor is not None:
                key = (flavor, resource)
                taken[key] = taken.get(key, 0) + amount
    return taken


class QuotaAudit:
    """Usage by ClusterQueue; every reservation is measured against the tree as it is then."""

    def __init__(self, settings: ConfigurationAudit, findings: Findings) -> None:
        self._settings = settings
        self._findings = findings
        self._revision = -1
        self._quotas: dict[QuotaNode, dict[FlavorResource, ResourceQuota]] = {}
        self._children: dict[QuotaNode, list[QuotaNode]] = {}
        self._parents: dict[QuotaNode, QuotaNode] = {}
        self._subtrees: dict[tuple[QuotaNode, FlavorResource], int] = {}
        self.used: dict[str, FlavorUsage] = {}

    def take(self, admission: Admission) -> None:
        """Checks that the requested quota is available, and counts it."""
        self._refresh()
        queue = admission.cluster_queue
        spec = self._settings.cluster_queues.get(queue)
        if spec is None:
            self._findings.add("QuotaComesFromClusterQueueThatExists", queue)
        elif spec.stop_policy != "None":
            self._findings.add("StoppedQueueAdmitsNothing", f"{queue}: {spec.stop_policy}")
        for key, amount in usage_of(admission).items():
            self._check(queue, key, amount)
            self._count(queue, key, amount)

    def add(self, admission: Admission) -> None:
        """Counts what another queue manager had admitted, which no rule was asked about."""
        for key, amount in usage_of(admission).items():
            self._count(admission.cluster_queue, key, amount)

    def _count(self, queue: str, key: FlavorResource, amount: int) -> None:
        used = self.used.setdefault(queue, {})
        used[key] = used.get(key, 0) + amount

    def shrink(self, before: Admission, after: Admission) -> None:
        """Count what is left of an admission instead of all of it."""
        self.give_back(before)
        used = self.used[before.cluster_queue]
        for key, amount in usage_of(after).items():
            used[key] = used.get(key, 0) + amount

    def give_back(self, admission: Admission) -> None:
        """Count it as free again."""
        used = self.used.setdefault(admission.cluster_queue, {})
        for key, amount in usage_of(admission).items():
            used[key] = used.get(key, 0) - amount
            if used[key] < 0:
                name = "/".join((admission.cluster_queue, *key))
                self._findings.add("UsageIsNeverNegative", f"{name} is {used[key]}")

    def _check(self, queue: str, key: FlavorResource, amount: int) -> None:
        if amount == 0:
            return
        node = ("queue", queue)
        if key not in self._quotas.get(node, {}):
            self._findings.add("QueueAdmitsOnlyResourcesItHasQuotaFor", f"{queue} {'/'.join(key)}")
            return
        available = self._available(node, key)
        if amount > available:
            self._findings.add(
                "NoWorkloadGetsMoreThanIsAvailable",
                f"{queue} {'/'.join(key)}: {amount} asked, {available} available",
            )

    def _available(self, node: QuotaNode, key: FlavorResource) -> int:
        own = self._subtree(node, key) - self._usage(node, key)
        parent = self._parents.get(node)
        if parent is None:
            return own
        local = self._local(node, key)
        beyond = self._usage(node, key) - local
        limit = self._quota(node, key).borrowing_limit
        lendable = self._subtree(node, key) - local
        bound = UNLIMITED if limit is None else lendable - max(0, beyond) + limit
        return max(0, -beyond) + min(self._available(parent, key), bound)

    def _usage(self, node: QuotaNode, key: FlavorResource) -> int:
        if node[0] == "queue":
            return self.used.get(node[1], {}).get(key, 0)
        return sum(
            max(0, self._usage(child, key) - self._local(child, key))
            for child in self._children.get(node, [])
        )

    def _subtree(self, node: QuotaNode, key: FlavorResource) -> int:
        known = self._subtrees.get((node, key))
        if known is None:
            known = self._quota(node, key).nominal_quota + sum(
                self._subtree(child, key) - self._local(child, key)
                for child in self._children.get(node, [])
            )
            self._subtrees[(node, key)] = known
        return known

    def _local(self, node: QuotaNode, key: FlavorResource) -> int:
        limit = self._quota(node, key).lending_limit
        return 0 if limit is None else max(0, self._subtree(node, key) - limit)

    def _quota(self, node: QuotaNode, key: FlavorResource) -> ResourceQuota:
        return self._quotas.get(node, {}).get(key, NOTHING)

    def _refresh(self) -> None:
        """Rebuilds the tree after a change of configuration."""
        if self._revision == self._settings.revision:
            return
        self._revision = self._settings.revision
        self._quotas, self._children, self._parents, self._subtrees = {}, {}, {}, {}
        for name, queue in self._settings.cluster_queues.items():
            self._add(("queue", name), queue.cohort_name, queue.resource_groups)
        for name, cohort in self._settings.cohorts.items():
            self._add(("cohort", name), cohort.parent_name, cohort.resource_groups)

    def _add(self, node: QuotaNode, parent: str, groups: tuple[ResourceGroup, ...]) -> None:
        self._quotas[node] = {
            (flavor.name, quota.name): quota
            for group in groups
            for flavor in group.flavors
            for quota in flavor.resources
        }
        if parent and not self._is_above(node, ("cohort", parent)):
            self._parents[node] = ("cohort", parent)
            self._children.setdefault(("cohort", parent), []).append(node)

    def _is_above(self, node: QuotaNode, other: QuotaNode | None) -> bool:
        """Whether `node` is `other` or one of its ancestors: a parent below itself is no parent."""
        while other is not None:
            if other == node:
                return True
            other = self._parents.get(other)
        return False


class SizeAudit:
    """What workloads were given at first, and their pods that have ended by now."""

    def __init__(self) -> None:
        self._given: dict[str, Admission] = {}
        self._ended: dict[str, dict[str, int]] = {}

    def reserved(self, key: str, admission: Admission) -> None:
        """This is what a workload has just been given."""
        self._given[key] = admission

    def ended(self, key: str, pods: dict[str, int]) -> None:
        """So many of its pods, by pod set, have ended."""
        self._ended[key] = pods

    def shrunk(self, key: str, event: WorkloadShrunk) -> None:
        """It has lost pods for good, and is as if it had been given fewer."""
        given = self._given[key]
        self._given[key] = shrunk_admission(given, event)

    def grown(self, key: str, event: WorkloadGrown, held: Admission) -> Admission:
        """Pods that it lost are back; `held` with them, and what it was given too."""
        back = {
            given.name: given
            for given in event.admission.pod_set_assignments
            if given.name in event.pods
        }
        self._given[key] = _with(self._given[key], back)
        return _with(held, back)

    def forget(self, key: str) -> None:
        """Forgets a deleted workload; another of its name starts new."""
        self._given.pop(key, None)
        self._ended.pop(key, None)

    def now(self, key: str, spec: WorkloadSpec, held: Admission) -> Admission:
        """`held` with the counts and usage of the pods it needs by now, and the hosts of these."""
        known, reclaimable = self._given[key], self._ended.get(key, {})
        sets = {pod_set.name: pod_set for pod_set in spec.pod_sets}
        ended = {
            given.name
            for given in known.pod_set_assignments
            if has_ended(sets.get(given.name), given, reclaimable)
        }
        needed = needed_admission(known, spec.pod_sets, reclaimable)
        sizes = {given.name: given for given in needed.pod_set_assignments}
        return replace(
            held,
            pod_set_assignments=tuple(
                replace(
                    given,
                    count=sizes[given.name].count,
                    resource_usage=sizes[given.name].resource_usage,
                    topology_assignment=None if given.name in ended else given.topology_assignment,
                )
                for given in held.pod_set_assignments
            ),
        )


def _with(admission: Admission, assigned: dict[str, PodSetAssignment]) -> Admission:
    """The admission with these assignments of pod sets in place of its own."""
    given = tuple(assigned.get(each.name, each) for each in admission.pod_set_assignments)
    return replace(admission, pod_set_assignments=given)
