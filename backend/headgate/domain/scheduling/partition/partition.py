"""The fold that a cycle works on: charges, pending queues and what is due, of one partition.

Everything is kept up to date workload by workload with `replace`, which the opposite `replace`
undoes; only a change of configuration builds a partition anew. `charges.py` holds what admissions
take, in two views; this module holds the pending workloads, their timers, and which of them an
event requeues.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round, is_open
from headgate.domain.scheduling.flavors.eligibility import declared_capabilities, flavor_options
from headgate.domain.scheduling.lifecycle.host_watch import HostWatch
from headgate.domain.scheduling.lifecycle.transitions import next_due_at
from headgate.domain.scheduling.ordering.pending_places import (
    ClassParts,
    PendingEntry,
    Ranks,
    equal_ranks,
)
from headgate.domain.scheduling.ordering.pending_queue import InadmissibleSnapshot, PendingQueue
from headgate.domain.scheduling.partition.budget_status import BudgetIndex
from headgate.domain.scheduling.partition.charges import ChargeChange, Charges, is_usage_unchanged
from headgate.domain.scheduling.partition.eviction_graph import EvictionGraph
from headgate.domain.scheduling.partition.minimum_runtime import MinimumRuntimeIndex
from headgate.domain.scheduling.partition.requeue_hints import (
    RequeueScope,
    admission_changed,
    requeue_scope,
    scope_reaching_all,
)
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology, build_host_table
from headgate.domain.scheduling.placement.host_table import (
    PROJECTED,
    HostTable,
    free_capacity,
    usable_node,
)
from headgate.domain.scheduling.queueing.pending_entry import (
    is_admission_candidate,
    is_unadmitted,
    pending_entry,
    preemption_enabled,
    reserves_quota_while_pending,
)
from headgate.domain.scheduling.queueing.queue_checks import (
    QueueCheckFailure,
    check_cluster_queue,
    effective_spec,
    local_queue_of,
    orphaned_workloads,
)
from headgate.domain.scheduling.quota.tree import QuotaTree, build_tree
from headgate.domain.scheduling.quota.usage import QuotaUsage, is_within_nominal
from headgate.domain.values.instants import Instant, Timers
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload

UnschedulableKey: TypeAlias = tuple[str, tuple[str, ...], ClassParts]
"""A ClusterQueue, the names of the pod sets, and all else that decides whether they fit."""


class Partition:
    """Queues, usage and hosts that are scheduled together; the fold of one partition.

    `charges` is what each admission takes, `usage` its sums in each view. `ranks` returns for a
    ClusterQueue the ranks of its LocalQueues as of the last cycle. `leases` is when nodes fall
    silent, kept by the partition `installation` alone. `inadmissible_requeue_cycle` counts the
    requeues, so that a cycle notices one that came while it evaluated (Kueue:
    `queueInadmissibleCycle`). `unschedulable` caches why workloads would not be admitted
    on the emptied cluster; None if they would. `budgets` are those of all partitions.
    """

    def __init__(
        self,
        key: str,
        config: ObjectSet,
        cluster_queues: Iterable[str],
        quarantined: Mapping[str, Message],
        budgets: BudgetIndex | None = None,
    ) -> None:
        self.key = key
        self.config = config
        self.quarantined = quarantined
        self.budgets = BudgetIndex({}) if budgets is None else budgets
        self.stops: list[tuple[Instant, str]] = []
        self.cluster_queues = tuple(sorted(cluster_queues))
        self.tree: QuotaTree = build_tree(config, self.cluster_queues)
        self.specs = {name: effective_spec(config, name) for name in self.cluster_queues}
        declared = declared_capabilities(config, self.specs.values())
        self.offers = {
            name: flavor_options(config, spec, declared) for name, spec in self.specs.items()
        }
        self.queue_failures: dict[str, QueueCheckFailure | None] = {
            name: check_cluster_queue(config, name) for name in self.cluster_queues
        }
        self.orphaned = orphaned_workloads(config)
        self._marked: dict[str, None] = {}
        self.pending = {
            name: PendingQueue(
                strict=spec.queueing_strategy == "StrictFIFO", name=name, marked=self._marked
            )
            for name, spec in self.specs.items()
        }
        self._requeue_rules = {
            name: (self.pending[name], scope_reaching_all(spec), preemption_enabled(spec))
            for name, spec in self.specs.items()
        }
        self.timers = Timers()
        self.leases = Timers()
        self.rounds: dict[str, Round] = {}
        self.eviction_graph = EvictionGraph()
        self._epochs: dict[str, str] = {}
        self.rate_limited_queues: dict[str, Instant] = {}
        self.hosts, self.topologies = _build_hosts(config, self.cluster_queues)
        self.charges = Charges(self.tree, self.hosts, self.topologies)
        self.usage: tuple[QuotaUsage, QuotaUsage] = self.charges.usage
        self.watch = HostWatch(config, self.hosts)
        self.ranks: Callable[[str], Ranks] = lambda _: equal_ranks
        self.minimum_runtime = MinimumRuntimeIndex(config, self.tree.path)
        self.inadmissible_requeue_cycle = 0
        self.unschedulable: dict[UnschedulableKey, Explanation | None] = {}
        self._emptied: Partition | None = None

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Index a workload of this partition that was added, changed or deleted.

        Whatever can fail is computed before anything is changed.
        """
        found = new or old
        assert found is not None, "a change has a state before or after it"
        key = found.key
        counts = new is not None and not self._is_quarantined(new)
        due = next_due_at(self.config, new) if counts and new is not None else None
        entry = self._pending_entry(new) if counts and new is not None else None
        if not is_usage_unchanged(old, new):
            self._recharge(old, new)
        elif admission_changed(old, new):
            self.minimum_runtime.replace(key, new)
        if entry is not None or is_unadmitted(old):
            self._requeue(key, old, new, entry)
        host_due = self.watch.replace(old, new)
        self.timers.set(key, _earlier(due, host_due) if counts else None)

    def replace_round(self, old: Round | None, new: Round | None) -> None:
        """Index a round that was started, changed or ended."""
        if old is not None:
            self.rounds.pop(old.id, None)
        if new is None and old is not None:
            self.eviction_graph.remove(old)
        if new is not None:
            self.eviction_graph.put(new)
        if new is not None and is_open(new):
            self.rounds[new.id] = new

    def node_changed(self, node: Configured[NodeSpec]) -> None:
        """Index a report or cordon of a node."""
        offered = free_capacity(self.hosts.node(node.name).spec)
        frees = self.hosts.node_changed(node)
        resized = offered != free_capacity(node.spec)
        if resized:
            # What fits the emptied cluster follows from it, and so which reasons are recorded.
            self.unschedulable.clear()
            if self._emptied is not None:
                self._emptied.hosts.node_changed(usable_node(node))
        is_wide = frees or resized
        self.requeue_inadmissible(RequeueScope.ALL if is_wide else RequeueScope.USAGE_INCREASE)
        self.watch.may_be_overcommitted = True
        for workload, host_due in self.watch.refresh_node(node):
            due = None
            if not self._is_quarantined(workload):
                due = _earlier(next_due_at(self.config, workload), host_due)
            self.timers.set(workload.key, due)

    def emptied(self) -> "Partition":
        """Return this partition without any workload and with all nodes usable (ADR 0036).

        Built when first read; from then on its hosts follow what nodes offer.
        """
        if self._emptied is None:
            nodes = {name: usable_node(node) for name, node in self.config.nodes.items()}
            config = msgspec.structs.replace(self.config, nodes=nodes)
            self._emptied = Partition(self.key, config, self.cluster_queues, {})
        return self._emptied

    def requeue_inadmissible(self, scope: RequeueScope = RequeueScope.ALL) -> None:
        """Requeue the inadmissible workloads in a scope (Kueue: `QueueInadmissibleWorkloads`).

        Workloads that may break an open round count as within `USAGE_INCREASE`: preemptors of at
        least the round's priority do that only for themselves.
        """
        self.inadmissible_requeue_cycle += 1
        rounds = self.rounds.values()
        weakest = min(r.preemptor_priority for r in rounds) if rounds else None
        for name in tuple(self._marked):
            queue, reaching_all, may_preempt = self._requeue_rules[name]
            if not (queue.inadmissible or queue.blocked_by):
                del self._marked[name]
                continue
            if scope >= reaching_all:
                queue.requeue_inadmissible()
            else:
                queue.requeue_on_usage_increase(weakest if may_preempt else None)
        if scope >= RequeueScope.PREEMPTING:
            self.watch.retry_unplaceable()

    def inadmissible_snapshot(self) -> dict[str, InadmissibleSnapshot]:
        """Return what each queue knows to be inadmissible, where it knows anything.

        It decides nothing (ADR 0017), but evaluated workloads may record another pending reason, so
        that a plan is repeated to the byte only with equal memory.
        """
        found = {name: queue.snapshot() for name, queue in self.pending.items()}
        nothing = InadmissibleSnapshot()
        return {name: snapshot for name, snapshot in found.items() if snapshot != nothing}

    def restore_inadmissible(self, snapshots: Mapping[str, InadmissibleSnapshot]) -> None:
        """Mark inadmissible what `inadmissible_snapshot` found in an equal state."""
        for name, snapshot in snapshots.items():
            self.pending[name].restore(snapshot)

    def is_admission_candidate(self, workload: Workload) -> bool:
        """Whether the workload is evaluated once it is the head of its queue."""
        return not self._is_quarantined(workload) and is_admission_candidate(self.config, workload)

    def epoch_of(self, cluster_queue: str) -> str:
        """Return a digest of the policies and quotas of the ClusterQueue's tree.

        An epoch is a time of unchanged policies and quotas (preemption.md §6.9).
        """
        root = self.tree.root_of(f"clusterqueue/{cluster_queue}")
        if root not in self._epochs:
            self._epochs[root] = _epoch(self.config, self.tree, root)
        return self._epochs[root]

    def _is_quarantined(self, workload: Workload) -> bool:
        return bool(self.quarantined) and f"workload/{workload.key}" in self.quarantined

    def _recharge(self, old: Workload | None, new: Workload | None) -> None:
        changes = self.charges.replace(old, new)
        for workload in (old, new):
            if workload is not None and workload.admission is not None:
                self.minimum_runtime.replace(workload.key, new)
        scope = requeue_scope(old, new)
        if scope == RequeueScope.USAGE_INCREASE and self._is_any_borrowing(changes):
            scope = RequeueScope.RECLAIMING
        if scope:
            self.requeue_inadmissible(scope)

    def _is_any_borrowing(self, changes: Iterable[ChargeChange]) -> bool:
        """Whether a charged ClusterQueue, or a cohort above it but the root, exceeds its quota."""
        return any(
            not is_within_nominal(self.tree, self.usage[PROJECTED], node, charge.amounts)
            for view, _, charge in changes
            if view == PROJECTED
            for node in self.tree.path.get(f"clusterqueue/{charge.cluster_queue}", ())[:-1]
        )

    def _pending_entry(self, new: Workload) -> PendingEntry | None:
        if not is_unadmitted(new) or new.uid in self.orphaned:
            return None
        name = self._cluster_queue_name(new)
        spec = self.specs.get(name)
        if spec is None:
            return None
        is_inactive = self.queue_failures[name] is not None
        return pending_entry(self.config, new, spec, is_inactive=is_inactive)

    def _requeue(
        self, key: str, old: Workload | None, new: Workload | None, entry: PendingEntry | None
    ) -> None:
        queue = self._queue_of(new)
        stays = old is not None and new is not None and old.spec is new.spec
        before = queue if stays else self._queue_of(old)
        if before is not None and (before is not queue or entry is None):
            before.remove(key)
        if before and old is not None and reserves_quota_while_pending(self.config, old):
            before.requeue_inadmissible()
        if queue is None or entry is None:
            return
        known = queue.entry(key)
        if known is not None and entry.is_as(known):
            return
        queue.remove(key)
        queue.add(key, entry)

    def _queue_of(self, workload: Workload | None) -> PendingQueue | None:
        return self.pending.get(self._cluster_queue_name(workload)) if workload else None

    def _cluster_queue_name(self, workload: Workload) -> str:
        local = local_queue_of(self.config, workload)
        return local.spec.cluster_queue if local else ""


