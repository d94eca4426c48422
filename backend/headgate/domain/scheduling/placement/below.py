"""Which domains below others take how much, where neither a leader nor scores count."""

from collections.abc import Sequence

import numpy as np

from headgate.domain.scheduling.placement.by_size import (
    Share,
    choose_by_size,
    shared_out,
)
from headgate.domain.scheduling.placement.domain_capacities import (
    UNREACHABLE,
    DomainCapacities,
    size_index_of,
)
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.size_index import best_fit_domains

FEW = 32
"""Going through so many domains takes less time than the arrays of them do."""
FEW_PARENTS = 12
"""Putting the children of so many side by side one by one takes less time than all at once."""


def take_down(
    capacities: DomainCapacities,
    level: int,
    domains: Sequence[int] | Ints,
    *,
    best_fit: bool,
    need: int,
) -> Share:
    """From ascending domains of `level`, which take `need` slices, to those of the slice level.

    Each level is taken in plain order among all children of those above it; how much one above
    takes does not matter.
    """
    topology, lowest = capacities.topology, capacities.constraints.level
    slices_of, pods_of = capacities.slices, capacities.pods
    while True:
        inside = _side_by_side(topology, level, domains)
        level += 1
        slices = pods = slices_of[level][inside]
        if pods_of is not slices_of:
            pods = pods_of[level][inside]
        chosen = choose_by_size(slices, pods, need, best_fit=best_fit)
        assert chosen is not None, "what domains take is what their children take together"
        numbers = topology.numbers[inside] if isinstance(inside, slice) else inside
        domains = numbers[chosen.domains]
        if level == lowest:
            return domains, shared_out(slices, chosen)[1]


def smallest_that_takes(capacities: DomainCapacities, level: int, need: int) -> int:
    """The smallest domain that takes all, with fewest pods, by path; or -1."""
    slices = capacities.slices[level]
    if len(slices) <= FEW:
        alike: list[int] | Ints = _smallest_of_few(slices.tolist(), need)
    elif (sizes := size_index_of(capacities, level)) is not None:
        alike = best_fit_domains(sizes, need)
    elif slices[slices.argmax()] < need:
        return -1
    else:
        smallest = np.where(slices >= need, slices, UNREACHABLE).argmin()
        alike = (slices == slices[smallest]).nonzero()[0]
    if not len(alike):
        return -1
    if len(alike) == 1 or capacities.pods is capacities.slices:
        return int(alike[0])
    return int(alike[int(capacities.pods[level][alike].argmin())])


def _smallest_of_few(sizes: list[int], need: int) -> list[int]:
    """All of the smallest that suffice."""
    enough = [size for size in sizes if size >= need]
    if len(enough) <= 1:
        return [sizes.index(size) for size in enough]
    smallest = min(enough)
    return [number for number, size in enumerate(sizes) if size == smallest]


def children(capacities: DomainCapacities, level: int, domains: Ints) -> Ints:
    """The domains below those of `level`, in order of their paths."""
    inside = _side_by_side(capacities.topology, level, np.sort(domains))
    return np.arange(inside.start, inside.stop) if isinstance(inside, slice) else inside


def _side_by_side(
    topology: FlavorTopology, level: int, parents: Sequence[int] | Ints
) -> "slice | Ints":
    """The children of ascending domains; a stretch of them where the parents are neighbours."""
    bounds = topology.bounds[level]
    first, last = int(parents[0]), int(parents[-1])
    if last - first == len(parents) - 1:
        return slice(bounds[first], bounds[last + 1])
    domains = np.asarray(parents)
    if len(domains) <= FEW_PARENTS:
        numbers = topology.numbers
        return np.concatenate([numbers[bounds[d] : bounds[d + 1]] for d in domains.tolist()])
    return topology.children_of(level, domains)[0]
