"""All partitions of a configuration, and to which of them a changed state matters."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec, silent_at
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.lifecycle.admission_checks import awaits_unblocked_admission
from headgate.domain.scheduling.lifecycle.pods_ready import blocks_admission
from headgate.domain.scheduling.lifecycle.transitions import next_due_at
from headgate.domain.scheduling.partition.charges import is_usage_unchanged
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION, PartitionLayout
from headgate.domain.scheduling.partition.requeue_hints import RequeueScope, budget_count_changed
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of, expiring_stops
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Phase, Workload, phase_of

MAX_PENDING_INDEX_UPDATES = 1_000
"""So many workloads at most are kept waiting: whoever asks then waits some 50 ms for them."""


class PendingIndexUpdates:
    """What each changed workload was when the partitions last heard of it.

    Most workloads change several times before anybody asks, and only the last state matters then:
    what partitions keep of a workload follows from its state alone. What is remembered of one that
    waits does not, as each change of it is a reason to look again; so its changes are told one by
    one, up to the one that gives it a place, and what then changes nothing of what it takes.
    """

    def __init__(self) -> None:
        self.before: dict[str, Workload | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether the partitions should be told now."""
        return len(self.before) >= MAX_PENDING_INDEX_UPDATES

    def put(self, key: str, before: Workload | None, after: Workload | None) -> Workload | None:
        """Note a change; what the workload was before, if its change to `before` is told first."""
        first = self.before.setdefault(key, before)
        if first is None or first is before or has_quota_reservation(first):
            return None
        if (
            before is not None
            and has_quota_reservation(before)
            and is_usage_unchanged(before, after)
        ):
            return None
        self.before[key] = before
        return first

    def take(self) -> dict[str, Workload | None]:
        """All of them with what they were, to be told now."""
        taken, self.before = self.before, {}
        return taken


Counter: TypeAlias = tuple[str, str, str]
"""Namespace, LocalQueue and ClusterQueue: what counts a workload."""

Counted: TypeAlias = tuple[Phase, Counter]


