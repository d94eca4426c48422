"""How many pods and slices every domain of a topology could take, rolled up from its places.

With a leader to be placed beside the pods, every domain has a second pair of figures: what it could
take if the leader lay in it too (reference topology.md §4.2, §4.3).
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
"""From so many domains on, finding the next in order costs less than sorting everything."""


class SliceConstraints(msgspec.Struct, frozen=True, gc=False):
    """How pods hold together: every `size` in one domain of `level`, below it in multiples.

    `inner` pairs levels below the slice level with the multiple that their domains take.
    """

    size: int
    level: int
    inner: tuple[tuple[int, int], ...] = ()

    def is_none(self, lowest: int) -> bool:
        """Whether every pod lies on a host of its own choice, `lowest` being the level of hosts."""
        return self.size == 1 and self.level == lowest and not self.inner


class LeafCapacities(msgspec.Struct, frozen=True, gc=False):
    """Pods for each place; with a leader, pods beside it and whether the place can host it.

    `score` sums the preferred terms that a place meets; None where they do not count.
    """

    pods: Ints
    pods_with_leader: Ints | None = None
    leader_capacity: Ints | None = None
    score: Ints | None = None


class LazySums:
    """A figure of every level; a level is added up from the one below when first looked at."""

    __slots__ = ("_known", "_lowest", "_topology")

    def __init__(self, topology: FlavorTopology, lowest: int, figures: Ints) -> None:
        """`figures` are those of level `lowest`; below it there is nothing to be told."""
        self._topology, self._lowest = topology, lowest
        self._known: list[Ints | None] = [None] * len(topology.starts)
        self._known[lowest] = figures

    def __getitem__(self, level: int) -> Ints:
        """The figures of a level, which change with the hosts."""
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
        """How many levels there are."""
        return len(self._known)

    def __iter__(self) -> Iterator[Ints]:
        """The figures of all levels, the widest first."""
        return (self[level] for level in range(len(self._known)))

    def is_known(self, level: int) -> bool:
        """Whether the level has been added up, so that it is to be kept up to date."""
        return self._known[level] is not None


LevelArrays: TypeAlias = list[Ints] | tuple[Ints, ...] | LazySums
"""One array a level."""


class DomainCapacities(msgspec.Struct):
    """Per level one array over its domains; `_led` is with the leader in the domain as well.

    Without a leader the figures with and without are the same arrays and `leader_capacity` is 0.
    Without slices the figures of slices are the arrays of pods. `sizes` caches `size_index_of`,
    `answers` the results of searches on the present figures.
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
    answers: dict[object, Any] = {}


def roll_up(
    topology: FlavorTopology, constraints: SliceConstraints, leaves: LeafCapacities
) -> DomainCapacities:
    """The figures of every domain of every level."""
    if not (constraints.inner or leaves.pods_with_leader is not None or leaves.score is not None):
        return _summed(topology, constraints, leaves.pods)
    sizes = [len(starts) for starts in topology.starts]
    last = len(sizes) - 1
    is_unsliced = constraints.is_none(last)
    pods = _blank(sizes)
    slices = pods if is_unsliced else _blank(sizes)
    has_leader = leaves.pods_with_leader is not None
    pods_with_leader = _blank(sizes) if has_leader else pods
    slices_with_leader = slices
    if has_leader:
        slices_with_leader = pods_with_leader if is_unsliced else _blank(sizes)
    found = DomainCapacities(
        topology,
        constraints,
        has_leader,
        pods,
        slices,
        pods_with_leader,
        slices_with_leader,
        _blank(sizes),
        _blank(sizes) if leaves.score is not None else [],
    )
    set_leaves(found, slice(None), leaves)
    for level in range(last - 1, -1, -1):
        begins = topology.first_child[level][:-1]
        roll_up_level(found, level, slice(None), slice(None), begins)
    return found


def _summed(
    topology: FlavorTopology, constraints: SliceConstraints, leaves: Ints
) -> DomainCapacities:
    """Where sums are all there is, levels that nobody looks at need not be added up."""
    last = len(topology.starts) - 1
    pods = LazySums(topology, last, leaves)
    slices = pods
    if not constraints.is_none(last):
        sliced = whole_units(pods[constraints.level], constraints.size)
        slices = LazySums(topology, constraints.level, sliced)
    return DomainCapacities(
        topology,
        constraints,
        has_leader=False,
        pods=pods,
        slices=slices,
        pods_with_leader=pods,
        slices_with_leader=slices,
        leader_capacity=topology.nothing,
        score=[],
    )


def whole_units(amounts: Ints, unit: int, out: Ints | None = None) -> Ints:
    """How many whole units there are in amounts.

    Memory and slices mostly come in powers of two, and shifting takes half as long as dividing.
    """
    if unit & (unit - 1):
        return np.floor_divide(amounts, unit, out=out)
    return np.right_shift(amounts, unit.bit_length() - 1, out=out)


def size_index_of(capacities: DomainCapacities, level: int) -> SizeIndex | None:
    """The domains of a level by their slices; None where they are few or scores come first."""
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


def refresh(found: DomainCapacities, places: Ints, leaves: LeafCapacities) -> None:
    """Take new figures of some places, ascending, into account, with the domains above them."""
    found.answers.clear()
    if not (found.has_leader or found.constraints.inner or found.score):
        _add_differences(found, places, leaves.pods)
        return
    found.sizes.clear()
    set_leaves(found, places, leaves)
    touched = places
    for level in range(len(found.pods) - 2, -1, -1):
        parents = found.topology.parent[level][touched]
        touched = parents[_firsts(parents)]
        children, offsets = found.topology.children_of(level, touched)
        roll_up_level(found, level, touched, children, offsets)


def _add_differences(found: DomainCapacities, places: Ints, pods: Ints) -> None:
    """The same where sums are all there is: only what changed is added, level by level."""
    touched, slice_level = places, found.constraints.level
    more = pods - found.pods[-1][places]
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
    """Where each number of an ascending list stands first."""
    is_first = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def set_leaves(found: DomainCapacities, places: "slice | Ints", leaves: LeafCapacities) -> None:
    """The figures of places themselves."""
    last, constraints = len(found.pods) - 1, found.constraints
    found.pods[last][places] = leaves.pods
    if leaves.pods_with_leader is not None and leaves.leader_capacity is not None:
        found.pods_with_leader[last][places] = leaves.pods_with_leader
        found.leader_capacity[last][places] = leaves.leader_capacity
    if leaves.score is not None:
        found.score[last][places] = leaves.score
    if constraints.level == last and found.slices is not found.pods:
        _cut(found, last, places)


def _blank(sizes: list[int]) -> list[Ints]:
    return [np.zeros(size, dtype=np.int64) for size in sizes]


def roll_up_level(
    found: DomainCapacities,
    level: int,
    parents: "slice | Ints",
    children: "slice | Ints",
    begins: Ints,
) -> None:
    """The figures of `parents` from those of their children, whose stretches start at `begins`."""
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
    found: DomainCapacities,
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


def _whole(found: DomainCapacities, level: int, pods: Ints) -> Ints:
    """Only what makes whole groups of the layer of slices that this level belongs to."""
    for inner, unit in found.constraints.inner:
        if inner == level and unit > 1:
            return pods - pods % unit
    return pods


def _cut(found: DomainCapacities, level: int, domains: "slice | Ints") -> None:
    size = found.constraints.size
    found.slices[level][domains] = found.pods[level][domains] // size
    if found.has_leader:
        found.slices_with_leader[level][domains] = found.pods_with_leader[level][domains] // size
