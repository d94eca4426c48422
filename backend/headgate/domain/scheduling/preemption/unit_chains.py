"""Parts of workloads in a search: what may go, or stay, only after other parts (§6.6, units).

Of a pod set single pods go one after the other, and what is left of the workload goes last. So a
part may only go if those before it go, and may only stay if those after it stay (trap T13).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from headgate.domain.scheduling.preemption.request import Amounts, Candidate, Victim
from headgate.domain.workloads.pods.eviction_units import combined_unit

Item = TypeVar("Item")
Key = TypeVar("Key")


class BlockedChains:
    """Chains in which someone was passed over; nobody later in such a chain may go."""

    def __init__(self) -> None:
        self._chains: dict[str, bool] = {}

    def stop(self, candidate: Candidate) -> None:
        """A candidate is passed over."""
        if candidate.part is not None:
            self._chains[candidate.part.chain] = True
            self._chains[candidate.workload.key] = True

    def holds_back(self, candidate: Candidate) -> bool:
        """Whether a candidate comes after one who was passed over."""
        part = candidate.part
        return part is not None and part.chain in self._chains


class RemovedChains:
    """Parts that stay removed; nobody who went before one of them may come back."""

    def __init__(self) -> None:
        self._chains: dict[str, bool] = {}

    def miss(self, candidate: Candidate) -> None:
        """A candidate stays removed."""
        if candidate.part is not None:
            self._chains[candidate.part.chain] = True

    def keeps_out(self, candidate: Candidate) -> bool:
        """Whether a candidate went before one who stays removed."""
        part = candidate.part
        if part is None or not self._chains:
            return False
        return candidate.workload.key in self._chains or part.chain in self._chains


def candidate_of(victim: Victim) -> Candidate:
    """Who a victim was before it was one."""
    return victim.candidate


def without_excluded(
    items: Iterable[Item], of: Callable[[Item], Candidate], is_out: Callable[[Candidate], bool]
) -> Iterator[Item]:
    """The items, in the order in which they go, without who is out and who comes after one."""
    stopped = BlockedChains()
    for item in items:
        candidate = of(item)
        if is_out(candidate):
            stopped.stop(candidate)
        elif not stopped.holds_back(candidate):
            yield item


def in_chain_order(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Candidates by importance, but parts of one workload among themselves as they would go."""
    if all(candidate.part is None for candidate in candidates):
        return candidates
    parts: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.part is not None:
            parts.setdefault(candidate.workload.key, []).append(candidate)
    return [each if each.part is None else parts[each.workload.key].pop() for each in candidates]


def merge_by_workload(victims: Sequence[Victim]) -> tuple[Victim, ...]:
    """One victim for each workload, in the order in which they begin to go.

    One of whom all has to go is a victim as a whole.
    """
    if all(victim.candidate.part is None for victim in victims):
        return tuple(victims)
    groups: dict[str, list[Victim]] = {}
    for victim in victims:
        groups.setdefault(victim.workload.key, []).append(victim)
    return tuple(_one(group) for group in groups.values())


def _one(group: list[Victim]) -> Victim:
    first = group[0]
    amounts: Amounts = {}
    pods: dict[str, int] = {}
    is_whole = False
    for victim in group:
        part = victim.candidate.part
        if part is None:
            return victim
        is_whole = is_whole or part.is_remainder
        _add(amounts, victim.candidate.amounts)
        _add(pods, part.pods)
    part = None if is_whole else combined_unit(first.workload, pods)
    return replace(first, candidate=replace(first.candidate, amounts=amounts, part=part))


def _add(sums: dict[Key, int], more: Mapping[Key, int]) -> None:
    for key, amount in more.items():
        sums[key] = sums.get(key, 0) + amount