def _earlier(due: Instant | None, host_due: Instant | None) -> Instant | None:
    """When a workload is due for itself or for its hosts."""
    if due is None or host_due is None:
        return host_due if due is None else due
    return min(due, host_due)


def _epoch(config: ObjectSet, tree: QuotaTree, root: str) -> str:
    parts: list[object] = [config.configuration.fair_sharing]
    for node in sorted(tree.path):
        if tree.root_of(node) != root:
            continue
        kind, _, name = node.partition("/")
        if kind == "clusterqueue":
            spec = config.cluster_queues[name].spec
            shares = (spec.fair_weight_milli, spec.preemption)
            parts.append((node, spec.cohort_name, spec.resource_groups, shares))
        elif name in config.cohorts:
            parts.append((node, config.cohorts[name].spec))
    return sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def _build_hosts(
    config: ObjectSet, cluster_queues: Iterable[str]
) -> tuple[HostTable, dict[str, FlavorTopology]]:
    """Build one table of the hosts of all flavors, and the topology of each flavor with one."""
    wanted = sorted(
        {
            flavor.name
            for name in cluster_queues
            for group in config.cluster_queues[name].spec.resource_groups
            for flavor in group.flavors
        }
    )
    pairs = [
        (flavor, config.topologies[flavor.spec.topology_name])
        for name in wanted
        if (flavor := config.resource_flavors.get(name)) is not None
        and flavor.spec.topology_name in config.topologies
    ]
    return build_host_table(pairs, (node for _, node in sorted(config.nodes.items())))
