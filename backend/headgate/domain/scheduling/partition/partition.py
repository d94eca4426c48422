"""The fold a cycle works on: what everyone takes, who waits in which line, and what is due.

Everything is kept up to date workload by workload with `replace`, whose undo is the opposite
`replace`; only a change of configuration builds a partition anew. What is taken, in two views,
stands in `charges.py`; here is who waits, until when, and whom a change lets be looked at again.
"""

import msgspec
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from hashlib import sha256
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round
from headgate.domain.rounds.state import is_open
from headgate.domain.scheduling.flavors.eligibility import flavor_options
from headgate.domain.scheduling.lifecycle.host_watch import HostWatch
from headgate.domain.scheduling.lifecycle.timers import Timers
from headgate.domain.scheduling.lifecycle.transitions import next_due_at
from headgate.domain.scheduling.ordering.pending_queue import PendingEntry
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.ordering.pending_queue import Ranks
from headgate.domain.scheduling.ordering.pending_queue import equal_ranks
from headgate.domain.scheduling.partition.charges import Charges
from headgate.domain.scheduling.partition.charges import Move
from headgate.domain.scheduling.partition.charges import is_usage_unchanged
from headgate.domain.scheduling.partition.eviction_graph import EvictionGraph
from headgate.domain.scheduling.partition.minimum_runtime import MinimumRuntimeIndex
from headgate.domain.scheduling.partition.requeue_hints import RequeueScope
from headgate.domain.scheduling.partition.requeue_hints import admission_changed
from headgate.domain.scheduling.partition.requeue_hints import is_any_borrowing
from headgate.domain.scheduling.partition.requeue_hints import requeue_in_scope
from headgate.domain.scheduling.partition.requeue_hints import requeue_scope
from headgate.domain.scheduling.partition.requeue_hints import requeue_target
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.flavor_topology import build_host_table
from headgate.domain.scheduling.placement.host_table import HostTable
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.queueing.pending_entry import is_admission_candidate
from headgate.domain.scheduling.queueing.pending_entry import is_unadmitted
from headgate.domain.scheduling.queueing.pending_entry import pending_entry
from headgate.domain.scheduling.queueing.pending_entry import reserves_quota_while_pending
from headgate.domain.scheduling.queueing.queue_checks import QueueCheckFailure
from headgate.domain.scheduling.queueing.queue_checks import check_cluster_queue
from headgate.domain.scheduling.queueing.queue_checks import effective_spec
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.tree import build_tree
from headgate.domain.scheduling.quota.usage import QuotaUsage
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload


