"""Domains that evictions can free for a pod set, at what least cost, and their simulation.

For all domains at once: entries are sorted by host and protection, and what is freed after each
removal is a running sum (preemption.md §6.6, §6.7).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import add, floordiv, sub

import msgspec
import numpy as np

from headgate.domain.kinds.priority_classes import FIRST_PRIORITY
from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex, PodsOnHosts
from headgate.domain.scheduling.placement.capacity_cache import (
    RequestShape,
    capacities_for,
    compute_capacities,
)
from headgate.domain.scheduling.placement.domain_capacities import Capacities
from headgate.domain.scheduling.placement.host_table import OVERLAY, PODS, PROJECTED, Bools, Ints
from headgate.domain.scheduling.placement.partial_slices import slices_beside_tail, tail_of
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    free_at,
    pod_limits,
    single_pod_requests,
)
from headgate.domain.workloads.specs import PodSet

_LARGEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class EvictableEntries:
    """Evictable pods, host by host, ordered by domain and ascending protection.

    `leaves` are those of the flavor, `amounts` the usage of all `counts` pods of an entry, `orders`
    its place in the eviction order of its workload.
    """

    holders: Ints
    leaves: Ints
    domains: Ints
    protections: Ints
    counts: Ints
    amounts: Ints
    orders: Ints


def eviction_cost_bound(
    now: PlacementContext,
    pod_set: PodSet,
    request: tuple[int, Ints],
    pods: Ints,
    entries: EvictableEntries,
) -> Ints:
    """Returns for some domains of a level a lower bound of the weight of the pods evicted there.

    At least as many pods leave as make up for what the hosts lack in one resource, and none weighs
    less than the least protected of the domain (preemption.md §6.6, SCORE). A search skips domains
    with a bound above the best cost found. `pods` is what fits each leaf now.
    """
    level, found = request
    if not len(found) or not len(entries.domains):
        return np.zeros(len(found), dtype=np.int64)
    begins = np.searchsorted(entries.domains, found)
    leave = _pods_that_leave(now, pod_set, (level, found, begins), pods, entries)
    counts = np.cumsum(entries.counts)
    weights = entries.protections + FIRST_PRIORITY
    weighed = np.cumsum(weights * entries.counts)
    until = leave + (counts - entries.counts)[np.minimum(begins, len(counts) - 1)]
    last = np.minimum(np.searchsorted(counts, until), len(counts) - 1)
    before = (weighed - weights * entries.counts)[np.minimum(begins, len(counts) - 1)]
    least: Ints = weighed[last] - (counts[last] - until) * weights[last] - before
    return np.maximum(least, 0)


def _pods_that_leave(
    now: PlacementContext,
    pod_set: PodSet,
    request: tuple[int, Ints, Ints],
    pods: Ints,
    entries: EvictableEntries,
) -> Ints:
    """Returns a lower bound of the pods evicted from each domain."""
    level, found, begins = request
    most = np.zeros(len(found), dtype=np.int64)
    is_held = np.zeros(len(pods), dtype=np.bool_)
    is_held[entries.leaves] = True
    firsts = np.flatnonzero(np.concatenate([[True], entries.domains[1:] != entries.domains[:-1]]))
    of = np.minimum(np.searchsorted(entries.domains[firsts], found), len(firsts) - 1)
    for name, amount in sorted(single_pod_requests(pod_set).items()):
        line = now.table.resources.get(name)
        if line is None or amount <= 0:
            continue
        free = free_at(now, (name,), slice(0, len(pods)))[name]
        serves = np.where(is_held, free, pods * amount)
        lacks = pod_set.count * amount - np.add.reduceat(serves, now.topology.starts[level])[found]
        largest = np.maximum.reduceat(
            -(-entries.amounts[line] // np.maximum(entries.counts, 1)), firsts
        )[of]
        np.maximum(most, -(-lacks // np.maximum(largest, 1)), out=most)
    is_there = entries.domains[np.minimum(begins, len(entries.domains) - 1)] == found
    return np.where(is_there, most, 0)


class FreeableDomain(msgspec.Struct, frozen=True, gc=False):
    """A domain that can hold the shape once all its evictable pods have left.

    Every set of evictions that suffices has a victim protected by at least `min_protection` and a
    total weight of at least `min_weight`. `holders` are the numbers of its holders in the index,
    once for each of their hosts.
    """

    domain: int
    min_protection: int
    min_weight: int
    holders: Ints


def freeable_domains(
    now: PlacementContext,
    shape: RequestShape,
    level: int,
    evictable: tuple[AdmittedIndex, Bools],
    most: int,
) -> list[FreeableDomain]:
    """Returns up to `most` domains of a level that evictions can free.

    They are those with most free, and so with the fewest pods to move (preemption.md §6.7); at the
    lowest level those of the lowest possible protection, since leaves differ by it alone. Of equal
    ones the first have the single pods that come first in the eviction order of a workload.
    """
    if not len(now.topology.paths):
        return []
    entries = _entries(now, level, *evictable)
    with capacities_for(now, shape) as figures:
        can, pods = _pods(figures, level, shape.workers.count), figures.pods[-1].copy()
    steps = _steps(now, shape, pods, entries)
    room = np.add.reduceat(pods, now.topology.starts[level])
    could, min_protection = _reached(room, shape.workers.count, entries, steps)
    if not is_sum_of_hosts(shape, len(now.topology.levels)):
        could = _could(now, shape, level, entries)
    found = np.flatnonzero(could)
    is_leaf = level == len(now.topology.levels) - 1
    first = min_protection[found] if is_leaf else now.topology.zeros[level][found]
    orders = np.full(len(room), _LARGEST)
    np.minimum.at(orders, entries.domains, entries.orders)
    found = found[np.lexsort([found, orders[found], -can[found], first])][:most]
    min_weight = eviction_cost_bound(now, shape.workers, (level, found), pods, entries)
    begins = np.searchsorted(entries.domains, found)
    ends = np.searchsorted(entries.domains, found, side="right")
    listed = (found, min_protection[found], min_weight, begins, ends)
    return [
        FreeableDomain(domain, lowest, weighs, entries.holders[begin:end])
        for domain, lowest, weighs, begin, end in zip(*(n.tolist() for n in listed), strict=True)
    ]


def is_sum_of_hosts(shape: RequestShape, levels: int) -> bool:
    """Whether a domain holds as many pods as its hosts: without slices and leader."""
    constraints = shape.constraints
    return shape.leader is None and constraints.size == 1 and constraints.level == levels - 1


def _entries(
    now: PlacementContext, level: int, admitted: AdmittedIndex, mask: Bools
) -> EvictableEntries:
    leaves = now.topology.leaf_of_row[admitted.rows]
    of = np.flatnonzero((admitted.holders >= 0) & (leaves >= 0) & mask[admitted.holders])
    leaves, protections = leaves[of], admitted.protections[admitted.holders[of]]
    domains = np.searchsorted(now.topology.starts[level], leaves, side="right") - 1
    order = np.lexsort([protections, domains])
    of = of[order]
    return EvictableEntries(
        admitted.holders[of],
        leaves[order],
        domains[order],
        protections[order],
        admitted.counts[of],
        admitted.amounts[:, of],
        admitted.orders[admitted.holders[of]],
    )


def usable_hosts(
    now: PlacementContext, pod_sets: Iterable[PodSet], evictable: tuple[AdmittedIndex, Bools]
) -> Bools:
    """Returns which rows of the host table could hold a pod once all evictable pods have left."""
    entries, rows = _entries(now, len(now.topology.levels) - 1, *evictable), now.topology.rows
    free = now.table.free[PROJECTED][:, rows]
    np.add.at(free.T, entries.leaves, entries.amounts.T)
    usable: Bools = np.zeros(now.table.free[PROJECTED].shape[1], dtype=np.bool_)
    for pod_set in pod_sets:
        takes = pod_limits(now, pod_set, slice(0, len(rows))) > 0
        for name, amount in sorted(single_pod_requests(pod_set).items()):
            if name in now.table.resources:
                takes &= free[now.table.resources[name]] >= amount
        usable[rows[takes]] = True
    return usable


def _steps(
    now: PlacementContext, shape: RequestShape, pods: Ints, entries: EvictableEntries
) -> Ints:
    """Returns how many more pods fit a leaf as each entry leaves, ascending by protection."""
    order = np.argsort(entries.leaves, kind="stable")
    leaves = entries.leaves[order]
    if not len(leaves):
        return leaves
    is_first = np.ones(len(leaves), dtype=np.bool_)
    np.not_equal(leaves[1:], leaves[:-1], out=is_first[1:])
    group = np.cumsum(is_first) - 1
    begins = np.flatnonzero(is_first)
    rows = now.topology.rows[leaves]
    fits = np.full(len(leaves), _LARGEST)
    asked = {
        name: amount for name, amount in single_pod_requests(shape.workers).items() if amount > 0
    }
    for name, amount in sorted(asked.items()):
        line = now.table.resources.get(name)
        if line is None:
            return np.zeros(len(leaves), dtype=np.int64)
        freed = np.cumsum(entries.amounts[line, order])
        before = freed[begins] - entries.amounts[line, order[begins]]
        free = now.table.free[PROJECTED][line, rows] + freed - before[group]
        np.minimum(fits, free // amount, out=fits)
    fits = np.minimum(np.maximum(fits, 0), pod_limits(now, shape.workers, leaves))
    more = fits.copy()
    more[1:] -= fits[:-1]
    more[begins] = fits[begins] - pods[leaves[begins]]
    steps: Ints = np.empty_like(more)
    steps[order] = more
    return steps


def _reached(room: Ints, count: int, entries: EvictableEntries, steps: Ints) -> tuple[Bools, Ints]:
    """Returns which domains reach `count` pods, and the protection of the entry that does it."""
    reached, min_protection = room >= count, np.zeros(len(room), dtype=np.int64)
    grown = np.cumsum(steps)
    begins = np.searchsorted(entries.domains, np.arange(len(room)))
    before = np.concatenate([np.zeros(1, dtype=np.int64), grown])[begins]
    enough = np.flatnonzero((room - before)[entries.domains] + grown >= count)
    if len(enough):
        of = entries.domains[enough]
        firsts = np.flatnonzero(np.concatenate([np.ones(1, dtype=np.bool_), of[1:] != of[:-1]]))
        min_protection[of[firsts]] = entries.protections[enough[firsts]]
        reached[of] = True
    return reached, min_protection


def _could(
    now: PlacementContext, shape: RequestShape, level: int, entries: EvictableEntries
) -> Bools:
    """Returns which domains hold pods with slices or a leader once all evictable pods have left."""
    free = now.table.free[OVERLAY]
    free[:] = now.table.free[PROJECTED]
    rows = now.topology.rows[entries.leaves]
    for line in range(len(free)):
        np.add.at(free[line], rows, entries.amounts[line])
    figures = compute_capacities(replace(now, views=(OVERLAY,)), shape)
    could: Bools = _pods(figures, level, shape.workers.count) >= shape.workers.count
    return could


def fits_in_one_domain(now: PlacementContext, shape: RequestShape) -> bool:
    """Whether the shape fits the widest domain of the topology, a subtopology."""
    with capacities_for(now, shape) as figures:
        return int(_pods(figures, 0, shape.workers.count).max(initial=0)) >= shape.workers.count


def _pods(figures: Capacities, level: int, count: int) -> Ints:
    """Returns the pods that fit each domain of a level; 0 where the leader does not fit.

    With the tail that `count` has beyond whole slices.
    """
    tail, size = tail_of(count, figures.constraints), figures.constraints.size
    if tail:
        with_tail: Ints = np.maximum(slices_beside_tail(figures, tail, level) * size + tail, 0)
        return with_tail
    pods: Ints = figures.slices_with_leader[level] * size
    return pods * (figures.leader_capacity[level] > 0) if figures.has_leader else pods


FreedAmounts = tuple[tuple[int, tuple[int, ...]], ...]
"""What the removal of a workload frees on each leaf of the domain, resource by resource."""


LeafPods = list[tuple[int, int]]
"""Leaves of the domain, and the pods on each."""


class EvictionSimulation(msgspec.Struct, gc=False):
    """The free capacity of one domain in plain numbers, while evictions are tried in it.

    `lines` are the requested resources as lines of the host table, `asked` the requests of a pod;
    `free` and `room` are what each leaf has free and how many pods fit it, at most `limits`. The
    host table is unchanged until `write_trial_view` (preemption.md §6.6, steps 6 to 10).
    """

    context: PlacementContext
    count: int
    lines: tuple[int, ...]
    asked: tuple[int, ...]
    at: dict[int, int]
    free: list[list[int]]
    limits: list[int]
    room: list[int]
    total: int
    known: dict[str, FreedAmounts]

    def fits(self) -> bool:
        """Whether all pods of the pod set fit the domain."""
        return self.total >= self.count

    def leaf_pods(self, pods: tuple[PodsOnHosts, ...]) -> LeafPods | None:
        """Returns the leaves of these pods; None if some of them are outside the domain."""
        pairs = [
            (self.at.get(row), count)
            for rows, counts, _ in pods
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        ]
        found = [(leaf, count) for leaf, count in pairs if leaf is not None]
        return found if len(found) == len(pairs) else None

    def fits_at(self, placements: LeafPods) -> bool:
        """Whether the pod set fits exactly these leaves."""
        return self.fits() and all(self.room[leaf] >= count for leaf, count in placements)

    def remove(self, name: str, pods: Callable[[], tuple[PodsOnHosts, ...]]) -> None:
        """Removes a workload's pods from the domain."""
        for leaf, amounts in self._frees(name, pods):
            self._set(leaf, list(map(add, self.free[leaf], amounts)))

    def restore(self, name: str, pods: Callable[[], tuple[PodsOnHosts, ...]]) -> None:
        """Restores what `remove` freed."""
        for leaf, amounts in self._frees(name, pods):
            self._set(leaf, list(map(sub, self.free[leaf], amounts)))

    def write_trial_view(self) -> None:
        """Writes the simulated free capacity of the domain's hosts to the trial view."""
        table, rows = self.context.table, self.context.topology.rows
        amounts = np.array(self.free, dtype=np.int64)
        for number, line in enumerate(self.lines):
            table.free[OVERLAY][line, rows] = amounts[:, number]
        table.changes[OVERLAY].note(rows)

    def _set(self, leaf: int, free: list[int]) -> None:
        self.free[leaf] = free
        if limit := self.limits[leaf]:
            room = min(max(min(map(floordiv, free, self.asked)), 0), limit)
            self.total += room - self.room[leaf]
            self.room[leaf] = room

    def _frees(self, name: str, pods: Callable[[], tuple[PodsOnHosts, ...]]) -> FreedAmounts:
        """Returns what a workload frees; its pods are looked up at its first removal only."""
        known = self.known.get(name)
        if known is None:
            known = self.known[name] = tuple(_frees(self, pods()))
        return known


