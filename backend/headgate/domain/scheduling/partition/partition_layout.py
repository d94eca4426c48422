"""Which ClusterQueues must be scheduled together, and the name of each such partition.

ClusterQueues share a partition if they share a cohort tree or if topology-aware flavors of theirs
share hosts, directly or by others (ADR 0002). A fold may keep the workloads of some partitions only
(ADR 0067).
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from headgate.domain.kinds.cluster_queue import ClusterQueueDeleted
from headgate.domain.kinds.local_queue import LocalQueueDeleted
from headgate.domain.kinds.resource_flavor import node_is_of_flavor
from headgate.domain.object_set import ObjectSet, terminating_objects
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, kind_and_key
from headgate.domain.rounds.state import Round, RoundCommitted, named_while_open
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of, local_queue_of
from headgate.domain.scheduling.quota.tree import root_cohort
from headgate.domain.workloads.events import (
    WorkloadImported,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import replaced_key
from headgate.domain.workloads.state import Workload

INSTALLATION = "installation"
"""The partition that always exists and reconciles what belongs to no queue."""


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """The partitions of a configuration, and the ClusterQueues of each.

    `has_terminating`: an object is being deleted and waits until nothing refers to it.
    `of_budgeted_namespace`: the partitions in which a DisruptionBudget of the namespace may select
    victims, for each namespace that has one.
    """

    config: ObjectSet
    keys: tuple[str, ...]
    of_cluster_queue: dict[str, str]
    has_terminating: bool
    of_budgeted_namespace: dict[str, tuple[str, ...]]

    def key_of(self, workload: Workload) -> str:
        """Return the partition that schedules a workload; INSTALLATION where it has no queue."""
        return self.of_cluster_queue.get(cluster_queue_of(self.config, workload), INSTALLATION)

    def queued_key_of(self, workload: Workload) -> str:
        """Return the partition that schedules a workload; empty where it has no queue."""
        return self.of_cluster_queue.get(cluster_queue_of(self.config, workload), "")


def partition_layout(config: ObjectSet) -> PartitionLayout:
    """Return the connected components of the ClusterQueues, named by their smallest member."""
    leaders: dict[str, str] = {}
    for name, queue in sorted(config.cluster_queues.items()):
        me = f"clusterqueue/{name}"
        if queue.spec.cohort_name:
            _join(leaders, me, f"cohort/{root_cohort(config, queue.spec.cohort_name)}")
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                if _is_topology_aware(config, flavor.name):
                    _join(leaders, me, f"~flavor/{flavor.name}")
    _join_flavors_sharing_hosts(config, leaders)
    return _layout(config, leaders)


def _layout(config: ObjectSet, leaders: dict[str, str]) -> PartitionLayout:
    members: dict[str, list[str]] = {}
    for name in sorted({*leaders, *(f"clusterqueue/{n}" for n in config.cluster_queues)}):
        members.setdefault(_leader(leaders, name), []).append(name)
    of_cluster_queue = {
        member.removeprefix("clusterqueue/"): _key(group)
        for group in members.values()
        for member in group
        if member.startswith("clusterqueue/")
    }
    keys = sorted({*of_cluster_queue.values(), INSTALLATION})
    return PartitionLayout(
        config=config,
        keys=tuple(keys),
        of_cluster_queue=dict(sorted(of_cluster_queue.items())),
        has_terminating=bool(terminating_objects(config)),
        of_budgeted_namespace=_of_budgeted_namespace(config, of_cluster_queue),
    )


def _of_budgeted_namespace(
    config: ObjectSet, of_cluster_queue: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    """The partitions that LocalQueues of each namespace with a budget lead to.

    A LocalQueue never changes its ClusterQueue, and stays while a workload refers to it.
    """
    found: dict[str, dict[str, None]] = {
        budget.namespace: {} for _, budget in sorted(config.disruption_budgets.items())
    }
    if not found:
        return {}
    for _, local in sorted(config.local_queues.items()):
        key = of_cluster_queue.get(local.spec.cluster_queue)
        if key is not None and local.namespace in found:
            found[local.namespace][key] = None
    return {namespace: tuple(sorted(keys)) for namespace, keys in found.items()}


def _key(members: list[str]) -> str:
    cohorts = [name for name in members if name.startswith("cohort/")]
    return min(cohorts or [name for name in members if name.startswith("clusterqueue/")])


def _is_topology_aware(config: ObjectSet, flavor: str) -> bool:
    found = config.resource_flavors.get(flavor)
    return found is not None and bool(found.spec.topology_name)


def _join_flavors_sharing_hosts(config: ObjectSet, leaders: dict[str, str]) -> None:
    flavors = [
        (f"~flavor/{name}", flavor.spec)
        for name, flavor in sorted(config.resource_flavors.items())
        if f"~flavor/{name}" in leaders
    ]
    for _, node in sorted(config.nodes.items()):
        on_it = [me for me, spec in flavors if node_is_of_flavor(node.labels, spec)]
        for other in on_it[1:]:
            _join(leaders, on_it[0], other)


def _leader(leaders: dict[str, str], name: str) -> str:
    while (above := leaders.get(name, name)) != name:
        leaders[name] = leaders.get(above, above)
        name = above
    return name


def _join(leaders: dict[str, str], left: str, right: str) -> None:
    for name in (left, right):
        leaders.setdefault(name, name)
    first, second = sorted((_leader(leaders, left), _leader(leaders, right)))
    leaders[second] = first


class HasLayout(Protocol):
    """What knows the layout of the present configuration."""

    @property
    def layout(self) -> PartitionLayout:
        """The partitions of the present configuration."""


ENTERING_TYPES = ("workload.submitted", "workload.imported", "workload.spec_changed")
"""Events after which another partition may schedule a workload than before."""


class Scope:
    """Of which workloads a fold keeps the states that schedules some partitions only.

    Kept are the workloads that a LocalQueue leads to these partitions or that have quota there,
    and all that no ClusterQueue schedules; everything else of the log is folded whole. The fold
    goes through every position, so that it lacks nothing but what `takes` or `keeps` refused: the
    queues of that are noted, and `lacks` tells when one of them is to be scheduled here, so that
    the fold must be loaded again.
    """

    def __init__(self, partitions: frozenset[str]) -> None:
        self.partitions = partitions
        self._local_queues: set[str] = set()
        self._cluster_queues: set[str] = set()
        self._namespaces: set[str] = set()
        self._imported_to: set[str] = set()
        self._is_lost = False
        self._seen: tuple[object, ...] = ()
        self._lacks = False

    def is_enough(self, layout: PartitionLayout) -> bool:
        """Whether no decision on these partitions looks at workloads of others.

        It does in `installation`, where admission is blocked until pods are ready, and below a
        DisruptionBudget that several partitions share, by LocalQueues or by imports.
        """
        return (
            INSTALLATION not in self.partitions
            and not layout.config.configuration.block_admission
            and all(len(keys) <= 1 for keys in layout.of_budgeted_namespace.values())
            and self._imported_to.isdisjoint(layout.of_budgeted_namespace)
        )

    def keeps(self, layout: PartitionLayout, workload: Workload) -> bool:
        """Whether the fold keeps a workload; the queues of one that it does not are noted."""
        local = local_queue_of(layout.config, workload)
        queues = [local.spec.cluster_queue if local else ""]
        if workload.admission is not None and workload.finished_at is None:
            queues.append(workload.admission.cluster_queue)
        if any(self._is_here(layout, queue) for queue in queues):
            if not self._is_here(layout, queues[0]):
                self._imported_to.add(workload.namespace)
            return True
        self._local_queues.add(workload.local_queue_key)
        self._cluster_queues.update(queues)
        self._namespaces.add(workload.namespace)
        return False

    def named_by(self, rounds: Iterable[Round], layout: PartitionLayout) -> set[str]:
        """The workloads that decisions look at for rounds, wherever they are queued by now.

        An open one waits for them; an ended one of these partitions may forbid the next eviction.
        """
        found: set[str] = set()
        for each in rounds:
            found.update(named_while_open(each))
            if self._is_here(layout, each.cluster_queue):
                found |= {each.preemptor, each.taken_by, *(v.workload for v in each.victims)}
        return found

    def takes(self, recorded: RecordedEvent, held: Container[str], known: HasLayout) -> bool:
        """Whether to fold an event; `held` are the workloads of the fold."""
        (kind, key), event = kind_and_key(recorded.stream), recorded.event
        if kind == "workload":
            if key not in held and not self._enters(key, event, known):
                return False
            if isinstance(event, WorkloadSubmitted | WorkloadSpecChanged) and event.annotations:
                self._look_at((replaced_key(event.annotations),), held)
        elif isinstance(event, RoundCommitted):
            if known.layout.of_cluster_queue.get(event.cluster_queue) in self.partitions:
                self._look_at((event.preemptor, *(each.workload for each in event.victims)), held)
        elif isinstance(event, LocalQueueDeleted):
            self._is_lost |= key in self._local_queues
        elif isinstance(event, ClusterQueueDeleted):
            self._is_lost |= key in self._cluster_queues
        return True

    def reader(self, held: Container[str]) -> Callable[[str, str], bool]:
        """What tells by stream and type which of the next events, in order, need to be decoded."""
        entered: set[str] = set()

        def is_needed(stream: str, event_type: str) -> bool:
            kind, key = kind_and_key(stream)
            if kind != "workload":
                return True
            if event_type in ENTERING_TYPES:
                entered.add(key)
            return key in entered or key in held

        return is_needed

    def lacks(self, layout: PartitionLayout) -> bool:
        """Whether a workload that is not kept may be scheduled here by now, or matters here."""
        seen = (layout, len(self._local_queues), len(self._cluster_queues), self._is_lost)
        if not self._seen or self._seen[0] is not layout or self._seen[1:] != seen[1:]:
            self._seen = seen
            self._lacks = (
                self._is_lost
                or not self.is_enough(layout)
                or any(self._is_here(layout, queue) for queue in self._cluster_queues)
                or any(self._leads_here(layout, local) for local in self._local_queues)
            )
        return self._lacks

    def follows(self, partitions: frozenset[str], layout: PartitionLayout) -> bool:
        """Keep the workloads of these partitions from now on; false if the fold must be loaded.

        It must where one of them had other workloads before, and where one is given up.
        """
        given_up = self.partitions.difference(partitions).intersection(layout.keys)
        self.partitions, self._seen = partitions, ()
        return not given_up and not self.lacks(layout)

    def _enters(self, key: str, event: DomainEvent, known: HasLayout) -> bool:
        """Whether a workload that is not held comes to the fold with an event."""
        namespace, _, name = key.partition("/")
        if isinstance(event, WorkloadSubmitted):
            submitted = Workload(
                uid=event.uid, namespace=namespace, name=name, created_at=0, spec=event.spec
            )
            return self.keeps(known.layout, submitted)
        if isinstance(event, WorkloadSpecChanged):
            # Its state was not folded: it has to be loaded.
            changed = Workload(
                uid="", namespace=namespace, name=name, created_at=0, spec=event.spec
            )
            self._is_lost |= self.keeps(known.layout, changed)
        elif isinstance(event, WorkloadImported) and event.cluster_queue:
            self._cluster_queues.add(event.cluster_queue)
        return False

    def _look_at(self, keys: Collection[str], held: Container[str]) -> None:
        """Note workloads that a decision looks at, of which one may not have been kept."""
        self._is_lost |= any(
            key not in held and key.partition("/")[0] in self._namespaces for key in keys
        )

    def _leads_here(self, layout: PartitionLayout, local_queue: str) -> bool:
        found = layout.config.local_queues.get(local_queue)
        return self._is_here(layout, found.spec.cluster_queue if found else "")

    def _is_here(self, layout: PartitionLayout, cluster_queue: str) -> bool:
        home = layout.of_cluster_queue.get(cluster_queue, INSTALLATION)
        return home == INSTALLATION or home in self.partitions


def shared_out(
    partitions: Collection[str], owners: Mapping[str, str], workers: Collection[str]
) -> dict[str, frozenset[str]]:
    """Returns the partitions of each worker, of which there is one at least; about equally many.

    A partition stays with the worker that had it last. What has none goes to the worker with the
    fewest, and so do partitions of one that has more than one more than another. `INSTALLATION`
    counts for nothing, as no workload is scheduled there: of two others each worker gets one.
    """
    held: dict[str, list[str]] = {worker: [] for worker in sorted(workers)}
    left: list[str] = []
    for key in sorted(partitions, key=lambda each: (each != INSTALLATION, each)):
        held.get(owners.get(key, ""), left).append(key)

    def counted(keys: list[str]) -> int:
        return len(keys) - (INSTALLATION in keys)

    def fewest() -> list[str]:
        return min(held.values(), key=counted)

    for key in left:
        fewest().append(key)
    while counted(most := max(held.values(), key=counted)) > counted(fewest()) + 1:
        moved = next(key for key in reversed(most) if key != INSTALLATION)
        most.remove(moved)
        fewest().append(moved)
    return {worker: frozenset(keys) for worker, keys in held.items()}
