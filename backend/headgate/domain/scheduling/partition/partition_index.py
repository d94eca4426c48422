"""The index of a cluster state: its partitions, built when first read and updated from then on.

Each changed state is passed to its partition, and phases are counted by queue.
"""

from collections.abc import Generator, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import is_status_change
from headgate.domain.nodes.state import NodeSpec, silent_at
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.lifecycle.admission_checks import awaits_unblocked_admission
from headgate.domain.scheduling.lifecycle.pods_ready import blocks_admission
from headgate.domain.scheduling.partition.budget_status import BudgetIndex
from headgate.domain.scheduling.partition.charges import is_usage_unchanged
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_layout import (
    INSTALLATION,
    PartitionLayout,
    partition_layout,
)
from headgate.domain.scheduling.partition.requeue_hints import RequeueScope, budget_count_changed
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of, expiring_stops
from headgate.domain.values.message import Message, error_message
from headgate.domain.workloads.ended import EndChange, EndCounts, has_ended
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Phase, Workload, phase_of

Counter: TypeAlias = tuple[str, str, str]
"""The namespace, LocalQueue and ClusterQueue that count a workload."""

Counted: TypeAlias = tuple[Phase, Counter]


class PartitionIndex:
    """All partitions, kept up to date with every workload, round and node; phase counts by queue.

    `counts` has one entry for each ClusterQueue (`clusterqueue/<name>`), each LocalQueue
    (`localqueue/<ns>/<name>`) and `""` for the whole installation: phase to number of workloads.
    `blocking` names the workloads that must have ready pods before any other is admitted,
    `startable` those that have quota and all checks and wait for nothing else, with the partition
    of each.
    """

    def __init__(self, layout: PartitionLayout, quarantined: Mapping[str, Message]) -> None:
        self.layout = layout
        self.config = config = layout.config
        self.keys = layout.keys
        self.of_cluster_queue = layout.of_cluster_queue
        self.counts: dict[str, dict[str, int]] = {}
        self.blocking: dict[str, None] = {}
        self.startable: dict[str, str] = {}
        self._may_block = config.configuration.block_admission
        self._tallies: dict[Counter, tuple[dict[str, int], ...]] = {}
        self.budgets = BudgetIndex(config.disruption_budgets)
        queues: dict[str, list[str]] = {key: [] for key in layout.keys}
        for name, key in layout.of_cluster_queue.items():
            queues[key].append(name)
        self.partitions = {
            key: Partition(key, config, names, quarantined, self.budgets)
            for key, names in queues.items()
        }
        for _, node in sorted(config.nodes.items()):
            self._watch_lease(node)
        for due, stream, cluster_queue in expiring_stops(config):
            home = self.of_cluster_queue.get(cluster_queue, INSTALLATION)
            self.partitions[home].stops.append((due, stream))

    def fill(
        self,
        workloads: Mapping[str, Workload],
        ended: EndCounts,
        rounds: Mapping[str, Round],
    ) -> Generator[None, None, dict[str, Message]]:
        """Index all workloads and rounds; return the workloads that failed, with the reason.

        It yields after each workload that has not ended.
        """
        failed: dict[str, Message] = {}
        for local_queue, phases in ended.items():
            for phase, number in phases.items():
                self.count_ended(EndChange(local_queue, phase, number))
        for key in sorted(key for key, found in workloads.items() if not has_ended(found)):
            try:
                self.replace_workload(None, workloads[key])
            except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
                failed[key] = error_message(error)
            yield
        for found in rounds.values():
            self.replace_round(None, found)
        return dict(sorted(failed.items()))

    def count_ended(self, change: EndChange) -> None:
        """Count ended workloads, which their LocalQueue counts and the ClusterQueue it leads to."""
        namespace, _, name = change.local_queue.partition("/")
        local = self.config.local_queues.get(change.local_queue)
        where = (namespace, name, local.spec.cluster_queue if local else "")
        self._count((change.phase, where), change.number)

    def key_of(self, workload: Workload) -> str:
        """Return the partition that schedules a workload; INSTALLATION where it has no queue."""
        return self.layout.key_of(workload)

    def replace_workload(self, old: Workload | None, new: Workload | None) -> None:
        """Index a workload that was added, changed or deleted."""
        if self.config.disruption_budgets:
            self.budgets.replace(old, new)
        queues = self._queues_of(old, new)
        before = None if old is None else self.of_cluster_queue.get(queues[0], INSTALLATION)
        after = None if new is None else self.of_cluster_queue.get(queues[1], INSTALLATION)
        if before is not None and before == after:
            self.partitions[before].replace(old, new)
        else:
            if before is not None:
                self.partitions[before].replace(old, None)
            if after is not None:
                self.partitions[after].replace(None, new)
        self._recount(_counted(old, queues[0]), _counted(new, queues[1]))
        if self._may_block:
            self._block(old, new)
        if self.config.disruption_budgets and budget_count_changed(old, new):
            self.requeue_inadmissible(RequeueScope.PREEMPTING)

    def _queues_of(self, old: Workload | None, new: Workload | None) -> tuple[str, str]:
        """The ClusterQueue of either state; most events leave a workload in its own."""
        before = cluster_queue_of(self.config, old) if old is not None else ""
        if old is not None and new is not None and _stays(old, new):
            return before, before
        return before, cluster_queue_of(self.config, new) if new is not None else ""

    def replace_round(self, old: Round | None, new: Round | None) -> None:
        """Index a round that was started, changed or ended."""
        found = new or old
        if found is not None:
            key = self.of_cluster_queue.get(found.cluster_queue, INSTALLATION)
            self.partitions[key].replace_round(old, new)

    def node_changed(self, node: Configured[NodeSpec]) -> bool:
        """Index a report or cordon; false if the partitions must be built again for it."""
        self._watch_lease(node)
        touched = [p for p in self.partitions.values() if node.name in p.hosts.node_names()]
        if not all(partition.hosts.has_resources_of(node) for partition in touched):
            return False
        for partition in touched:
            partition.node_changed(node)
        return True

    def _watch_lease(self, node: Configured[NodeSpec]) -> None:
        self.partitions[INSTALLATION].leases.set(node.name, silent_at(node.spec))

    def requeue_inadmissible(self, scope: RequeueScope = RequeueScope.ALL) -> None:
        """Requeue the inadmissible workloads in a scope in all partitions."""
        for partition in self.partitions.values():
            partition.requeue_inadmissible(scope)
            partition.watch.may_be_overcommitted |= scope == RequeueScope.ALL

    def _recount(self, before: Counted | None, after: Counted | None) -> None:
        """Count a change of phase or queue; most events change neither."""
        if before == after:
            return
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, +1)

    def _count(self, counted: Counted, change: int) -> None:
        phase, where = counted
        for counts in self._tallies.get(where) or self._tally(where):
            now = counts.get(phase, 0) + change
            if now:
                counts[phase] = now
            else:
                del counts[phase]

    def _tally(self, where: Counter) -> tuple[dict[str, int], ...]:
        """The counts of a LocalQueue, its ClusterQueue and the installation."""
        namespace, local_queue, queue = where
        names = ("", f"localqueue/{namespace}/{local_queue}", f"clusterqueue/{queue}")
        self._tallies[where] = found = tuple(self.counts.setdefault(name, {}) for name in names)
        return found

    def _block(self, old: Workload | None, new: Workload | None) -> None:
        """Note which workloads block admission; requeue all once none does (waitForPodsReady)."""
        if new is not None and awaits_unblocked_admission(self.config, new):
            self.startable[new.key] = self.key_of(new)
        elif old is not None:
            self.startable.pop(old.key, None)
        if new is not None and blocks_admission(self.config, new):
            self.blocking[new.key] = None
        elif old is not None and old.key in self.blocking:
            del self.blocking[old.key]
            if not self.blocking:
                self.requeue_inadmissible()