def eviction_simulation(context: PlacementContext, pod_set: PodSet) -> EvictionSimulation:
    """Returns the projected state of a domain for a pod set; the topology is a subtopology."""
    request = {
        name: amount for name, amount in sorted(single_pod_requests(pod_set).items()) if amount > 0
    }
    table, rows = context.table, context.topology.rows
    lines = tuple(table.resources[name] for name in request if name in table.resources)
    limits = pod_limits(context, pod_set, slice(0, len(rows))) * (len(lines) == len(request))
    asked = tuple(amount for name, amount in request.items() if name in table.resources)
    free = table.free[PROJECTED].take(rows, axis=1).take(lines, axis=0)
    room = np.minimum(np.maximum((free.T // np.array(asked)).min(axis=1), 0), limits)
    return EvictionSimulation(
        context=context,
        count=pod_set.count,
        lines=lines,
        asked=asked,
        at={row: leaf for leaf, row in enumerate(rows.tolist())},
        free=free.T.tolist(),
        limits=limits.tolist(),
        room=room.tolist(),
        total=int(room.sum()),
        known={},
    )


def _frees(
    clearing: EvictionSimulation, pods: tuple[PodsOnHosts, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    resources = clearing.context.table.resources
    for rows, counts, requests in pods:
        taken = {resources[name]: n for name, n in requests.items() if name in resources}
        taken.setdefault(resources[PODS], 1)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            leaf = clearing.at.get(row)
            if leaf is not None:
                yield leaf, tuple([count * taken.get(line, 0) for line in clearing.lines])
