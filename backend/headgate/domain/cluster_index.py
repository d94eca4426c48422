"""The index of a cluster state: its partitions, built when first read and updated from then on."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.partition.charges import is_usage_unchanged
from headgate.domain.scheduling.partition.partition_index import PartitionIndex
from headgate.domain.scheduling.partition.partition_layout import PartitionLayout, partition_layout
from headgate.domain.streams import workload_stream
from headgate.domain.values.message import Message, error_message
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload

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
        rounds: Mapping[str, Round],
        quarantined: MutableMapping[str, Message],
    ) -> None:
        self._config = config
        self._workloads = workloads
        self._rounds = rounds
        self._quarantined = quarantined
        self._layout: PartitionLayout | None = None
        self._partitions: PartitionIndex | None = None
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
            self._flush()
        for _ in self.build():
            pass
        assert self._partitions is not None
        return self._partitions

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for key, before in pending.items():
            after = self._workloads.get(key)
            if before is not after:
                self._update("workload", key, before, after)

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
        if self._partitions is None or before is after or _is_same_executor(kind, before, after):
            return
        if kind == "workload":
            self._postpone(key, before, after)
            return
        if kind == "node" or is_assumed:
            self.partitions()
        self._update(kind, key, before, after)

    def _postpone(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """Keep what the workload was when it was indexed last.

        What partitions keep of a workload follows from its state, but what they know to be
        inadmissible does not, as each change of a pending workload may requeue it. So the changes
        of a pending workload are indexed one by one, up to its reservation of quota and to events
        that then change nothing of its charges.
        """
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
        failed = yield from built.fill(self._workloads, self._rounds)
        self._partitions = built
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


def _is_same_executor(kind: str, before: Any, after: Any) -> bool:  # noqa: ANN401 - same
    """Whether an Executor changed in its status alone, of which partitions read capabilities."""
    if kind != "executor" or before is None or after is None:
        return False
    if set(before.spec.capabilities) != set(after.spec.capabilities):
        return False
    return bool(before.generation == after.generation and before.labels is after.labels)