def _stays(old: Workload, new: Workload) -> bool:
    """Whether nothing has changed that decides the ClusterQueue."""
    return (
        old.spec is new.spec
        and old.admission is new.admission
        and old.finished_at == new.finished_at
        and old.namespace == new.namespace
    )


def _counted(workload: Workload | None, cluster_queue: str) -> Counted | None:
    """The phase and counter of a workload; those that have ended are counted by their numbers."""
    if workload is None or (workload.finished_at is not None and has_ended(workload)):
        return None
    where = (workload.namespace, workload.spec.queue_name, cluster_queue)
    return phase_of(workload), where


MAX_PENDING_UPDATES = 1_000
"""The limit of pending index updates; indexing that many workloads takes about 50 ms."""


class ClusterIndex:
    """Everything that follows from the states of a cluster and is not folded itself.

    Updates of workloads are pending until the index is read (`partitions`): most workloads change
    several times before, and only the last state matters. What fails to be indexed is quarantined
    with the reason, and the partitions are built without it.
    """

    def __init__(
        self,
        config: ObjectSet,
        workloads: Mapping[str, Workload],
        ended: EndCounts,
        rounds: Mapping[str, Round],
        quarantined: MutableMapping[str, Message],
    ) -> None:
        self._config = config
        self._workloads = workloads
        self._ended = ended
        self._rounds = rounds
        self._quarantined = quarantined
        self._layout: PartitionLayout | None = None
        self._partitions: PartitionIndex | None = None
        self._configured: PartitionIndex | None = None
        self._pending: dict[str, Workload | None] = {}

    @property
    def layout(self) -> PartitionLayout:
        """The partitions of the configuration; read without building them."""
        if self._partitions is not None:
            return self._partitions.layout
        self._layout = self._layout or partition_layout(self._config)
        return self._layout

    def partitions(self) -> PartitionIndex:
        """Index the pending updates and return all partitions; every reader comes through here."""
        if self._pending:
            pending, self._pending = self._pending, {}
            for key, before in pending.items():
                after = self._workloads.get(key)
                if before is not after:
                    self._update("workload", key, before, after)
        if self._partitions is None:
            for _ in self.build():
                pass
        assert self._partitions is not None
        return self._partitions

    def configured_partition(self, key: str) -> Partition:
        """One partition as configuration and nodes make it; its workloads need not be indexed.

        Reading it often does not cause the workloads that change meanwhile to be indexed.
        """
        known = self._partitions or self._configured
        if known is None:
            known = self._configured = PartitionIndex(self.layout, self._quarantined)
        return known.partitions[key]

    def settle(self, key: str) -> None:
        """Index the pending update of a workload, if it has one."""
        if key not in self._pending:
            return
        before, after = self._pending.pop(key), self._workloads.get(key)
        if before is not after:
            self._update("workload", key, before, after)

    def count_ended(self, change: EndChange) -> None:
        """Count ended workloads, if partitions are built."""
        if self._partitions is not None:
            self._partitions.count_ended(change)

    def forget_layout(self) -> None:
        """Compute the layout again when it is read next, as the configuration has changed."""
        self._layout = None

    def forget_partitions(self) -> None:
        """Build the partitions again when they are read next."""
        self._partitions = None

    def requeue_inadmissible(self) -> None:
        """Requeue all inadmissible workloads, if partitions are built."""
        if self._partitions is not None:
            self.partitions().requeue_inadmissible()

    def replace(self, kind: str, key: str, before: Any, after: Any, *, is_assumed: bool) -> None:  # noqa: ANN401 - the state of any kind
        """Index a changed object: workloads when the index is read, everything else at once."""
        if kind == "workload":
            self.replace_workload(key, before, after)
            return
        if before is after or kind == "prediction":
            return
        if kind == "executor" and is_status_change(before, after):
            return
        if self._configured is not None and kind != "round":
            try:
                is_followed = self._node_reported(self._configured, kind, key, before)
            except Exception:  # noqa: BLE001 - as in `_update`: it is built again when read next
                is_followed = False
            self._configured = self._configured if is_followed else None
        if self._partitions is None:
            return
        if kind == "node" or is_assumed:
            self.partitions()
        self._update(kind, key, before, after)

    def replace_workload(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """Note a changed workload, and what it was when it was indexed last.

        What partitions keep of a workload follows from its state, but what they know to be
        inadmissible does not, as each change of a pending workload may requeue it. So the changes
        of a pending workload are indexed one by one, up to its reservation of quota and to events
        that then change nothing of its charges.
        """
        if before is after or self._partitions is None:
            return
        first = self._pending.setdefault(key, before)
        is_pending = first is not None and first is not before and not has_quota_reservation(first)
        if is_pending and not (
            before is not None
            and has_quota_reservation(before)
            and is_usage_unchanged(before, after)
        ):
            self._pending[key] = before
            self._update("workload", key, first, before)
        if len(self._pending) >= MAX_PENDING_UPDATES:
            self.partitions()

    def build(self) -> Iterator[None]:
        """Build the partitions if there are none, in steps between which nothing may change."""
        if self._partitions is not None:
            return
        self._pending = {}
        built = PartitionIndex(self.layout, self._quarantined)
        failed = yield from built.fill(self._workloads, self._ended, self._rounds)
        self._partitions, self._configured = built, None
        for key, reason in failed.items():
            self._quarantined[workload_stream(key)] = reason

    def _update(self, kind: str, key: str, before: Any, after: Any) -> None:  # noqa: ANN401 - same
        partitions = self._partitions
        if partitions is None:
            return
        try:
            if kind == "workload":
                partitions.replace_workload(before, after)
            elif kind == "round":
                partitions.replace_round(before, after)
            elif not self._node_reported(partitions, kind, key, before):
                self._partitions = None
        except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
            self._quarantined[f"{kind}/{key}"] = error_message(error)
            self._partitions = None

    def _node_reported(self, partitions: PartitionIndex, kind: str, key: str, before: Any) -> bool:  # noqa: ANN401 - same
        """Index a node with unchanged labels, taints and executor; false for any other change."""
        node = self._config.nodes.get(key) if kind == "node" else None
        if node is None or before is None:
            return False
        is_same = (node.labels, node.spec.taints) == (before.labels, before.spec.taints)
        is_same = is_same and node.spec.executor == before.spec.executor
        return is_same and partitions.node_changed(node)
