"""Arrays over all admitted workloads: their queues, protections and usage, host by host.

A search for victims filters thousands of candidates with a few array operations (preemption.md
§6.7).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from headgate.domain.scheduling.placement.host_table import PODS, Bools, HostTable, Ints
from headgate.domain.values.quantities import Requests

PodsOnHosts: TypeAlias = tuple[Ints, Ints, Requests]
"""Rows of the host table, the pods on each, and the requests of one pod."""

UNUSED = -1
INITIAL_LENGTH = 64


@dataclass(frozen=True, slots=True)
class AdmittedUnit:
    """An admitted workload's queue, protection and pods, or those of single pods of it.

    With an `eviction_unit` these are single pods that may be evicted, under that name; not all of
    one workload may be, and those of the lowest `order` are first.
    """

    queue: str
    protection: int
    is_preemptible: bool
    pods: tuple[PodsOnHosts, ...]
    eviction_unit: str = ""
    order: int = 0


class AdmittedIndex:
    """Arrays over numbered holders (workloads, or single pods of them) and over their entries.

    `names[n]` is holder `n`, empty for an unused number. `rows`, `holders`, `counts` and `amounts`
    have one entry for each holder on each host; entries of the holder `UNUSED` are void.
    `units_of` names the single pods of a workload that are holders of their own.
    """

    def __init__(self, table: HostTable) -> None:
        self._table = table
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self._free: list[int] = []
        self._queues: dict[str, int] = {}
        self._spans: dict[int, tuple[int, int]] = {}
        self.units_of: dict[str, tuple[str, ...]] = {}
        self._end = self._void = 0
        self._protections, self._in_queue = _ints(INITIAL_LENGTH), _ints(INITIAL_LENGTH)
        self._orders = _ints(INITIAL_LENGTH)
        self._preemptible: Bools = np.zeros(INITIAL_LENGTH, dtype=np.bool_)
        self._rows, self._holders = _ints(INITIAL_LENGTH), _ints(INITIAL_LENGTH)
        self._counts = _ints(INITIAL_LENGTH)
        self._amounts: Ints = np.zeros((len(table.resources), INITIAL_LENGTH), dtype=np.int64)

    def __contains__(self, key: str) -> bool:
        """Whether a workload is indexed, whole or by its single pods."""
        return key in self.numbers or key in self.units_of

    @property
    def protections(self) -> Ints:
        """The priority that protects each holder."""
        return self._protections[: len(self.names)]

    @property
    def orders(self) -> Ints:
        """The place of each holder in the eviction order of its workload, 0 for whole ones."""
        return self._orders[: len(self.names)]

    @property
    def preemptible(self) -> Bools:
        """Which holders may be preempted; false for unused numbers."""
        return self._preemptible[: len(self.names)]

    @property
    def rows(self) -> Ints:
        """The host of each entry, as a row of the host table."""
        return self._rows[: self._end]

    @property
    def holders(self) -> Ints:
        """The holder number of each entry."""
        return self._holders[: self._end]

    @property
    def counts(self) -> Ints:
        """The pods of each entry."""
        return self._counts[: self._end]

    @property
    def amounts(self) -> Ints:
        """The usage of each entry, with a line for each resource of the host table."""
        return self._amounts[:, : self._end]

    def in_cluster_queue(self, queue: str) -> Bools:
        """Returns a mask of the holders admitted through a ClusterQueue."""
        number = self._queues.get(queue, UNUSED - 1)
        found: Bools = self._in_queue[: len(self.names)] == number
        return found

    def lowest_protection(self, queue: str, without: Iterable[str]) -> int | None:
        """Returns the lowest protection of holders of a ClusterQueue that may be preempted.

        Holders of the workloads `without` do not count; None where no other holder is left.
        """
        mask = self.in_cluster_queue(queue) & self.preemptible
        for workload in without:
            for name in (workload, *self.units_of.get(workload, ())):
                if name in self.numbers:
                    mask[self.numbers[name]] = False
        left = self.protections[mask]
        return int(left.min()) if left.size else None

    def single_pods(self) -> Bools:
        """Returns a mask of the holders that are single pods of a workload."""
        return mask_of(self, chain.from_iterable(self.units_of.values()))

    def names_in(self, mask: Bools) -> list[str]:
        """Returns the names of the holders in a mask."""
        return [self.names[number] for number in mask.nonzero()[0].tolist()]

    def add(self, name: str, *standings: AdmittedUnit) -> None:
        """Replaces a workload's holders by these units."""
        self.remove(name)
        for standing in standings:
            self._put(standing.eviction_unit or name, standing)
        if len(standings) > 1:
            self.units_of[name] = tuple(
                standing.eviction_unit for standing in standings if standing.eviction_unit
            )

    def remove(self, name: str) -> None:
        """Removes a workload's holders, if it has any."""
        for eviction_unit in self.units_of.pop(name, ()):
            self._drop(eviction_unit)
        self._drop(name)

    def _put(self, name: str, standing: AdmittedUnit) -> None:
        number = self._free.pop() if self._free else self._new_number()
        self.numbers[name], self.names[number] = number, name
        self._protections[number] = standing.protection
        self._orders[number] = standing.order
        self._preemptible[number] = standing.is_preemptible
        self._in_queue[number] = self._queues.setdefault(standing.queue, len(self._queues))
        begin = self._end
        for pods in standing.pods:
            self._add(number, pods)
        self._spans[number] = begin, self._end

    def _drop(self, name: str) -> None:
        number = self.numbers.pop(name, None)
        if number is None:
            return
        self.names[number] = ""
        self._preemptible[number], self._in_queue[number] = False, UNUSED
        self._free.append(number)
        begin, end = self._spans.pop(number)
        self._holders[begin:end] = UNUSED
        self._void += end - begin
        if self._void > max(INITIAL_LENGTH, self._end // 2):
            self._close_gaps()

    def _new_number(self) -> int:
        if len(self.names) == len(self._protections):
            self._protections = _doubled(self._protections)
            self._in_queue = _doubled(self._in_queue)
            self._orders = _doubled(self._orders)
            self._preemptible = np.append(self._preemptible, np.zeros_like(self._preemptible))
        self.names.append("")
        return len(self.names) - 1

    def _add(self, number: int, pods: PodsOnHosts) -> None:
        rows, counts, requests = pods
        begin, end = self._end, self._end + len(rows)
        while end > len(self._rows):
            self._rows, self._holders = _doubled(self._rows), _doubled(self._holders)
            self._counts = _doubled(self._counts)
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)], axis=1)
        self._rows[begin:end], self._holders[begin:end] = rows, number
        self._counts[begin:end] = counts
        self._amounts[:, begin:end] = 0
        for resource, amount in {PODS: 1, **requests}.items():
            line = self._table.resources.get(resource)
            if line is not None:
                self._amounts[line, begin:end] = amount * counts
        self._end = end

    def _close_gaps(self) -> None:
        stays = self.holders != UNUSED
        moved_to = np.cumsum(stays) - stays
        count = int(stays.sum())
        for kept in (self._rows, self._holders, self._counts):
            kept[:count] = kept[: self._end][stays]
        self._amounts[:, :count] = self._amounts[:, : self._end][:, stays]
        for number, (begin, end) in self._spans.items():
            first = int(moved_to[begin]) if begin < end else 0
            self._spans[number] = first, first + end - begin
        self._end, self._void = count, 0


def mask_of(admitted: AdmittedIndex, names: Iterable[str]) -> Bools:
    """Returns a mask of the holders among these names."""
    mask = np.zeros(len(admitted.names), dtype=np.bool_)
    mask[[admitted.numbers[name] for name in names if name in admitted.numbers]] = True
    return mask


def _ints(length: int) -> Ints:
    return np.zeros(length, dtype=np.int64)


def _doubled(array: Ints) -> Ints:
    return np.concatenate([array, np.zeros_like(array)])
