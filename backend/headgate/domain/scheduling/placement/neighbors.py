"""The pods on the hosts of a partition, and where they let other pods stand.

Kubernetes: inter-pod affinity and anti-affinity. A domain is all hosts with one value of a node
label, whatever the levels of a topology. Terms select the pods of admitted workloads by namespace
and labels of their templates; pods that Headgate does not place are not known. Only workloads with
such constraints, or beside pods that keep others away, are considered (`neighbors_of`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import msgspec
import numpy as np

from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.scheduling.placement.host_table import (
    EMPTY,
    VIEWS,
    Bools,
    HostTable,
    Ints,
    host_name,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import NamespaceLabels, PodConstraints, PodTerm, term_selects
from headgate.domain.workloads.pods.templates import pod_labels
from headgate.domain.workloads.specs import PodSet

NO_LABEL, SEVERAL_VALUES = -1, -2
NO_CONSTRAINTS = PodConstraints()

PodsByRow: TypeAlias = tuple[PodSet, Ints, Ints]
"""A pod set, rows of the host table, and its pods on each."""

SelectsPods: TypeAlias = Callable[[str, PodSet], bool]
"""Whether the pods of a pod set in a namespace are selected."""


class PlacedWorkload(msgspec.Struct, frozen=True, gc=False):
    """Pod sets of a workload with the rows, counts and requests of each."""

    pod_sets: tuple[PodSet, ...]
    pods: tuple[tuple[Ints, Ints, Requests], ...]

    def by_row(self) -> Iterator[PodsByRow]:
        """Yields each pod set with its rows."""
        for pod_set, (rows, counts, _) in zip(self.pod_sets, self.pods, strict=True):
            yield pod_set, rows, counts


class PlacedIndex:
    """The placed workloads by key for each view of the host table.

    `repelling` are those with anti-affinity; `removed` the parts of workloads, by name, that a
    search for victims counts as gone.
    """

    def __init__(self) -> None:
        self.placed: tuple[dict[str, PlacedWorkload], ...] = tuple({} for _ in VIEWS)
        self.repelling: tuple[dict[str, PlacedWorkload], ...] = tuple({} for _ in VIEWS)
        self.removed: tuple[dict[str, dict[str, PlacedWorkload]], ...] = tuple({} for _ in VIEWS)
        self._taken: dict[tuple[int, str], PlacedWorkload] = {}

    def add(self, view: int, key: str, found: PlacedWorkload) -> None:
        """Adds a workload to a view."""
        self.placed[view][key] = found
        if any(constraints_of(pod_set).anti_affinity for pod_set in found.pod_sets):
            self.repelling[view][key] = found

    def remove(self, view: int, key: str) -> None:
        """Removes a workload from a view."""
        self.placed[view].pop(key, None)
        self.repelling[view].pop(key, None)

    def take(self, view: int, key: str) -> None:
        """Counts a workload as gone until `restore`."""
        found = self.placed[view].get(key)
        if found is not None:
            self._taken[view, key] = found
            self.remove(view, key)

    def restore(self, view: int, key: str) -> None:
        """Reverts `take`: the workload is there as it was before."""
        found = self._taken.pop((view, key), None)
        if found is not None:
            self.add(view, key, found)

    def take_part(self, view: int, key: str, name: str, part: PlacedWorkload | None) -> None:
        """Counts a part of a placed workload as gone; None has it back."""
        parts = self.removed[view].setdefault(key, {})
        if part is not None:
            parts[name] = part
            return
        parts.pop(name, None)
        if not parts:
            del self.removed[view][key]

    def matter(self, pod_sets: Iterable[PodSet], views: Iterable[int]) -> bool:
        """Whether pods of these pod sets, or pods in the views, require anything of each other."""
        for view in views:
            if self.repelling[view]:
                return True
        for pod_set in pod_sets:  # noqa: SIM110 - a generator costs more than what it compares
            if pod_set.scheduling.pod_constraints is not None:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The pods around those of one workload, in all of some views.

    `beside` are pods of the workload itself that are placed already; the index is searched without
    the workload.
    """

    index: PlacedIndex
    table: HostTable
    views: tuple[int, ...]
    workload: str
    namespace_labels: NamespaceLabels
    beside: list[PodsByRow] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """The workload's namespace."""
        return self.workload.partition("/")[0]

    def with_pods(self, *pods: PodsByRow) -> "Neighbors":
        """Returns these neighbors and more pods of the workload."""
        return replace(self, beside=[*self.beside, *pods])

    def add_own(self, placed: PlacedWorkload, lost: Collection[str]) -> None:
        """Adds pods of the workload that are there, without those on lost hosts."""
        gone = [row for leaf, row in self.table.row_of.items() if leaf[-1] in lost]
        for pod_set, rows, counts in placed.by_row():
            stays = ~np.isin(rows, gone)
            self.beside.append((pod_set, rows[stays], counts[stays]))

    def counts(self, view: int, selects: SelectsPods) -> Ints:
        """Returns the selected pods on each row in a view."""
        total = np.zeros(len(self.table.leaf_ids), dtype=np.int64)
        for namespace, (pod_set, rows, counts) in self._others(view, self.index.placed[view]):
            if selects(namespace, pod_set):
                np.add.at(total, rows, counts)
        for pod_set, rows, counts in self.beside:
            if selects(self.namespace, pod_set):
                np.add.at(total, rows, counts)
        return total

    def _others(
        self, view: int, found: Mapping[str, PlacedWorkload]
    ) -> Iterator[tuple[str, PodsByRow]]:
        """Yields the pods of other workloads that are there, with their namespace."""
        removed = self.index.removed[view]
        for key, placed in found.items():
            if key == self.workload:
                continue
            namespace = key.partition("/")[0]
            for pods in placed.by_row():
                yield namespace, self._without(pods, removed[key]) if key in removed else pods

    def _without(self, pods: PodsByRow, parts: Mapping[str, PlacedWorkload]) -> PodsByRow:
        pod_set, rows, counts = pods
        left = np.zeros(len(self.table.leaf_ids), dtype=np.int64)
        np.add.at(left, rows, counts)
        for part in parts.values():
            for other, gone, number in part.by_row():
                if other.name == pod_set.name:
                    np.subtract.at(left, gone, number)
        rows = np.flatnonzero(left > 0)
        return pod_set, rows, left[rows]

    def selects(self, term: PodTerm, owner: str) -> SelectsPods:
        """Returns what a term of a pod in the namespace `owner` selects."""

        def selected(namespace: str, pod_set: PodSet) -> bool:
            labels = pod_labels(pod_set)
            return term_selects(term, owner, namespace, labels, self.namespace_labels)

        return selected

    def excluded(self, pod_set: PodSet) -> list[tuple[str, Bools]]:
        """Returns the rows that anti-affinity keeps such pods from, by topology key.

        Of the pods themselves, and of pods around them that select these (as kube-scheduler).
        """
        found = [
            (term.topology_key, self._beside_any(term.topology_key, selected))
            for term in constraints_of(pod_set).anti_affinity
            for selected in (self._present(self.selects(term, self.namespace)),)
        ]
        for namespace, (other, rows, _) in self._repelling():
            for term in constraints_of(other).anti_affinity:
                if self.selects(term, namespace)(self.namespace, pod_set):
                    present = np.zeros(len(self.table.leaf_ids), dtype=np.bool_)
                    present[rows] = True
                    found.append((term.topology_key, self._beside_any(term.topology_key, present)))
        return found

    def attracted(self, pod_set: PodSet) -> tuple[Bools | None, bool]:
        """Returns the rows that affinity leaves, None for all, and whether one domain takes all.

        The latter where no pod is selected but the pods select themselves: the first of them may
        stand anywhere. On the emptied cluster others are taken to be wherever they are needed.
        """
        terms = constraints_of(pod_set).affinity
        if not terms:
            return None, False

        def selected(namespace: str, other: PodSet) -> bool:
            return all(self.selects(term, self.namespace)(namespace, other) for term in terms)

        everywhere = [self.counts(view, selected) > 0 for view in self.views]
        labelled = np.ones(len(self.table.leaf_ids), dtype=np.bool_)
        for term in terms:
            labelled &= label_codes(self.table, term.topology_key) >= 0
        if any(present.any() for present in everywhere):
            for present in everywhere:
                for term in terms:
                    codes = label_codes(self.table, term.topology_key)
                    labelled &= np.isin(codes, codes[present & (codes >= 0)])
            return labelled, False
        if selected(self.namespace, pod_set):
            return labelled, True
        return (labelled, False) if self.views == (EMPTY,) else (np.zeros_like(labelled), False)

    def _present(self, selects: SelectsPods) -> Bools:
        """The rows with selected pods in any of the views."""
        found = np.zeros(len(self.table.leaf_ids), dtype=np.bool_)
        for view in self.views:
            found |= self.counts(view, selects) > 0
        return found

    def _beside_any(self, key: str, present: Bools) -> Bools:
        """The rows in a domain with one of the present pods; unknown domains are taken to be."""
        codes = label_codes(self.table, key)
        unknown = codes == SEVERAL_VALUES if present.any() else np.zeros_like(present)
        found: Bools = unknown | np.isin(codes, codes[present & (codes >= 0)])
        return found

    def _repelling(self) -> Iterator[tuple[str, PodsByRow]]:
        for view in self.views:
            yield from self._others(view, self.index.repelling[view])
        for each in self.beside:
            yield self.namespace, each


