"""All places of a partition as arrays: what each offers, and what is free of it in two views.

A row is a place that pods are counted in: a host under `(hostname,)`, or a lowest topology domain
under its whole path where a topology does not go down to hosts. Columns of the arrays are rows of
the table; there is one array row for each resource.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.domain.configured import Configured
from headgate.domain.topology.specs import HOSTNAME_LABEL, NodeSpec

MIN_KEPT_ROWS = 256


class ChangedRows:
    """A log of rows; who lags behind by more than part of the table is told to begin anew."""

    def __init__(self, rows: int) -> None:
        self._most = max(MIN_KEPT_ROWS, rows // 8)
        self._kept: list[NDArray[np.int64]] = []
        self._number = 0
        self._begin = 0
        self.position = 0
        """What to ask from the next time."""

    def note(self, rows: NDArray[np.int64]) -> None:
        """These rows have changed."""
        self.position += 1
        if self._number + len(rows) > self._most:
            self._begin, self._kept, self._number = self.position - 1, [], 0
            if len(rows) > self._most:
                self._begin = self.position
                return
        self._kept.append(rows)
        self._number += len(rows)

    def since(self, position: int) -> list[NDArray[np.int64]] | None:
        """Rows that changed after `position`, some more than once; None if that is not known."""
        if position < self._begin:
            return None
        return self._kept[position - self._begin :]


class MinimumFree:
    """The least of some views, resource by row, and nothing where more is taken than there is.

    Whoever looks at it says how new it must be.
    """

    def __init__(self, views: Sequence[tuple[NDArray[np.int64], ChangedRows]]) -> None:
        """Of several views, each with its changes."""
        self._views = tuple(free for free, _ in views)
        self._changes = tuple(changes for _, changes in views)
        self._version = -1
        self._positions: tuple[int, ...] = ()
        self.free = self._views[0]

    def refresh(self, version: int) -> None:
        """Take into account what changed up to a version of the table."""
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
        """Rows that changed in any view; None if that is not known any more."""
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
"""What is free now."""
PROJECTED = 1
"""What will be free once everything leaving has left and every open round's preemptor has come."""
EMPTY = 2
"""What would be free if no workload stood anywhere; nothing is ever charged here."""
TRIAL = 3
"""Scratch: what would be free if some had left besides; true only where it was just worked out."""
VIEWS = (ACTUAL, PROJECTED, EMPTY, TRIAL)


def host_name(node: Configured[NodeSpec]) -> str:
    """The name pods are placed under: the hostname label, or the node's own name."""
    return node.labels.get(HOSTNAME_LABEL, node.name)


def leaf_id(flavor: str, levels: tuple[str, ...], values: DomainId) -> DomainId:
    """What a place of a flavor is called: the host alone, or the flavor with the path above hosts.

    `values` are its path, or what an assignment names of it.
    """
    return values[-1:] if levels[-1] == HOSTNAME_LABEL else (flavor, *values)


def is_schedulable(spec: NodeSpec) -> bool:
    """Whether the node takes new pods."""
    return spec.ready and not spec.unschedulable


def free_capacity(spec: NodeSpec) -> dict[str, int]:
    """What the node offers to workloads: allocatable less what others use, never clamped."""
    return {
        resource: amount - spec.used_by_others.get(resource, 0)
        for resource, amount in spec.allocatable.items()
    }


