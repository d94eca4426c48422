"""What DisruptionBudgets mean for a search: whom to ask last, and whom not at all (C7, trap T18).

BestEffort budgets cost, Strict ones forbid. Neither holds against who takes back what its side
owns: there a Strict budget counts like a BestEffort one.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headgate.domain.scheduling.preemption.claims import (
    GUARANTEEING,
    Candidate,
    Claim,
    Field,
    Victim,
)
from headgate.domain.scheduling.preemption.disruption import (
    BudgetStanding,
    Removal,
    is_strict,
    violated_budgets,
    whole,
)
from headgate.domain.scheduling.preemption.fair import Strategies
from headgate.domain.scheduling.preemption.legality import Wrongs, wrongs_in_the_end
from headgate.domain.workloads.preemption.protecting import protection_of


class Budgets(msgspec.Struct, frozen=True, gc=False):
    """All budgets as they stand before the search."""

    standings: tuple[BudgetStanding, ...]

    def late(self, candidates: Sequence[Candidate]) -> Mapping[str, bool]:
        """Who is asked last: those beyond the allowance, which the most important use up first."""
        if not self.standings:
            return {}
        broken = violated_budgets(self.standings, [removal_of(found) for found in candidates])
        pairs = zip(candidates, broken, strict=True)
        return {candidate.key: True for candidate, names in pairs if names}

    def violations(self, victims: Sequence[Victim]) -> int:
        """How many victims break a budget, counted again on those who are really taken."""
        return sum(1 for _, names in self._broken(victims) if names)

    def judge(
        self, field: Field, claim: Claim, victims: Sequence[Victim], strategies: Strategies
    ) -> Wrongs:
        """The wrongs in the end state, and those whom a Strict budget protects."""
        wrongs = wrongs_in_the_end(field, claim, victims, strategies)
        for victim, names in self._broken(victims):
            if victim.scope not in GUARANTEEING and is_strict(self.standings, names):
                wrongs[victim.candidate.key] = f"DisruptionBudget {names[0]} protects it"
        return wrongs

    def _broken(self, victims: Sequence[Victim]) -> list[tuple[Victim, tuple[str, ...]]]:
        if not self.standings:
            return []
        ranked = by_protection(victims)
        removals = [removal_of(victim.candidate) for victim in ranked]
        broken = violated_budgets(self.standings, removals)
        return list(zip(ranked, broken, strict=True))


def by_protection(victims: Iterable[Victim]) -> list[Victim]:
    """The best protected first; parts of one workload as they go (trap T11)."""
    return sorted(victims, key=_rank)


def removal_of(candidate: Candidate) -> Removal:
    """What a budget sees go."""
    part = candidate.part
    if part is None:
        return whole(candidate.workload)
    return Removal(candidate.workload, candidate.pods, part.is_rest)


def _rank(victim: Victim) -> tuple[int, str, int]:
    part = victim.candidate.part
    turn = 0 if part is None else part.turn
    return (-protection_of(victim.workload.spec), victim.workload.uid, turn)