class PartitionIndex:
    """The partitions, fed with every workload, round and node; and counts of phases by queue.

    `counts` has one entry for each ClusterQueue (`clusterqueue/<name>`), each LocalQueue
    (`localqueue/<ns>/<name>`) and `""` for the whole installation: phase to number of workloads.
    `blocking` names those whose pods must be ready before anyone else starts, `startable` those who
    have quota and all checks and wait for nothing else, with the partition of each.
    """

    def __init__(self, layout: PartitionLayout, quarantined: Mapping[str, str]) -> None:
        self.layout = layout
        self.config = config = layout.config
        self.keys = layout.keys
        self.of_cluster_queue = layout.of_cluster_queue
        self.counts: dict[str, dict[str, int]] = {}
        self.blocking: dict[str, None] = {}
        self.startable: dict[str, str] = {}
        self._may_block = config.configuration.block_admission
        self._tallies: dict[Counter, tuple[dict[str, int], ...]] = {}
        queues: dict[str, list[str]] = {key: [] for key in layout.keys}
        for name, key in layout.of_cluster_queue.items():
            queues[key].append(name)
        self.partitions = {
            key: Partition(key, config, names, quarantined) for key, names in queues.items()
        }
        for _, node in sorted(config.nodes.items()):
            self._watch_lease(node)
        for due, stream, cluster_queue in expiring_stops(config):
            home = self.of_cluster_queue.get(cluster_queue, INSTALLATION)
            self.partitions[home].stops.append((due, stream))

    def fill(
        self, workloads: Mapping[str, Workload], rounds: Mapping[str, Round]
    ) -> dict[str, str]:
        """Take everything there is into account; which workloads could not be, and why."""
        over, others = [], []
        for key, workload in workloads.items():
            if workload.finished_at is not None and workload.terminating_at is None:
                over.append(workload)
            else:
                others.append(key)
        refused = self._put_over(over)
        for key in sorted(others):
            try:
                self.replace_workload(None, workloads[key])
            except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
                refused[key] = f"{type(error).__name__}: {error}"
        for found in rounds.values():
            self.replace_round(None, found)
        return dict(sorted(refused.items()))

    def _put_over(self, workloads: Iterable[Workload]) -> dict[str, str]:
        """Of those who are over for good only phases count, and when they are forgotten.

        They are most of what there is, and what they have in common is worked out once.
        """
        refused: dict[str, str] = {}
        homes: dict[tuple[str, str], tuple[Partition, Counter]] = {}
        counted: dict[Counted, int] = {}
        for workload in workloads:
            try:
                door = workload.namespace, workload.spec.queue_name
                if door not in homes:
                    homes[door] = self._home_of(workload)
                partition, where = homes[door]
                ended = phase_of(workload), where
                counted[ended] = counted.get(ended, 0) + 1
                self._note_retention(partition, workload)
            except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
                refused[workload.key] = f"{type(error).__name__}: {error}"
        for ended, times in counted.items():
            self._count(ended, times)
        return refused

    def _home_of(self, workload: Workload) -> tuple[Partition, Counter]:
        """The partition of one that is over, and what counts it: its LocalQueue decides."""
        queue = cluster_queue_of(self.config, workload)
        where = (workload.namespace, workload.spec.queue_name, queue)
        return self.partitions[self.of_cluster_queue.get(queue, INSTALLATION)], where

    def _note_retention(self, partition: Partition, workload: Workload) -> None:
        if self.config.configuration.retention.after_finished_seconds is None:
            return
        if f"workload/{workload.key}" not in partition.quarantined:
            partition.timers.set(workload.key, next_due_at(self.config, workload))

    def key_of(self, workload: Workload) -> str:
        """The partition that looks after a workload; INSTALLATION where it has no queue."""
        return self.layout.key_of(workload)

    def replace_workload(self, old: Workload | None, new: Workload | None) -> None:
        """A workload came, changed or went."""
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
        self._charge_strays(old, new)
        if self._may_block:
            self._block(old, new)
        if self.config.disruption_budgets and budget_count_changed(old, new):
            self.requeue_inadmissible(RequeueScope.PREEMPTING)

    def _queues_of(self, old: Workload | None, new: Workload | None) -> tuple[str, str]:
        """The ClusterQueues of both; most facts leave a workload in its own."""
        before = cluster_queue_of(self.config, old) if old is not None else ""
        if old is not None and new is not None and _stays(old, new):
            return before, before
        return before, cluster_queue_of(self.config, new) if new is not None else ""

    def replace_round(self, old: Round | None, new: Round | None) -> None:
        """A round began, went on or ended."""
        found = new or old
        if found is not None:
            key = self.of_cluster_queue.get(found.cluster_queue, INSTALLATION)
            self.partitions[key].replace_round(old, new)

    def node_changed(self, node: Configured[NodeSpec]) -> bool:
        """A node reported or was cordoned; false if that needs everything built anew."""
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
        """Look again everywhere at those of the stirred who were known not to fit."""
        for partition in self.partitions.values():
            partition.requeue_inadmissible(scope)
            partition.watch.may_be_overcommitted |= scope == RequeueScope.ALL

    def _recount(self, before: Counted | None, after: Counted | None) -> None:
        """Most facts change nothing of what is counted."""
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
        """The counts that one LocalQueue and ClusterQueue go into."""
        namespace, local_queue, queue = where
        names = ("", f"localqueue/{namespace}/{local_queue}", f"clusterqueue/{queue}")
        self._tallies[where] = found = tuple(self.counts.setdefault(name, {}) for name in names)
        return found

    def _block(self, old: Workload | None, new: Workload | None) -> None:
        """Once nobody's pods are waited for any more, all are looked at again."""
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

    def _charge_strays(self, old: Workload | None, new: Workload | None) -> None:
        """Pods of a workload whose ClusterQueue is gone still stand on hosts: count them there."""
        for workload, view_change in ((old, "give_back"), (new, "take")):
            if (
                workload is None
                or workload.admission is None
                or not has_quota_reservation(workload)
            ):
                continue
            if workload.admission.cluster_queue in self.of_cluster_queue:
                continue
            for partition in self._others():
                charge = partition.charges.charge_of(workload, workload.admission)
                for view in (0, 1):
                    getattr(partition, view_change)(view, charge)

    def _others(self) -> Iterable[Partition]:
        return (p for key, p in self.partitions.items() if key != INSTALLATION)


def _stays(old: Workload, new: Workload) -> bool:
    """Whether nothing has changed that says in which ClusterQueue it is."""
    return (
        old.spec is new.spec
        and old.admission is new.admission
        and old.finished_at == new.finished_at
        and old.namespace == new.namespace
    )


def _counted(workload: Workload | None, cluster_queue: str) -> Counted | None:
    """Its phase, and what counts it."""
    if workload is None:
        return None
    where = (workload.namespace, workload.spec.queue_name, cluster_queue)
    return phase_of(workload), where
