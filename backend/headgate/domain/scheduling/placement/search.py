"""Choosing domains and hosts for one pod set: Kueue's best fit (reference topology.md §4.3-4.6).

Slices are kept together in one domain of their level; inner layers in multiples below it. Groups
with a leader and balanced placement are not in here.
"""

from dataclasses import dataclass

import numpy as np

from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.hosts import Ints


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many pods, at which level they search, and how they hold together.

    `level` is where the search begins; `climbs` lets it go up and take several domains at the top,
    `spreads` take several domains at once (unconstrained: least free capacity first).
    """

    count: int
    level: int
    climbs: bool = False
    spreads: bool = False
    slice_size: int = 1
    slice_level: int = -1
    inner: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Places, as indices into the flavor's places in path order, and the pods in each."""

    places: Ints
    counts: Ints


@dataclass(frozen=True, slots=True)
class Shortfall:
    """How many units (pods, or slices) fit in the best domain, or in all if several may serve."""

    fits: int
    needs: int
    level: int
    domain: tuple[str, ...]


def search(topology: FlavorTopology, pods: Ints, wanted: Wanted) -> Found | Shortfall:
    """Places for `wanted.count` pods when place `i` could take `pods[i]` of them."""
    if not len(pods):
        return Shortfall(0, wanted.count // wanted.slice_size, wanted.level, ())
    return _Search(topology, pods, wanted).run()


class _Search:
    """One search: capacities of all domains rolled up once, then chosen from."""

    def __init__(self, topology: FlavorTopology, pods: Ints, wanted: Wanted) -> None:
        self.topology = topology
        self.wanted = wanted
        self.last = len(topology.levels) - 1
        self.slice_level = self.last if wanted.slice_level < 0 else wanted.slice_level
        self.inner = dict(wanted.inner)
        self.need = wanted.count // wanted.slice_size
        self.pods, self.slices = self._roll_up(pods)

    def run(self) -> Found | Shortfall:
        chosen = self._choose_domains()
        if isinstance(chosen, Shortfall):
            return chosen
        level, domains, units = chosen
        while level < min(self.last, self.slice_level):
            below = self._children(level, domains)
            level += 1
            domains, units = self._fill(level, below, self.need)
        amounts = units * self.wanted.slice_size
        while level < self.last:
            domains, amounts = self._hand_down(level, domains, amounts)
            level += 1
        order = np.argsort(domains, kind="stable")
        return Found(domains[order], amounts[order])

    def _roll_up(self, leaf_pods: Ints) -> tuple[list[Ints], list[Ints]]:
        pods = [leaf_pods] * (self.last + 1)
        slices = [np.zeros_like(leaf_pods)] * (self.last + 1)
        for level in range(self.last, -1, -1):
            if level < self.last:
                unit = self.inner.get(level + 1, 1)
                below = pods[level + 1] - pods[level + 1] % unit if unit > 1 else pods[level + 1]
                begins = self.topology.first_child[level][:-1]
                pods[level] = np.add.reduceat(below, begins)
                slices[level] = np.add.reduceat(slices[level + 1], begins)
            if level == self.slice_level:
                size = self.wanted.slice_size
                slices[level] = pods[level] // size if size > 1 else pods[level]
        return pods, slices

    def _choose_domains(self) -> tuple[int, Ints, Ints] | Shortfall:
        level = self.wanted.level
        while True:
            one = self._best_single(level)
            if one is not None:
                return level, np.array([one]), np.array([self.need])
            if not self.wanted.climbs or level == 0:
                break
            level -= 1
        everything = np.arange(len(self.slices[level]))
        several = self.wanted.climbs or self.wanted.spreads
        if several and int(self.slices[level].sum()) >= self.need:
            return level, *self._fill(level, everything, self.need)
        return self._shortfall(level, several=several)

    def _best_single(self, level: int) -> int | None:
        capacity = self.slices[level]
        fitting = np.flatnonzero(capacity >= self.need)
        if not len(fitting):
            return None
        smallest = fitting[capacity[fitting] == capacity[fitting].min()]
        return int(smallest[np.argmin(self.pods[level][smallest])])

    def _fill(self, level: int, domains: Ints, need: int) -> tuple[Ints, Ints]:
        """Take domains, largest first (or smallest, when spreading); the last one fits tightest."""
        capacity = self.slices[level][domains]
        size = capacity if self.wanted.spreads else -capacity
        order = np.lexsort((domains, self.pods[level][domains], size))
        return self._take(domains[order], capacity[order], need)

    def _take(self, domains: Ints, capacity: Ints, need: int) -> tuple[Ints, Ints]:
        total = np.cumsum(capacity)
        last = int(np.searchsorted(total, need))
        rest = need - (int(total[last - 1]) if last else 0)
        closing = last
        if not self.wanted.spreads:
            tail = capacity[last:]
            closing = last + int(np.argmin(np.where(tail >= rest, tail, np.iinfo(np.int64).max)))
        chosen = np.append(domains[:last], domains[closing])
        units = np.append(capacity[:last], rest)
        return chosen[units > 0], units[units > 0]

    def _hand_down(self, level: int, domains: Ints, amounts: Ints) -> tuple[Ints, Ints]:
        """Each domain hands exactly its own pods to its children, smallest first (example E10)."""
        unit = self.inner.get(level + 1, 1)
        chosen, given = [], []
        for domain, amount in zip(domains, amounts, strict=True):
            children = self._children(level, np.array([domain]))
            pods = self.pods[level + 1][children]
            order = np.lexsort((children, pods))
            taken, units = self._take(children[order], pods[order] // unit, int(amount) // unit)
            chosen.append(taken)
            given.append(units * unit)
        return np.concatenate(chosen), np.concatenate(given)

    def _children(self, level: int, domains: Ints) -> Ints:
        begins = self.topology.first_child[level]
        return np.concatenate([np.arange(begins[d], begins[d + 1]) for d in np.sort(domains)])

    def _shortfall(self, level: int, *, several: bool) -> Shortfall:
        capacity = self.slices[level]
        best = int(np.argmax(capacity))
        fits = int(capacity.sum()) if several else int(capacity[best])
        path = () if several else self.topology.domain_path(level, best)
        return Shortfall(fits, self.need, level, path)
