"""What a workload could gain by making others leave: foreseen by flavor, planned for the whole."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Generic

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.scheduling.evaluation.candidate_mask import CandidateMask, mask_candidates
from headgate.domain.scheduling.evaluation.capacity_view import (
    CapacityView,
    Place,
    Seats,
    Workloads,
    cleared_room,
    host_room,
    parts_in,
    quota_room,
)
from headgate.domain.scheduling.evaluation.topology_domains import (
    DomainCandidate,
    Evictable,
    PreemptionDomain,
)
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.ordering.workload_order import queued_at
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.cycle_guard import victims_closing_cycle
from headgate.domain.scheduling.preemption.disruption_budgets import Budgets, budget_statuses
from headgate.domain.scheduling.preemption.eviction_graph import Epoch
from headgate.domain.scheduling.preemption.oracle import SimulatedPreemption, simulate_preemption
from headgate.domain.scheduling.preemption.post_validation import ExcludedVictims
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionRequest, Victim
from headgate.domain.scheduling.preemption.scoring import Score, plan_score
from headgate.domain.scheduling.preemption.victim_plan import (
    SearchRules,
    VictimPlan,
    in_reach,
    no_budgets,
    plan_victims,
)
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.quota.usage import Oracle, available, borrowing_level
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.state import Workload


class PreemptionContext(msgspec.Struct, frozen=True, gc=False):
    """A workload with everything that decides whom it may make leave, during one look.

    `simulations` is what was found in this look for an amount of one flavor's resource alone.
    """

    partition: Partition
    workloads: Workloads
    workload: Workload
    node: str
    spec: ClusterQueueSpec
    simulations: dict[tuple[FlavorResource, int], SimulatedPreemption] = {}

    @property
    def may_preempt(self) -> bool:
        """Whether it may make anyone leave at all."""
        policies = self.spec.preemption
        never = policies.within_cluster_queue == policies.reclaim_within_cohort == "Never"
        return self.workload.spec.can_preempt and not never

    @property
    def rules(self) -> SearchRules:
        """The parts of the search that the installation has chosen."""
        fair = self.partition.config.configuration.fair_sharing
        budgets = self.budgets
        return SearchRules(
            fair.preemption_strategies if fair else (),
            budget_protected=budgets.budget_protected if budgets.standings else no_budgets,
            judge=budgets.judge,
            guard=self._guard,
        )

    @property
    def budgets(self) -> Budgets:
        """The DisruptionBudgets that watch anyone."""
        known = self.partition.config.disruption_budgets
        return Budgets(budget_statuses(known, self.workloads.values()))

    def shield(self, other: Workload) -> str:
        """The rule by which someone is safe who has not run for long enough."""
        return self.partition.minimum_runtime.rule_protecting(other, node=self.node)

    def safe_now(self, node: str) -> list[str]:
        """Those who are shielded from it in a ClusterQueue."""
        return self.partition.minimum_runtime.protected_in(node, node=self.node)

    def candidates(self, names: Iterable[str]) -> Iterator[Candidate]:
        """Those who hold a place, with all that each holds; by parts whose single pods may go."""
        parts = self.partition.charges.divisible
        for name in dict.fromkeys(map(workload_of, names)) if parts else names:
            workload = self.workloads[name]
            if name in parts:
                yield from parts_in(self.partition, workload)
                continue
            charge = self.partition.charges.held_by(workload)
            yield Candidate(workload, f"clusterqueue/{charge.cluster_queue}", charge.amounts)

    def _guard(self, claim: PreemptionRequest, victims: Sequence[Victim]) -> ExcludedVictims:
        epoch = Epoch(
            self.workloads, self.partition.epoch_of(self.node.removeprefix("clusterqueue/"))
        )
        return victims_closing_cycle(
            self.partition.eviction_graph, epoch, claim.preemptor.key, victims
        )


def preemption_oracle(preemptor: PreemptionContext, *, preempts: bool) -> Oracle:
    """What to tell the choice of flavors; without preemption there are never candidates."""
    policies = preemptor.spec.preemption

    def simulate(key: FlavorResource, need: int) -> tuple[Mode, int]:
        if not preempts:
            tree, usage = preemptor.partition.tree, preemptor.partition.usage[PROJECTED]
            return Mode.NO_CANDIDATES, borrowing_level(tree, usage, preemptor.node, key, need)[0]
        found = preemptor.simulations.get((key, need)) or _foresee(preemptor, key, need)
        return found.mode, found.level

    borrows = policies.borrow_within_cohort.policy != "Never"
    fair = preemptor.partition.config.configuration.fair_sharing
    shares = bool(fair and fair.preemption_strategies) and policies.reclaim_within_cohort != "Never"
    return Oracle(simulate, while_borrowing=borrows or shares)


def _foresee(preemptor: PreemptionContext, key: FlavorResource, need: int) -> SimulatedPreemption:
    room = quota_room(preemptor.partition, preemptor.workloads)
    claim = _claim(preemptor, {key: need}, (key,))
    found = preemptor.simulations[key, need] = simulate_preemption(room, claim, preemptor.rules)
    return found


class PlacementDemand(msgspec.Struct, Generic[Place], frozen=True):
    """What is wanted: amounts of quota and a place, anywhere or level by level in a domain.

    `seats_in` finds places in a domain, or with None on any hosts; `levels` tells the domains, if
    these could be made to leave. `is_placeless` if it is known that no hosts have room as things
    are; `may_spread` if pods may lie in several domains where no single one can be made free.
    """

    amounts: FlavorResourceQuantities
    seats_in: Callable[[PreemptionDomain | None], Seats[Place]]
    levels: Callable[[Evictable], Sequence[Sequence[DomainCandidate]]]
    is_placeless: bool = False
    may_spread: bool = False


def find_victims(preemptor: PreemptionContext, wish: PlacementDemand[Place]) -> VictimPlan[Place]:
    """Who must leave so that the whole workload fits; of several domains the one that costs least.

    Quota alone is short if there is a place already; then no domain is better than another.
    """
    anywhere = wish.seats_in(None)
    simulations = _foreseen(preemptor, wish.amounts)
    if simulations is not None:
        place = anywhere.place() if simulations.place else None
        return VictimPlan(simulations.victims, place, simulations.stats, simulations.protected)
    has_place = not wish.is_placeless and anywhere.has_place()
    contested = _contested(preemptor, wish.amounts, has_place=has_place)
    claim = _claim(preemptor, wish.amounts, contested)
    found: VictimPlan[Place] = VictimPlan((), None)
    room = host_room(preemptor.partition, preemptor.workloads, anywhere)
    rules = preemptor.rules
    if has_place:
        return plan_victims(room, claim, rules)
    known = mask_candidates(
        preemptor.partition.charges.admitted(),
        preemptor.workloads,
        claim,
        in_reach(room, claim, rules),
        preemptor.safe_now,
    )
    levels = wish.levels((known.admitted, known.evictable))
    if not levels:
        return plan_victims(room, claim, rules)
    for level in levels:
        found = _cheapest(preemptor, (claim, known), wish, level)
        if found.place is not None:
            break
    else:
        if wish.may_spread:
            found = plan_victims(room, claim, rules)
    return replace(found, stats=known.stats)


def _foreseen(
    preemptor: PreemptionContext, amounts: FlavorResourceQuantities
) -> VictimPlan[bool] | None:
    """What was found when flavors were chosen, if that was for all that is wanted.

    One flavor's resource that lies on no hosts is all: whoever leaves, leaves for quota alone.
    """
    if len(amounts) != 1:
        return None
    ((key, need),) = amounts.items()
    if key[0] in preemptor.partition.topologies:
        return None
    found = preemptor.simulations.get((key, need))
    return found.plan if found else None


def _cheapest(
    preemptor: PreemptionContext,
    claimed: tuple[PreemptionRequest, CandidateMask],
    wish: PlacementDemand[Place],
    level: Sequence[DomainCandidate],
) -> VictimPlan[Place]:
    """The plan of the domain where it costs least; without any, what protected the others.

    Domains are tried from the one that could cost least; once the least that the next can cost is
    more than the best plan does, no further one can be better.
    """
    claim, known = claimed
    short = _contested(preemptor, wish.amounts, has_place=True)
    everyone = known.names() if short else []
    best: tuple[Score, VictimPlan[Place]] | None = None
    protected: ExcludedVictims = {}
    rules, budgets = preemptor.rules, preemptor.budgets
    for prospect in sorted(level, key=lambda each: each.least):
        if best is not None and best[0][:3] < (0, *prospect.least):
            break
        domain = prospect.look()
        here = replace(claim, short=short, occupies=domain.has)
        candidates = preemptor.candidates(everyone if short else domain.occupants)
        only = _by_node(found for found in candidates if here.is_blocked_by(found))
        room = _room_in(preemptor, wish.seats_in(domain), only)
        found = plan_victims(room, here, rules)
        protected.update(found.protected)
        if found.place is not None:
            score = plan_score(found.victims, budgets.violations(found.victims), domain.name)
            if best is None or score < best[0]:
                best = score, found
    return VictimPlan((), None, protected=protected) if best is None else best[1]


def _room_in(
    preemptor: PreemptionContext, seats: Seats[Place], only: Mapping[str, Sequence[Candidate]]
) -> CapacityView[Place]:
    partition, workloads = preemptor.partition, preemptor.workloads
    if seats.clearing is None:
        return host_room(partition, workloads, seats, only)
    return cleared_room(partition, workloads, seats, seats.clearing, only)


def _by_node(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.node, []).append(candidate)
    return found


def _claim(
    preemptor: PreemptionContext,
    amounts: FlavorResourceQuantities,
    contested: tuple[FlavorResource, ...],
) -> PreemptionRequest:
    spec = preemptor.spec
    old = replaced_slice(preemptor.partition, preemptor.workloads, preemptor.workload)
    return PreemptionRequest(
        preemptor.workload,
        preemptor.node,
        spec.preemption,
        lambda other: queued_at(other, spec),
        amounts,
        contested,
        shield=preemptor.shield,
        local_queue_usage=_consumed(preemptor),
        replaced_slice=old.key if old else "",
    )


def _consumed(preemptor: PreemptionContext) -> Callable[[Candidate], tuple[bool, Fraction]] | None:
    """How much the LocalQueue of each candidate has used; None where that has no say."""
    partition = preemptor.partition
    if partition.config.configuration.admission_fair_sharing is None:
        return None
    ranks = cache(partition.ranks)

    def local_queue_usage(candidate: Candidate) -> tuple[bool, Fraction]:
        holder = candidate.workload
        heap = f"{holder.namespace}/{holder.spec.queue_name}"
        return ranks(candidate.node.removeprefix("clusterqueue/"))(heap)

    return local_queue_usage


def _contested(
    preemptor: PreemptionContext, amounts: FlavorResourceQuantities, *, has_place: bool
) -> tuple[FlavorResource, ...]:
    """What quota is short of, and while there is no place, all that lies on hosts (§1.10)."""
    partition = preemptor.partition
    usage = partition.usage[PROJECTED]
    return tuple(
        key
        for key, amount in sorted(amounts.items())
        if amount > available(partition.tree, usage, preemptor.node, key)
        or (not has_place and key[0] in partition.topologies)
    )
