"""One domain in plain numbers, to try who of many must leave it (preemption.md §6.6, 6 to 10).

The host table is not touched; what is free in the domain is told to its trial view when a place is
looked for.
"""

from collections.abc import Callable, Iterator
from operator import add, floordiv, sub

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.admitted_index import HostPods
from headgate.domain.scheduling.placement.eligibility import eligible_leaves
from headgate.domain.scheduling.placement.host_table import PODS, PROJECTED, TRIAL
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    schedulable_leaves,
    single_pod_requests,
)
from headgate.domain.workloads.specs import PodSet

FreedAmounts = tuple[tuple[int, tuple[int, ...]], ...]
"""What someone's leaving frees on each host of the domain, resource by resource."""

LeafPods = list[tuple[int, int]]
"""Hosts of the domain, and how many pods go to each."""


class EvictionSimulation(msgspec.Struct, gc=False):
    """What is free on each host of a domain, in what one kind of pod asks for.

    `lines` are the resources that a pod asks for, as lines of the host table, `asked` the amounts,
    `free` and `room` what each host has of them and how many pods it has room for.
    """

    context: PlacementContext
    count: int
    lines: tuple[int, ...]
    asked: tuple[int, ...]
    at: dict[int, int]
    free: list[list[int]]
    takes: list[bool]
    room: list[int]
    total: int
    known: dict[str, FreedAmounts]

    def fits(self) -> bool:
        """Whether all pods fit somewhere in the domain."""
        return self.total >= self.count

    def leaf_pods(self, pods: tuple[HostPods, ...]) -> LeafPods | None:
        """Where in the domain so many pods go; None if some of these hosts are not in it."""
        pairs = [
            (self.at.get(row), count)
            for rows, counts, _ in pods
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        ]
        found = [(place, count) for place, count in pairs if place is not None]
        return found if len(found) == len(pairs) else None

    def fits_at(self, seats: LeafPods) -> bool:
        """Whether so many pods fit on exactly these hosts; they are all that want a place."""
        return self.fits() and all(self.room[place] >= count for place, count in seats)

    def remove(self, name: str, pods: Callable[[], tuple[HostPods, ...]]) -> None:
        """Someone with these pods leaves."""
        for place, amounts in self._frees(name, pods):
            self._set(place, list(map(add, self.free[place], amounts)))

    def restore(self, name: str, pods: Callable[[], tuple[HostPods, ...]]) -> None:
        """The opposite."""
        for place, amounts in self._frees(name, pods):
            self._set(place, list(map(sub, self.free[place], amounts)))

    def write_trial_view(self) -> None:
        """Make the trial view of the domain's hosts show what is free here."""
        table, rows = self.context.table, self.context.topology.rows
        amounts = np.array(self.free, dtype=np.int64)
        for number, line in enumerate(self.lines):
            table.free[TRIAL][line, rows] = amounts[:, number]
        table.changes[TRIAL].note(rows)

    def _set(self, place: int, free: list[int]) -> None:
        self.free[place] = free
        if self.takes[place]:
            room = max(min(map(floordiv, free, self.asked)), 0)
            self.total += room - self.room[place]
            self.room[place] = room

    def _frees(self, name: str, pods: Callable[[], tuple[HostPods, ...]]) -> FreedAmounts:
        """The pods are asked for only when someone is moved for the first time."""
        known = self.known.get(name)
        if known is None:
            known = self.known[name] = tuple(_frees(self, pods()))
        return known


def eviction_simulation(context: PlacementContext, pod_set: PodSet) -> EvictionSimulation:
    """The domain as it will be once everyone leaving has left; the topology is a part of one."""
    wanted = {
        name: amount for name, amount in sorted(single_pod_requests(pod_set).items()) if amount > 0
    }
    table, rows = context.table, context.topology.rows
    lines = tuple(table.resources[name] for name in wanted if name in table.resources)
    takes = schedulable_leaves(context, slice(0, len(rows)))
    takes = takes & eligible_leaves(context, pod_set.scheduling).mask & (len(lines) == len(wanted))
    asked = tuple(amount for name, amount in wanted.items() if name in table.resources)
    free = table.free[PROJECTED].take(rows, axis=1).take(lines, axis=0)
    room = np.maximum((free.T // np.array(asked)).min(axis=1), 0) * takes
    return EvictionSimulation(
        context=context,
        count=pod_set.count,
        lines=lines,
        asked=asked,
        at={row: place for place, row in enumerate(rows.tolist())},
        free=free.T.tolist(),
        takes=takes.tolist(),
        room=room.tolist(),
        total=int(room.sum()),
        known={},
    )


def _frees(
    clearing: EvictionSimulation, pods: tuple[HostPods, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    resources = clearing.context.table.resources
    for rows, counts, requests in pods:
        taken = {resources[name]: n for name, n in requests.items() if name in resources}
        taken.setdefault(resources[PODS], 1)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            place = clearing.at.get(row)
            if place is not None:
                yield place, tuple([count * taken.get(line, 0) for line in clearing.lines])
