"""In which order domains of a level are visited; every order is total (topology.md §4.4).

Domains are handed in by ascending number, which is the order of their paths; sorting is stable, so
that paths decide where all else is equal.
"""

import numpy as np

from headgate.domain.scheduling.placement.by_size import (
    Share,
    choose_by_size,
    shared_out,
    take_counted,
)
from headgate.domain.scheduling.placement.domain_capacities import DomainCapacities, size_index_of
from headgate.domain.scheduling.placement.domain_selection import DomainList, take_until
from headgate.domain.scheduling.placement.host_table import Ints

RADIX_LIMIT = 1 << 16
"""Numbers below this are sorted and counted by their digits."""


def plain_order(
    capacities: DomainCapacities, level: int, domains: "slice | Ints", *, best_fit: bool
) -> Ints:
    """Score, then slices (large first for best fit, else small first), few pods, path."""
    slices = pods = capacities.slices[level][domains]
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[level][domains]
    return sorted_by(_keys(capacities, level, domains), slices, pods, best_fit=best_fit)


def leader_order(
    capacities: DomainCapacities, level: int, domains: Ints, *, best_fit: bool
) -> Ints:
    """Who can host the leader first, then as the plain order with the leader counted."""
    slices, pods = (
        capacities.slices_with_leader[level][domains],
        capacities.pods_with_leader[level][domains],
    )
    before = [*_keys(capacities, level, domains), -capacities.leader_capacity[level][domains]]
    return sorted_by(before, slices, pods, best_fit=best_fit)


def take_in_order(
    capacities: DomainCapacities, level: int, *, best_fit: bool, need: int
) -> Share | None:
    """Domains of a level in plain order until `need` slices lie somewhere, and what each takes."""
    if capacities.score:
        return _take_scored(capacities, level, best_fit=best_fit, need=need)
    slices, pods = capacities.slices[level], capacities.pods[level]
    sizes = size_index_of(capacities, level)
    if sizes is not None:
        return take_counted(sizes, pods, need, best_fit=best_fit)
    chosen = choose_by_size(slices, pods, need, best_fit=best_fit)
    return None if chosen is None else shared_out(slices, chosen)


def _take_scored(
    capacities: DomainCapacities, level: int, *, best_fit: bool, need: int
) -> Share | None:
    slices = capacities.slices[level]
    ordered = plain_order(capacities, level, slice(None), best_fit=best_fit)
    offered = slices[ordered]
    taken = take_until(
        DomainList(offered, offered, offered, capacities.score[level][ordered], best_fit), need
    )
    if taken is None:
        return None
    given = np.zeros(len(slices), dtype=np.int64)
    given[ordered[taken.chosen]] = taken.units
    domains = given.nonzero()[0]
    return domains, given[domains]


def _keys(capacities: DomainCapacities, level: int, domains: "slice | Ints") -> list[Ints]:
    return [-capacities.score[level][domains]] if capacities.score else []


def sorted_by(before: list[Ints], slices: Ints, pods: Ints, *, best_fit: bool) -> Ints:
    """The order of domains with these slices and pods, where the last of `before` counts first."""
    largest = int(slices.max(initial=0))
    size = largest - slices if best_fit else slices
    if before:
        return np.lexsort([pods, size, *before])
    key = size
    if pods is not slices:
        width = int(pods.max(initial=0)) + 1
        key, largest = size * width + pods, (largest + 1) * width - 1
    if largest < RADIX_LIMIT:
        return np.argsort(key.astype(np.uint16), kind="stable")
    return np.argsort(size, kind="stable") if pods is slices else np.lexsort([pods, size])
