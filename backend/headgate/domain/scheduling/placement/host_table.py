"""The hosts of a partition as arrays: their capacity, and their free capacity in several views.

A row is a leaf: a host under `(hostname,)`, or a lowest topology domain under its flavor and path
where a topology ends above hosts. Columns of the arrays are rows of the table; there is one line
for each resource. Kueue keeps this per flavor (`tas_flavor_snapshot.go: leafDomain`); one table for
all flavors avoids trap 21.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.values.quantities import Requests

MIN_KEPT_ROWS = 256


class ChangedRows:
    """A log of changed rows, limited to a part of the table; older positions are forgotten."""

    def __init__(self, rows: int) -> None:
        self._most = max(MIN_KEPT_ROWS, rows // 8)
        self._kept: list[NDArray[np.int64]] = []
        self._number = 0
        self._begin = 0
        self.position = 0
        """The position up to which a reader is current."""

    def note(self, rows: NDArray[np.int64]) -> None:
        """Records that these rows have changed."""
        self.position += 1
        if self._number + len(rows) > self._most:
            self._begin, self._kept, self._number = self.position - 1, [], 0
            if len(rows) > self._most:
                self._begin = self.position
                return
        self._kept.append(rows)
        self._number += len(rows)

    def since(self, position: int) -> list[NDArray[np.int64]] | None:
        """Returns the rows changed after `position`, with repetitions; None if forgotten."""
        if position < self._begin:
            return None
        return self._kept[position - self._begin :]


class MinimumFree:
    """The minimum free capacity over several views, at least 0, updated for changed rows."""

    def __init__(self, views: Sequence[tuple[NDArray[np.int64], ChangedRows]]) -> None:
        """`views` are the arrays of free capacity, each with its changes."""
        self._views = tuple(free for free, _ in views)
        self._changes = tuple(changes for _, changes in views)
        self._version = -1
        self._positions: tuple[int, ...] = ()
        self.free = self._views[0]

    def refresh(self, version: int) -> None:
        """Updates the minimum to a version of the table."""
        if version == self._version:
            return
        rows = self._changed()
        if rows is None:
            self.free = _least(self._views)
        elif rows:
            changed = np.concatenate(rows)
            self.free[:, changed] = _least([view[:, changed] for view in self._views])
        self._positions = tuple(changes.position for changes in self._changes)
        self._version = version

    def _changed(self) -> list[NDArray[np.int64]] | None:
        """Returns the rows changed in any view; None if a log no longer has them."""
        if not self._positions:
            return None
        rows: list[NDArray[np.int64]] = []
        for changes, position in zip(self._changes, self._positions, strict=True):
            since = changes.since(position)
            if since is None:
                return None
            rows.extend(since)
        return rows


def _least(views: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    least: NDArray[np.int64] = np.minimum.reduce(views)
    return np.maximum(least, 0, out=least)


Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
DomainId: TypeAlias = tuple[str, ...]
PODS = "pods"

ACTUAL = 0
"""The view of free capacity now."""
PROJECTED = 1
"""The view once all pending evictions are finished and all nominated preemptors admitted."""
EMPTY = 2
"""The view without any workload; it is never charged."""
OVERLAY = 3
"""The scratch view of a simulated eviction; valid only where it was just written."""
VIEWS = (ACTUAL, PROJECTED, EMPTY, OVERLAY)


def host_name(node: Configured[NodeSpec]) -> str:
    """Returns the hostname label of a node, or its name without one."""
    return node.labels.get(HOSTNAME_LABEL, node.name)


def leaf_id(flavor: str, levels: tuple[str, ...], values: DomainId) -> DomainId:
    """Returns the id of a leaf: the host alone, or the flavor with the path above hosts.

    `values` are its path, or the values that an assignment names.
    """
    return values[-1:] if levels[-1] == HOSTNAME_LABEL else (flavor, *values)


def is_schedulable(spec: NodeSpec) -> bool:
    """Whether the node accepts new pods: ready and not cordoned."""
    return spec.ready and not spec.unschedulable


NODE_CONDITION_TAINTS = frozenset(
    f"node.kubernetes.io/{condition}"
    for condition in (
        "disk-pressure",
        "memory-pressure",
        "network-unavailable",
        "not-ready",
        "pid-pressure",
        "unreachable",
        "unschedulable",
    )
)
"""Taints by which Kubernetes marks the passing condition of a node."""


def usable_node(node: Configured[NodeSpec]) -> Configured[NodeSpec]:
    """Returns the node as it is once it is ready, not cordoned, and in good condition."""
    spec = node.spec
    taints = tuple(taint for taint in spec.taints if taint.key not in NODE_CONDITION_TAINTS)
    if is_schedulable(spec) and len(taints) == len(spec.taints):
        return node
    usable = structs.replace(spec, ready=True, unschedulable=False, draining=False, taints=taints)
    return structs.replace(node, spec=usable)


def free_capacity(spec: NodeSpec) -> dict[str, int]:
    """Returns allocatable less the usage of other pods, not clamped (Kueue: `freeCapacity`)."""
    return {
        resource: amount - spec.used_by_others.get(resource, 0)
        for resource, amount in spec.allocatable.items()
    }


class NodesBelowLeaves:
    """The nodes of leaves above hosts as columns of an array; one of several leaves is each time.

    `rows` are the leaves of the columns, as rows of the host table. What a node has free is without
    the usage of workloads, and at least 0; nodes that accept no pods have nothing.
    """

    def __init__(
        self, members: Sequence[tuple[int, Configured[NodeSpec]]], resources: Mapping[str, int]
    ) -> None:
        """`resources` are the lines of the host table."""
        self.nodes = [node for _, node in members]
        self.rows: Ints = np.array([row for row, _ in members], dtype=np.int64)
        self._lines = resources
        self._free: Ints = np.zeros((len(resources), len(members)), dtype=np.int64)
        self._columns: dict[str, list[int]] = {}
        for column, node in enumerate(self.nodes):
            self._columns.setdefault(node.name, []).append(column)
            self._write(column)

    def node_changed(self, node: Configured[NodeSpec]) -> None:
        """Applies a node's report, cordon or uncordon."""
        for column in self._columns.get(node.name, ()):
            self.nodes[column] = node
            self._write(column)

    def pods(self, requests: Requests, beside: Requests | None = None) -> Ints:
        """Returns how many of these pods each node can hold, perhaps beside one other pod."""
        most: Ints = np.full(len(self.rows), np.iinfo(np.int64).max)
        for name, amount in requests.items():
            line = self._lines.get(name)
            if amount > 0 and line is None:
                return np.zeros_like(most)
            if amount > 0:
                other = beside.get(name, 0) if beside else 0
                np.minimum(most, (self._free[line] - other) // amount, out=most)
        np.maximum(most, 0, out=most)
        return most

    def _write(self, column: int) -> None:
        spec = self.nodes[column].spec
        self._free[:, column] = 0
        for resource, amount in free_capacity(spec).items() if is_schedulable(spec) else ():
            if resource in self._lines:
                self._free[self._lines[resource], column] = max(amount, 0)


class HostTable:
    """Capacity and free capacity per leaf and resource; changed in place, reversed exactly."""

    def __init__(
        self,
        members: Mapping[DomainId, Iterable[Configured[NodeSpec]]],
        names: Mapping[DomainId, DomainId],
    ) -> None:
        """`names` maps every id of a leaf to the one under which `members` has it."""
        self.leaf_ids = tuple(members)
        numbers = {leaf: row for row, leaf in enumerate(self.leaf_ids)}
        self.row_of = {name: numbers[leaf] for name, leaf in names.items()}
        self._nodes = {leaf: {n.name: n for n in nodes} for leaf, nodes in members.items()}
        self._rows_of_node: dict[str, list[int]] = {}
        for leaf, nodes in self._nodes.items():
            for name in nodes:
                self._rows_of_node.setdefault(name, []).append(numbers[leaf])
        resources = {
            r for nodes in self._nodes.values() for n in nodes.values() for r in n.spec.allocatable
        }
        self.resources = {name: row for row, name in enumerate(sorted({*resources, PODS}))}
        self.capacity: Ints = np.zeros((len(self.resources), len(self.leaf_ids)), dtype=np.int64)
        self.schedulable: Bools = np.zeros(len(self.leaf_ids), dtype=np.bool_)
        for row, leaf in enumerate(self.leaf_ids):
            self.schedulable[row], self.capacity[:, row] = self._sum(leaf)
        above_hosts = [leaf for leaf in self.leaf_ids if len(leaf) > 1]
        members_above = [(numbers[leaf], n) for leaf in above_hosts for n in self.nodes_at(leaf)]
        self.below = NodesBelowLeaves(members_above, self.resources) if members_above else None
        self.free = tuple(self.capacity.copy() for _ in VIEWS)
        self.changes = tuple(ChangedRows(len(self.leaf_ids)) for _ in VIEWS)
        self.version = 0
        self.nodes_version = 0
        self._minimum_free: dict[tuple[int, ...], MinimumFree] = {}
        self.label_codes: dict[str, Ints] = {}

    def node_changed(self, node: Configured[NodeSpec]) -> bool:
        """Applies a node's report, cordon or uncordon; returns whether any leaf now offers more."""
        more = False
        if self.below is not None:
            self.below.node_changed(node)
        for row in self._rows_of_node.get(node.name, ()):
            leaf = self.leaf_ids[row]
            self._nodes[leaf][node.name] = node
            usable, capacity = self._sum(leaf)
            change = capacity - self.capacity[:, row]
            more = more or bool((change > 0).any()) or (usable and not self.schedulable[row])
            self.schedulable[row] = usable
            self.capacity[:, row] = capacity
            for view, changes in zip(self.free, self.changes, strict=True):
                view[:, row] += change
                changes.note(np.array([row]))
        self.version += 1
        self.nodes_version += 1
        return more

    def has_resources_of(self, node: Configured[NodeSpec]) -> bool:
        """Whether every resource of the node has a line in the table."""
        return all(resource in self.resources for resource in node.spec.allocatable)

    def node(self, name: str) -> Configured[NodeSpec]:
        """Returns a node of the table as it was reported last."""
        return self._nodes[self.leaf_ids[self._rows_of_node[name][0]]][name]

    def node_names(self) -> tuple[str, ...]:
        """Returns the names of all nodes, ascending."""
        return tuple(sorted(self._rows_of_node))

    def nodes_at(self, leaf: DomainId) -> tuple[Configured[NodeSpec], ...]:
        """Returns the nodes of a leaf, by name."""
        return tuple(node for _, node in sorted(self._nodes[leaf].items()))

    def charge(self, view: int, rows: Ints, counts: Ints, requests: Mapping[str, int]) -> None:
        """Charges `counts` pods on `rows` to a view; negative counts release."""
        # Numbers of one place are reckoned with several times as fast as arrays of one number.
        at, pods = (rows, counts) if len(rows) != 1 else (rows.item(), counts.item())
        free = self.free[view]
        for resource, amount in requests.items():
            line = self.resources.get(resource)
            if line is not None and amount:
                free[line, at] -= amount * pods
        if PODS not in requests:
            free[self.resources[PODS], at] -= pods
        self.changes[view].note(rows)
        self.version += 1

    def minimum_free(self, views: tuple[int, ...]) -> Ints:
        """Returns the minimum free capacity over views, at least 0; not to be written to."""
        known = self._minimum_free.get(views)
        if known is None or OVERLAY in views:
            pairs = [(self.free[view], self.changes[view]) for view in views]
            known = self._minimum_free[views] = MinimumFree(pairs)
        known.refresh(self.version)
        return known.free

    def fits(self, view: int, pods: Iterable[tuple[Ints, Ints, Mapping[str, int]]]) -> bool:
        """Whether these pods fit their rows in a view, all on schedulable leaves."""
        asked = tuple(pods)
        taken = np.zeros_like(self.capacity) if len(asked) > 1 else None
        for rows, counts, requests in asked:
            if not self.schedulable[rows].all():
                return False
            for resource, amount in requests.items():
                line = self.resources.get(resource)
                if line is None:
                    if amount:
                        return False
                    continue
                needed = amount * counts
                if taken is not None:
                    taken[line, rows] += needed
                    needed = taken[line, rows]
                if (needed > self.free[view][line, rows]).any():
                    return False
        return True

    def rows_of(self, leaves: Iterable[tuple[DomainId, int]]) -> tuple[Ints, Ints]:
        """Returns the rows and pod counts of those leaves that exist."""
        found = [(self.row_of[p], count) for p, count in leaves if p in self.row_of]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _sum(self, leaf: DomainId) -> tuple[bool, Ints]:
        total = np.zeros(len(self.resources), dtype=np.int64)
        usable = False
        alone = len(self._nodes[leaf]) == 1
        for _, node in sorted(self._nodes[leaf].items()):
            if not (alone or is_schedulable(node.spec)):
                continue
            usable = usable or is_schedulable(node.spec)
            for resource, amount in free_capacity(node.spec).items():
                line = self.resources.get(resource)
                if line is not None:
                    total[line] += amount
        return usable, total


def overcommitted_leaves(table: HostTable) -> list[DomainId]:
    """Returns the leaves with negative free capacity of some resource, in table order."""
    short = np.flatnonzero((table.free[ACTUAL] < 0).any(axis=0))
    return [table.leaf_ids[int(row)] for row in short]