class Partition:
    """Queues, usage and hosts that are scheduled together; the fold of one partition.

    `charges` is what everyone takes, `usage` its sums in each view.
    `ranks` tells for a ClusterQueue how much its LocalQueues have used, since the last cycle.
    `leases` is when nodes fall silent; the installation's own partition looks after that alone.
    """

    def __init__(
        self,
        key: str,
        config: ObjectSet,
        cluster_queues: Iterable[str],
        quarantined: Mapping[str, str],
    ) -> None:
        self.key = key
        self.config = config
        self.quarantined = quarantined
        self.stops: list[tuple[Instant, str]] = []
        self.cluster_queues = tuple(sorted(cluster_queues))
        self.tree: QuotaTree = build_tree(config, self.cluster_queues)
        self.specs = {name: effective_spec(config, name) for name in self.cluster_queues}
        self.offers = {name: flavor_options(config, spec) for name, spec in self.specs.items()}
        self.queue_failures: dict[str, QueueCheckFailure | None] = {
            name: check_cluster_queue(config, name) for name in self.cluster_queues
        }
        self.pending = {
            name: PendingQueue(strict=_spec(config, name).queueing_strategy == "StrictFIFO")
            for name in self.cluster_queues
        }
        self._lines = [
            requeue_target(self.pending[name], self.specs[name]) for name in self.pending
        ]
        self.timers = Timers()
        self.leases = Timers()
        self.rounds: dict[str, Round] = {}
        self.eviction_graph = EvictionGraph()
        self._epochs: dict[str, str] = {}
        self.rate_limited_queues: dict[str, Instant] = {}
        self.hosts, self.topologies = hosts_of(config, self.cluster_queues)
        self.charges = Charges(self.tree, self.hosts, self.topologies)
        self.usage: tuple[QuotaUsage, QuotaUsage] = self.charges.usage
        self.watch = HostWatch(config, self.hosts)
        self.ranks: Callable[[str], Ranks] = lambda _: equal_ranks
        self.minimum_runtime = MinimumRuntimeIndex(config, self.tree.path)
        self.inadmissible_requeue_cycle = 0

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Take into account that a workload of this partition came, changed or went.

        Everything that could fail is worked out before anything is changed.
        """
        found = new or old
        assert found is not None, "something must have been or be there"
        key = found.key
        counts = new is not None and not self._is_aside(new)
        due = next_due_at(self.config, new) if counts and new is not None else None
        waits = self._waiting(new) if counts and new is not None else None
        if not is_usage_unchanged(old, new):
            self._recharge(old, new)
        elif admission_changed(old, new):
            self.minimum_runtime.replace(key, new)
        if waits is not None or is_unadmitted(old):
            self._requeue(key, (old, new), waits)
        host_due = self.watch.replace(old, new)
        self.timers.set(key, _earlier(due, host_due) if counts else None)

    def replace_round(self, old: Round | None, new: Round | None) -> None:
        """Take into account that a round began, went on or ended."""
        if old is not None:
            self.rounds.pop(old.id, None)
        if new is None and old is not None:
            self.eviction_graph.remove(old)
        if new is not None:
            self.eviction_graph.put(new)
        if new is not None and is_open(new):
            self.rounds[new.id] = new

    def epoch_of(self, cluster_queue: str) -> str:
        """The name of the policies and quotas that the ClusterQueue's tree stands under."""
        root = self.tree.root_of(f"clusterqueue/{cluster_queue}")
        if root not in self._epochs:
            self._epochs[root] = epoch_name(self.config, self.tree, root)
        return self._epochs[root]

    def node_changed(self, node: Configured[NodeSpec]) -> None:
        """Take a report or cordon of a node into account."""
        self.requeue_inadmissible(
            RequeueScope.ALL if self.hosts.node_changed(node) else RequeueScope.USAGE_INCREASE
        )
        self.watch.may_be_overcommitted = True
        for workload, host_due in self.watch.refresh_node(node):
            due = (
                None
                if self._is_aside(workload)
                else _earlier(next_due_at(self.config, workload), host_due)
            )
            self.timers.set(workload.key, due)

    def requeue_inadmissible(self, scope: RequeueScope = RequeueScope.ALL) -> None:
        """Look again at those of the stirred who were known not to fit.

        Who may break an open round is alert as well: the stronger do that only for their own.
        """
        self.inadmissible_requeue_cycle += 1
        rounds = self.rounds.values()
        weakest = min(r.preemptor_priority for r in rounds) if rounds else None
        requeue_in_scope(self._lines, scope, weakest)
        if scope >= RequeueScope.PREEMPTING:
            self.watch.retry_unplaceable()

    def is_admission_candidate(self, workload: Workload) -> bool:
        """Whether it is to be looked at when it is its turn."""
        return not self._is_aside(workload) and is_admission_candidate(self.config, workload)

    def _is_aside(self, workload: Workload) -> bool:
        return bool(self.quarantined) and f"workload/{workload.key}" in self.quarantined

    def _recharge(self, old: Workload | None, new: Workload | None) -> None:
        moves = self.charges.replace(old, new)
        for workload in (old, new):
            if workload is not None and workload.admission is not None:
                self.minimum_runtime.replace(workload.key, new)
        scope = requeue_scope(old, new)
        if scope == RequeueScope.USAGE_INCREASE and self._any_borrows(moves):
            scope = RequeueScope.RECLAIMING
        if scope:
            self.requeue_inadmissible(scope)

    def _any_borrows(self, moves: Iterable[Move]) -> bool:
        amounts = ((each.cluster_queue, each.amounts) for view, _, each in moves if view)
        return is_any_borrowing(self.tree, self.usage[PROJECTED], amounts)

    def _waiting(self, new: Workload) -> PendingEntry | None:
        if not is_unadmitted(new):
            return None
        name = self._cluster_queue_name(new)
        spec = self.specs.get(name)
        if spec is None:
            return None
        return pending_entry(
            self.config, new, spec, is_inactive=self.queue_failures[name] is not None
        )

    def _requeue(
        self, key: str, change: tuple[Workload | None, Workload | None], waits: PendingEntry | None
    ) -> None:
        old, new = change
        queue = self._queue_of(new)
        stays = old is not None and new is not None and old.spec is new.spec
        before = queue if stays else self._queue_of(old)
        if before is not None and (before is not queue or waits is None):
            before.remove(key)
        if (
            before is not None
            and old is not None
            and reserves_quota_while_pending(self.config, old)
        ):
            before.requeue_inadmissible()
        if queue is None or waits is None or queue.known(key) == waits:
            return
        queue.remove(key)
        queue.add(key, waits)

    def _queue_of(self, workload: Workload | None) -> PendingQueue | None:
        return self.pending.get(self._cluster_queue_name(workload)) if workload else None

    def _cluster_queue_name(self, workload: Workload) -> str:
        local = self.config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
        return local.spec.cluster_queue if local else ""


def _earlier(due: Instant | None, host_due: Instant | None) -> Instant | None:
    """When a workload is due for itself or for its hosts."""
    if due is None or host_due is None:
        return host_due if due is None else due
    return min(due, host_due)


def _spec(config: ObjectSet, cluster_queue: str) -> ClusterQueueSpec:
    return config.cluster_queues[cluster_queue].spec


def epoch_name(config: ObjectSet, tree: QuotaTree, root: str) -> str:
    """A name for the policies and quotas of one tree; another as soon as one of them changes."""
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


def hosts_of(
    config: ObjectSet, cluster_queues: Iterable[str]
) -> tuple[HostTable, dict[str, FlavorTopology]]:
    """One table of all their hosts, and the topology of each flavor that has one."""
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
