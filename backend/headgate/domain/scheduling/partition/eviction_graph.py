"""The graph of evictions of the present epoch: which workloads were evicted for which preemptor.

preemption.md §6.9. A workload that takes the nominated capacity of a round counts as evicting its
preemptor (trap P5). An epoch spans evictions between unfinished workloads with unchanged
priorities, under unchanged policies and quotas.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

import msgspec

from headgate.domain.rounds.state import PreemptionReason, Round
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload

RECLAIM_REASONS: tuple[PreemptionReason, ...] = ("InCohortReclamation",)
"""Reasons of evictions that reclaim what a subtree with the preemptor owns."""

EvictionEdges: TypeAlias = dict[str, dict[str, bool]]
"""Preemptor to victim to whether the eviction reclaimed."""


class Epoch(msgspec.Struct, frozen=True, gc=False):
    """The conditions under which a past eviction still counts."""

    workloads: Mapping[str, Workload]
    name: str

    def counts(self, found: Round) -> bool:
        """Whether the round was decided in this epoch for a preemptor that is unchanged."""
        preemptor = self.workloads.get(found.preemptor)
        return (
            found.epoch == self.name
            and preemptor is not None
            and preemptor.finished_at is None
            and preemptor.spec.priority == found.preemptor_priority
        )

    def is_unfinished(self, key: str) -> bool:
        """Whether a workload exists and has not finished."""
        known = self.workloads.get(key)
        return known is not None and known.finished_at is None

    def victims_of(self, found: Round) -> Iterable[tuple[str, bool]]:
        """Yields the unchanged victims of a round, and whether each was reclaimed."""
        for named in found.victims:
            victim = self.workloads.get(named.workload)
            if (
                victim is not None
                and victim.finished_at is None
                and victim.spec.priority == named.priority
                and protection_of(victim.spec) == named.protection
            ):
                yield named.workload, named.reason in RECLAIM_REASONS


class EvictionGraph:
    """The known rounds by preemptor, in the order in which they were committed."""

    def __init__(self) -> None:
        self._rounds: dict[str, Round] = {}
        self._rounds_of: dict[str, dict[str, bool]] = {}

    def put(self, found: Round) -> None:
        """Records a round that was committed or has changed."""
        known = self._rounds.get(found.id)
        if known is not None:
            self._drop(known)
        self._rounds[found.id] = found
        for key in _evicting_workloads(found):
            self._rounds_of.setdefault(key, {})[found.id] = True

    def remove(self, found: Round) -> None:
        """Removes a round."""
        self._rounds.pop(found.id, None)
        self._drop(found)

    def is_preemptor(self, key: str) -> bool:
        """Whether a workload has an edge to a victim, or took the capacity of a round."""
        return key in self._rounds_of

    def has_path(self, epoch: Epoch, start: str, end: str) -> bool:
        """Whether a chain of evictions leads from one workload to another."""
        return self.is_preemptor(start) and bool(shortest_path(self.edges(epoch), start, end))

    def edges(self, epoch: Epoch) -> EvictionEdges:
        """Returns the evictions of an epoch, and the nominated capacity taken in it.

        Where a reclaiming eviction closes a cycle, the discretionary evictions on the cycle are
        dropped: the cycle guard refuses the next of them.
        """
        edges: EvictionEdges = {}
        for found in self._rounds.values():
            if not epoch.counts(found):
                continue
            for victim, reclaims in epoch.victims_of(found):
                if reclaims:
                    _break_cycles(edges, victim, found.preemptor)
                edges.setdefault(found.preemptor, {})[victim] = reclaims
            if epoch.is_unfinished(found.taken_by):
                edges.setdefault(found.taken_by, {}).setdefault(found.preemptor, False)
        return edges

    def _drop(self, found: Round) -> None:
        for key in _evicting_workloads(found):
            known = self._rounds_of.get(key, {})
            known.pop(found.id, None)
            if not known:
                self._rounds_of.pop(key, None)


def _evicting_workloads(found: Round) -> tuple[str, ...]:
    """The preemptor of a round, and the workload that took its nominated capacity."""
    return (found.preemptor, found.taken_by) if found.taken_by else (found.preemptor,)


def _break_cycles(edges: EvictionEdges, start: str, end: str) -> None:
    """Drops the discretionary edges of every path from `start` to `end` that has one."""
    while found := shortest_path(edges, start, end):
        steps = list(pairwise(found))
        discretionary = [(a, b) for a, b in steps if not edges[a][b]]
        if not discretionary:
            return
        for preemptor, victim in discretionary:
            del edges[preemptor][victim]


def shortest_path(
    edges: EvictionEdges, start: str, end: str, *, only_reclaim: bool = False
) -> tuple[str, ...]:
    """Returns the shortest chain of evictions between two workloads; empty if there is none."""
    before: dict[str, str] = {start: ""}
    ahead = deque([start])
    while ahead:
        here = ahead.popleft()
        for there, reclaims in edges.get(here, {}).items():
            if there in before or (only_reclaim and not reclaims):
                continue
            before[there] = here
            if there == end:
                return _path_to(end, before)
            ahead.append(there)
    return ()


def _path_to(end: str, before: Mapping[str, str]) -> tuple[str, ...]:
    path = [end]
    while before[path[0]]:
        path.insert(0, before[path[0]])
    return tuple(path)
