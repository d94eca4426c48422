"""Who was made to leave for whom in the present epoch (preemption.md §6.9).

Taking the place that a round keeps counts like evicting its preemptor (trap T5).
An epoch are evictions between workloads that are unfinished, have the priorities they had, and
stand under unchanged policies and quotas.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

import msgspec

from headgate.domain.rounds.events import PreemptionReason
from headgate.domain.rounds.state import Round
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload

RECLAIM_REASON: PreemptionReason = "InCohortReclamation"
"""Kueue's word for taking back what the preemptor's side owns."""

EvictionEdges: TypeAlias = dict[str, dict[str, bool]]
"""Who made whom leave: preemptor to victim to whether it took back what its side owns."""


class Epoch(msgspec.Struct, frozen=True, gc=False):
    """Which of the past evictions still count."""

    workloads: Mapping[str, Workload]
    name: str

    def counts(self, found: Round) -> bool:
        """Whether it was decided under today's policies, for someone who is still as it was."""
        preemptor = self.workloads.get(found.preemptor)
        return (
            found.epoch == self.name
            and preemptor is not None
            and preemptor.finished_at is None
            and preemptor.spec.priority == found.preemptor_priority
        )

    def lasts(self, key: str) -> bool:
        """Whether a workload still exists and has not ended."""
        known = self.workloads.get(key)
        return known is not None and known.finished_at is None

    def victims_of(self, found: Round) -> Iterable[tuple[str, bool]]:
        """The victims that still count, and whether each was taken by right of what is owned."""
        for named in found.victims:
            victim = self.workloads.get(named.workload)
            if (
                victim is not None
                and victim.finished_at is None
                and victim.spec.priority == named.priority
                and protection_of(victim.spec) == named.protection
            ):
                yield named.workload, named.reason == RECLAIM_REASON


class EvictionGraph:
    """The rounds that are known, by preemptor and in the order in which they were committed."""

    def __init__(self) -> None:
        self._rounds: dict[str, Round] = {}
        self._rounds_of: dict[str, dict[str, bool]] = {}

    def put(self, found: Round) -> None:
        """A round began or went on."""
        known = self._rounds.get(found.id)
        if known is not None:
            self._forget(known)
        self._rounds[found.id] = found
        for key in _displacers(found):
            self._rounds_of.setdefault(key, {})[found.id] = True

    def remove(self, found: Round) -> None:
        """A round is not known any more."""
        self._rounds.pop(found.id, None)
        self._forget(found)

    def is_preemptor(self, key: str) -> bool:
        """Whether someone was ever made to leave for it, or lost to it what a round kept."""
        return key in self._rounds_of

    def leads(self, epoch: Epoch, start: str, end: str) -> bool:
        """Whether there is a chain of evictions and thefts from one workload to another."""
        return self.is_preemptor(start) and bool(
            shortest_path(self.followers(epoch), start, end, lambda _: True)
        )

    def followers(self, epoch: Epoch) -> EvictionEdges:
        """Who made whom leave, or took what was kept for whom, in an epoch.

        Where a guaranteed eviction closes a circle, the other evictions on the way back are
        forgotten: the next lap is refused at one of them.
        """
        edges: EvictionEdges = {}
        for found in self._rounds.values():
            if not epoch.counts(found):
                continue
            for victim, is_guaranteed in epoch.victims_of(found):
                if is_guaranteed:
                    _open_circles(edges, victim, found.preemptor)
                edges.setdefault(found.preemptor, {})[victim] = is_guaranteed
            if epoch.lasts(found.taken_by):
                edges.setdefault(found.taken_by, {}).setdefault(found.preemptor, False)
        return edges

    def _forget(self, found: Round) -> None:
        for key in _displacers(found):
            known = self._rounds_of.get(key, {})
            known.pop(found.id, None)
            if not known:
                self._rounds_of.pop(key, None)


def _displacers(found: Round) -> tuple[str, ...]:
    """For whom others were made to leave by a round, and who took its place."""
    return (found.preemptor, found.taken_by) if found.taken_by else (found.preemptor,)


def _open_circles(edges: EvictionEdges, start: str, end: str) -> None:
    """Forget the discretionary steps on every way from `start` to `end` that has one."""
    while found := shortest_path(edges, start, end, lambda _: True):
        steps = list(pairwise(found))
        discretionary = [(a, b) for a, b in steps if not edges[a][b]]
        if not discretionary:
            return
        for preemptor, victim in discretionary:
            del edges[preemptor][victim]


def shortest_path(
    edges: EvictionEdges, start: str, end: str, may_use: Callable[[bool], bool]
) -> tuple[str, ...]:
    """The shortest chain of evictions from one workload to another; empty if there is none."""
    before: dict[str, str] = {start: ""}
    ahead = deque([start])
    while ahead:
        here = ahead.popleft()
        for there, is_guaranteed in edges.get(here, {}).items():
            if there in before or not may_use(is_guaranteed):
                continue
            before[there] = here
            if there == end:
                return _unwound(before, end)
            ahead.append(there)
    return ()


def _unwound(before: Mapping[str, str], end: str) -> tuple[str, ...]:
    way = [end]
    while before[way[0]]:
        way.insert(0, before[way[0]])
    return tuple(way)