class HostTable:
    """Free capacity per place and resource; changed in place, exactly undone by the opposite."""

    def __init__(
        self,
        members: Mapping[DomainId, Iterable[Configured[NodeSpec]]],
        names: Mapping[DomainId, DomainId],
    ) -> None:
        """`names` are all names of the places, each with the one that `members` has."""
        self.leaf_ids = tuple(members)
        numbers = {place: row for row, place in enumerate(self.leaf_ids)}
        self.row_of = {name: numbers[place] for name, place in names.items()}
        self._nodes = {place: {n.name: n for n in nodes} for place, nodes in members.items()}
        self._rows_of_node: dict[str, list[int]] = {}
        for place, nodes in self._nodes.items():
            for name in nodes:
                self._rows_of_node.setdefault(name, []).append(numbers[place])
        resources = {
            r for nodes in self._nodes.values() for n in nodes.values() for r in n.spec.allocatable
        }
        self.resources = {name: row for row, name in enumerate(sorted({*resources, PODS}))}
        self.capacity: Ints = np.zeros((len(self.resources), len(self.leaf_ids)), dtype=np.int64)
        self.schedulable: Bools = np.zeros(len(self.leaf_ids), dtype=np.bool_)
        for row, place in enumerate(self.leaf_ids):
            self.schedulable[row], self.capacity[:, row] = self._sum(place)
        self.free = tuple(self.capacity.copy() for _ in VIEWS)
        self.changes = tuple(ChangedRows(len(self.leaf_ids)) for _ in VIEWS)
        self.version = 0
        self.schedulable_version = 0
        self._minimum_free: dict[tuple[int, ...], MinimumFree] = {}

    def node_changed(self, node: Configured[NodeSpec]) -> bool:
        """Take a report, cordon or uncordon into account; whether any place now offers more."""
        more = False
        for row in self._rows_of_node.get(node.name, ()):
            place = self.leaf_ids[row]
            self._nodes[place][node.name] = node
            usable, capacity = self._sum(place)
            change = capacity - self.capacity[:, row]
            more = more or bool((change > 0).any()) or (usable and not self.schedulable[row])
            self.schedulable[row] = usable
            self.capacity[:, row] = capacity
            for view, changes in zip(self.free, self.changes, strict=True):
                view[:, row] += change
                changes.note(np.array([row]))
        self.version += 1
        self.schedulable_version += 1
        return more

    def has_resources_of(self, node: Configured[NodeSpec]) -> bool:
        """Whether every resource of the node has its row here."""
        return all(resource in self.resources for resource in node.spec.allocatable)

    def node_names(self) -> tuple[str, ...]:
        """The nodes that stand behind the places."""
        return tuple(sorted(self._rows_of_node))

    def nodes_at(self, place: DomainId) -> tuple[Configured[NodeSpec], ...]:
        """The nodes behind one place."""
        return tuple(node for _, node in sorted(self._nodes[place].items()))

    def charge(self, view: int, rows: Ints, counts: Ints, requests: Mapping[str, int]) -> None:
        """Charge `counts` pods in `rows`; negative counts give back."""
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
        """What is free in all of some views, nowhere less than nothing; not to be written to."""
        known = self._minimum_free.get(views)
        if known is None or TRIAL in views:
            pairs = [(self.free[view], self.changes[view]) for view in views]
            known = self._minimum_free[views] = MinimumFree(pairs)
        known.refresh(self.version)
        return known.free

    def fits(self, view: int, pods: Iterable[tuple[Ints, Ints, Mapping[str, int]]]) -> bool:
        """Whether these pods fit where they are meant to go, on places that take pods."""
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

    def rows_of(self, places: Iterable[tuple[DomainId, int]]) -> tuple[Ints, Ints]:
        """Rows and pod counts of those places that exist here; others are gone and hold nothing."""
        found = [(self.row_of[p], count) for p, count in places if p in self.row_of]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _sum(self, place: DomainId) -> tuple[bool, Ints]:
        total = np.zeros(len(self.resources), dtype=np.int64)
        usable = False
        alone = len(self._nodes[place]) == 1
        for _, node in sorted(self._nodes[place].items()):
            if not (alone or is_schedulable(node.spec)):
                continue
            usable = usable or is_schedulable(node.spec)
            for resource, amount in free_capacity(node.spec).items():
                line = self.resources.get(resource)
                if line is not None:
                    total[line] += amount
        return usable, total


def overcommitted_leaves(table: HostTable) -> list[DomainId]:
    """The places with less than nothing free of some resource, in order of the table."""
    short = np.flatnonzero((table.free[ACTUAL] < 0).any(axis=0))
    return [table.leaf_ids[int(row)] for row in short]