def is_allowed(neighbors: Neighbors, placed: PlacedWorkload) -> bool:
    """Whether pods may stand where they are placed, beside all others and each other.

    Skews of spread pods are not checked again.
    """
    own = tuple(placed.by_row())
    together = neighbors.with_pods(*own)
    for number, (pod_set, rows, counts) in enumerate(own):
        beside = neighbors.with_pods(*own[:number], *own[number + 1 :])
        if any(mask[rows].any() for _, mask in beside.excluded(pod_set)):
            return False
        attracted, is_one_domain = together.attracted(pod_set)
        if attracted is not None and not is_one_domain and not attracted[rows].all():
            return False
        for term in constraints_of(pod_set).anti_affinity:
            codes = label_codes(neighbors.table, term.topology_key)[rows]
            if not neighbors.selects(term, neighbors.namespace)(neighbors.namespace, pod_set):
                continue
            if (np.bincount(codes[codes >= 0], counts[codes >= 0]) > 1).any():
                return False
    return True


def constraints_of(pod_set: PodSet) -> PodConstraints:
    """Returns what pods require of those around them."""
    return pod_set.scheduling.pod_constraints or NO_CONSTRAINTS


def label_codes(table: HostTable, key: str) -> Ints:
    """Returns a number for the value of a node label on each row, equal for equal values.

    `NO_LABEL` where no node has it, `SEVERAL_VALUES` where the nodes of a row differ. Cached with
    the table, as labels change only with it.
    """
    known = table.label_codes.get(key)
    if known is None:
        values: dict[Any, int] = {}
        found = np.empty(len(table.leaf_ids), dtype=np.int64)
        for row, leaf in enumerate(table.leaf_ids):
            named = dict.fromkeys(
                host_name(node) if key == HOSTNAME_LABEL else node.labels.get(key)
                for node in table.nodes_at(leaf)
            )
            value = next(iter(named)) if len(named) == 1 else None
            code = NO_LABEL if value is None else values.setdefault(value, len(values))
            found[row] = SEVERAL_VALUES if len(named) > 1 else code
        known = table.label_codes[key] = found
    return known
