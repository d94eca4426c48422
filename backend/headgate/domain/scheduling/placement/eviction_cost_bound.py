"""What making room in a domain costs at least, before anyone is chosen (preemption.md §6.6, SCORE).

A search that knows it need not look at domains that cannot be the cheapest.
"""

from dataclasses import dataclass

import numpy as np

from headgate.domain.priorities.rules import FIRST_PRIORITY
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    free_at,
    single_pod_requests,
)
from headgate.domain.workloads.specs import PodSet


@dataclass(frozen=True, slots=True)
class EvictableEntries:
    """Pods that can be made to leave, host by host, by domain and the least protected first.

    `places` are those of the flavor, `amounts` what all `counts` pods of an entry take.
    """

    holders: Ints
    places: Ints
    domains: Ints
    protections: Ints
    counts: Ints
    amounts: Ints


def eviction_cost_bound(
    now: PlacementContext,
    pod_set: PodSet,
    wanted: tuple[int, Ints],
    pods: Ints,
    entries: EvictableEntries,
) -> Ints:
    """For some domains of a level the least weight of pods whose hosts could hold the pod set.

    So many pods leave at least as make up for what the hosts lack in one resource; no others weigh
    less than the least protected of the domain. `pods` is what places have room for now.
    """
    level, found = wanted
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
    wanted: tuple[int, Ints, Ints],
    pods: Ints,
    entries: EvictableEntries,
) -> Ints:
    """How many pods leave each domain at least."""
    level, found, begins = wanted
    most = np.zeros(len(found), dtype=np.int64)
    is_held = np.zeros(len(pods), dtype=np.bool_)
    is_held[entries.places] = True
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
