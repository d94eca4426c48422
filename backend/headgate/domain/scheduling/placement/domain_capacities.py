"""Pod and slice counts of every domain of a topology, rolled up from its leaves.

Kueue: `tas_flavor_snapshot.go: fillInCounts` (topology.md §4.2, §4.3). With a leader every domain
has a second pair of counts: what fits if the leader is in the domain too.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.size_index import SizeIndex, size_index, update_sizes

UNREACHABLE = np.iinfo(np.int64).max
MIN_INDEXED_DOMAINS = 2048
"""From this number of domains on, a level is indexed by size instead of sorted for each search."""


class SliceConstraints(msgspec.Struct, frozen=True, gc=False):
    """The slices of a pod set: every `size` pods must be in one domain of `level`.

    `inner` pairs levels below the slice level with the multiple of pods that their domains hold.
    """

    size: int
    level: int
    inner: tuple[tuple[int, int], ...] = ()

    def is_none(self, lowest: int) -> bool:
        """Whether every pod may be on any host, `lowest` being the lowest level."""
        return self.size == 1 and self.level == lowest and not self.inner


class LeafCapacities(msgspec.Struct, frozen=True, gc=False):
    """Pods that fit each leaf; with a leader, pods beside it and whether the leader fits.

    `score` is the affinity score of each leaf; None where preferred affinity is ignored.
    """

    pods: Ints
    pods_with_leader: Ints | None = None
    leader_capacity: Ints | None = None
    score: Ints | None = None


class LazySums:
    """The counts of every level, each summed from the level below at its first use."""

    __slots__ = ("_known", "_lowest", "_topology")

    def __init__(self, topology: FlavorTopology, lowest: int, figures: Ints) -> None:
        """`figures` are the counts of level `lowest`; below it all counts are 0."""
        self._topology, self._lowest = topology, lowest
        self._known: list[Ints | None] = [None] * len(topology.starts)
        self._known[lowest] = figures

    def __getitem__(self, level: int) -> Ints:
        """The counts of a level, a live array."""
        found = self._known[level]
        if found is None:
            at = level % len(self._known)
            if at > self._lowest:
                found = np.zeros(len(self._topology.starts[at]), dtype=np.int64)
            else:
                found = np.add.reduceat(self[at + 1], self._topology.first_child[at][:-1])
            self._known[at] = found
        return found

    def __len__(self) -> int:
        """The number of levels."""
        return len(self._known)

    def __iter__(self) -> Iterator[Ints]:
        """The counts of all levels, widest first."""
        return (self[level] for level in range(len(self._known)))

    def is_known(self, level: int) -> bool:
        """Whether the level has been summed, so that it must be kept up to date."""
        return self._known[level] is not None


LevelArrays: TypeAlias = list[Ints] | tuple[Ints, ...] | LazySums
"""One array for each level."""


class Capacities(msgspec.Struct):
    """One array over its domains for each level; `_with_leader` counts the leader in the domain.

    Without a leader both counts are the same arrays and `leader_capacity` is 0. Without slices the
    counts of slices are the arrays of pods. `score` is empty unless affinity is scored. `sizes`
    caches `size_index_of`, `results` the results of searches on these counts.
    """

    topology: FlavorTopology
    constraints: SliceConstraints
    has_leader: bool
    pods: LevelArrays
    slices: LevelArrays
    pods_with_leader: LevelArrays
    slices_with_leader: LevelArrays
    leader_capacity: LevelArrays
    score: list[Ints]
    sizes: dict[int, SizeIndex] = {}
    results: dict[object, Any] = {}


def roll_up(
    topology: FlavorTopology, constraints: SliceConstraints, leaf_counts: LeafCapacities
) -> Capacities:
    """Returns the counts of every domain of every level (Kueue: `fillInCountsHelper`)."""
    if not (
        constraints.inner
        or leaf_counts.pods_with_leader is not None
        or leaf_counts.score is not None
    ):
        return _summed(topology, constraints, leaf_counts.pods)
    sizes = [len(starts) for starts in topology.starts]
    last = len(sizes) - 1
    is_unsliced = constraints.is_none(last)
    pods = _blank(sizes)
    slices = pods if is_unsliced else _blank(sizes)
    has_leader = leaf_counts.pods_with_leader is not None
    pods_with_leader = _blank(sizes) if has_leader else pods
    slices_with_leader = slices
    if has_leader:
        slices_with_leader = pods_with_leader if is_unsliced else _blank(sizes)
    found = Capacities(
        topology,
        constraints,
        has_leader,
        pods,
        slices,
        pods_with_leader,
        slices_with_leader,
        _blank(sizes),
        _blank(sizes) if leaf_counts.score is not None else [],
    )
    set_leaves(found, slice(None), leaf_counts)
    for level in range(last - 1, -1, -1):
        begins = topology.first_child[level][:-1]
        roll_up_level(found, level, slice(None), slice(None), begins)
    return found


def _summed(
    topology: FlavorTopology, constraints: SliceConstraints, leaf_counts: Ints
) -> Capacities:
    """Returns lazily summed counts, where each domain holds the sum of its children."""
    last = len(topology.starts) - 1
    pods = LazySums(topology, last, leaf_counts)
    slices = pods
    if not constraints.is_none(last):
        sliced = whole_units(pods[constraints.level], constraints.size)
        slices = LazySums(topology, constraints.level, sliced)
    return Capacities(
        topology,
        constraints,
        has_leader=False,
        pods=pods,
        slices=slices,
        pods_with_leader=pods,
        slices_with_leader=slices,
        leader_capacity=topology.zeros,
        score=[],
    )


def whole_units(amounts: Ints, unit: int, out: Ints | None = None) -> Ints:
    """Returns how many whole units fit each amount.

    Shifts where the unit is a power of two, as memory and slices mostly are: it is twice as fast.
    """
    if unit & (unit - 1):
        return np.floor_divide(amounts, unit, out=out)
    return np.right_shift(amounts, unit.bit_length() - 1, out=out)


def size_index_of(capacities: Capacities, level: int) -> SizeIndex | None:
    """Returns the size index of a level; None where the level is small or scored by affinity."""
    known = capacities.sizes.get(level)
    if known is not None:
        return known
    slices = capacities.slices[level]
    if len(slices) < MIN_INDEXED_DOMAINS or capacities.score:
        return None
    sizes = size_index(slices)
    if sizes is not None:
        capacities.sizes[level] = sizes
    return sizes


def refresh(found: Capacities, leaves: Ints, leaf_counts: LeafCapacities) -> None:
    """Updates the counts for new counts of some ascending leaves, and clears cached results."""
    found.results.clear()
    if not (found.has_leader or found.constraints.inner or found.score):
        _add_differences(found, leaves, leaf_counts.pods)
        return
    found.sizes.clear()
    set_leaves(found, leaves, leaf_counts)
    touched = leaves
    for level in range(len(found.pods) - 2, -1, -1):
        parents = found.topology.parent[level][touched]
        touched = parents[_firsts(parents)]
        children, offsets = found.topology.children_of(level, touched)
        roll_up_level(found, level, touched, children, offsets)


def _add_differences(found: Capacities, leaves: Ints, pods: Ints) -> None:
    """Adds the differences of changed leaves level by level, where counts are plain sums."""
    touched, slice_level = leaves, found.constraints.level
    more = pods - found.pods[-1][leaves]
    cut = more
    for level in range(len(found.pods) - 1, -1, -1):
        if level < len(found.pods) - 1:
            parents = found.topology.parent[level][touched]
            firsts = _firsts(parents)
            touched, more = parents[firsts], np.add.reduceat(more, firsts)
            cut = np.add.reduceat(cut, firsts) if level < slice_level else more
        has_slices = _is_known(found.slices, level)
        if _is_known(found.pods, level):
            found.pods[level][touched] += more
        elif not has_slices:
            break
        if found.slices is found.pods:
            cut = more
        elif level > slice_level or not has_slices:
            continue
        else:
            if level == slice_level:
                pods, before = found.pods[level][touched], found.slices[level][touched]
                cut = pods // found.constraints.size - before
            found.slices[level][touched] += cut
        if level in found.sizes and not update_sizes(found.sizes[level], touched, cut):
            del found.sizes[level]


def _is_known(levels: LevelArrays, level: int) -> bool:
    return not isinstance(levels, LazySums) or levels.is_known(level)


def _firsts(numbers: Ints) -> Ints:
    """Returns the index of the first occurrence of each number of an ascending array."""
    is_first = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def set_leaves(found: Capacities, leaves: "slice | Ints", leaf_counts: LeafCapacities) -> None:
    """Sets the counts of leaves."""
    last, constraints = len(found.pods) - 1, found.constraints
    found.pods[last][leaves] = leaf_counts.pods
    if leaf_counts.pods_with_leader is not None and leaf_counts.leader_capacity is not None:
        found.pods_with_leader[last][leaves] = leaf_counts.pods_with_leader
        found.leader_capacity[last][leaves] = leaf_counts.leader_capacity
    if leaf_counts.score is not None:
        found.score[last][leaves] = leaf_counts.score
    if constraints.level == last and found.slices is not found.pods:
        _cut(found, last, leaves)


def _blank(sizes: list[int]) -> list[Ints]:
    return [np.zeros(size, dtype=np.int64) for size in sizes]


def roll_up_level(
    found: Capacities,
    level: int,
    parents: "slice | Ints",
    children: "slice | Ints",
    begins: Ints,
) -> None:
    """Sets the counts of `parents` from their children; `begins` are the first child of each."""
    below = level + 1
    pods = _whole(found, below, found.pods[below][children])
    found.pods[level][parents] = np.add.reduceat(pods, begins)
    is_sliced = found.slices is not found.pods
    if is_sliced and level < found.constraints.level:
        found.slices[level][parents] = np.add.reduceat(found.slices[below][children], begins)
    if found.score:
        found.score[level][parents] = np.add.reduceat(found.score[below][children], begins)
    if found.has_leader:
        _gather_led(found, level, (parents, children, begins), pods)
    if is_sliced and level == found.constraints.level:
        _cut(found, level, parents)


def _gather_led(
    found: Capacities,
    level: int,
    family: tuple["slice | Ints", "slice | Ints", Ints],
    pods: Ints,
) -> None:
    """With the leader below the child in which it costs least."""
    parents, children, begins = family
    below = level + 1
    leader_capacity = found.leader_capacity[below][children]
    some = np.maximum.reduceat(leader_capacity, begins)
    found.leader_capacity[level][parents] = some
    pods_with_leader = _whole(found, below, found.pods_with_leader[below][children])
    cost = np.minimum.reduceat(
        np.where(leader_capacity > 0, pods - pods_with_leader, UNREACHABLE), begins
    )
    found.pods_with_leader[level][parents] = np.where(
        some > 0, found.pods[level][parents] - cost, 0
    )
    if found.slices_with_leader is not found.pods_with_leader and level < found.constraints.level:
        spent = found.slices[below][children] - found.slices_with_leader[below][children]
        cost = np.minimum.reduceat(np.where(leader_capacity > 0, spent, UNREACHABLE), begins)
        found.slices_with_leader[level][parents] = np.where(
            some > 0, found.slices[level][parents] - cost, 0
        )


def _whole(found: Capacities, level: int, pods: Ints) -> Ints:
    """Rounds pods down to a multiple of the inner slice layer that the level belongs to."""
    for inner, unit in found.constraints.inner:
        if inner == level and unit > 1:
            return pods - pods % unit
    return pods


def _cut(found: Capacities, level: int, domains: "slice | Ints") -> None:
    size = found.constraints.size
    found.slices[level][domains] = found.pods[level][domains] // size
    if found.has_leader:
        found.slices_with_leader[level][domains] = found.pods_with_leader[level][domains] // size
