"""The victims for a whole workload, in quota and on hosts (Kueue: preemption.GetTargets).

Of several topology domains the plan that costs least is taken (preemption.md §6.6, §6.7).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.scheduling.partition.eviction_graph import Epoch
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import PlacementDemand
from headgate.domain.scheduling.placement.host_table import PROJECTED, Bools
from headgate.domain.scheduling.preemption.candidates import CandidateMask, mask_candidates
from headgate.domain.scheduling.preemption.capacity_view import (
    CandidatesByNode,
    CapacityView,
    units_of,
)
from headgate.domain.scheduling.preemption.disruption_budgets import Budgets
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionRequest
from headgate.domain.scheduling.preemption.topology_domains import (
    DomainCandidate,
    DomainCombination,
    FollowUps,
    PlanScore,
    PreemptionDomain,
    plan_score,
    preemption_domains,
    usable_for,
)
from headgate.domain.scheduling.preemption.victim_plan import (
    ExcludedVictims,
    SearchRules,
    VictimPlan,
    nodes_in_reach,
    plan_victims,
)
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.message import Message
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.state import Workload, WorkloadsByKey


class SimulatedPreemption(msgspec.Struct, frozen=True, gc=False):
    """The plan for one flavor's resource alone, and the borrowing height after its removals.

    PREEMPT if a victim is in the preemptor's ClusterQueue, RECLAIM if all are in others.
    """

    mode: Mode
    borrowing_level: int
    plan: VictimPlan


class PreemptionContext(msgspec.Struct, frozen=True, gc=False):
    """A preemptor during one evaluation, with its ClusterQueue and the partition.

    `replaced_slice` is the key of the workload slice that it replaces. `simulations` are
    the results of the oracle so far, by flavor resource and amount.
    """

    partition: Partition
    workloads: WorkloadsByKey
    workload: Workload
    node: str
    spec: ClusterQueueSpec
    replaced_slice: str = ""
    simulations: dict[tuple[FlavorResource, int], SimulatedPreemption] = {}

    @property
    def may_preempt(self) -> bool:
        """Whether the workload and the policies of its ClusterQueue allow any preemption."""
        policies = self.spec.preemption
        never = policies.within_cluster_queue == policies.reclaim_within_cohort == "Never"
        return self.workload.spec.can_preempt and not never

    @property
    def rules(self) -> SearchRules:
        """The configured rules of a search, with the budgets as they are now."""
        partition = self.partition
        fair = partition.config.configuration.fair_sharing
        return SearchRules(
            fair.preemption_strategies if fair else (),
            Budgets(partition.budgets.statuses()),
            partition.eviction_graph,
            Epoch(self.workloads, partition.epoch_of(self.node.removeprefix("clusterqueue/"))),
        )

    def quota_view(self) -> CapacityView:
        """Returns the projected quota, without hosts."""
        partition = self.partition
        return CapacityView(
            partition.tree,
            partition.usage[PROJECTED],
            partition=partition,
            workloads=self.workloads,
        )

    def request(
        self, amounts: FlavorResourceQuantities, contested: tuple[FlavorResource, ...]
    ) -> PreemptionRequest:
        """Returns the preemption request for these amounts."""
        spec = self.spec
        return PreemptionRequest(
            self.workload,
            self.node,
            spec.preemption,
            lambda other: queued_at(other, spec),
            amounts,
            contested,
            runtime_protection=self.runtime_protection,
            local_queue_usage=self._local_queue_usage(),
            replaced_slice=self.replaced_slice,
        )

    def runtime_protection(self, other: Workload) -> Message | None:
        """The rule that protects a workload within its minimum runtime."""
        return self.partition.minimum_runtime.rule_protecting(other, node=self.node)

    def runtime_protected(self, node: str) -> list[str]:
        """The workloads of a ClusterQueue within their minimum runtime."""
        return self.partition.minimum_runtime.protected_in(node, node=self.node)

    def candidates(self, names: Iterable[str], usable: Bools | None) -> Iterator[Candidate]:
        """Yields the named workloads, as eviction units where single pods may be evicted."""
        divisible = self.partition.charges.divisible
        for name in dict.fromkeys(map(workload_of, names)) if divisible else names:
            workload = self.workloads[name]
            if name in divisible:
                yield from units_of(self.partition, workload, usable)
                continue
            charge = self.partition.charges.held_by(workload)
            node = f"clusterqueue/{charge.cluster_queue}"
            yield Candidate(workload, node, charge.amounts, None, charge.workload)

    def _local_queue_usage(self) -> Callable[[Candidate], tuple[bool, Fraction]] | None:
        partition = self.partition
        if partition.config.configuration.admission_fair_sharing is None:
            return None
        ranks = cache(partition.ranks)

        def local_queue_usage(candidate: Candidate) -> tuple[bool, Fraction]:
            holder = candidate.workload
            local_queue = holder.local_queue_key
            return ranks(candidate.node.removeprefix("clusterqueue/"))(local_queue)

        return local_queue_usage


def find_victims(context: PreemptionContext, demand: PlacementDemand) -> VictimPlan:
    """Returns the plan after which the whole workload fits.

    If hosts have room already, only quota is short, and no domain is better than another.
    """
    amounts = demand.assignment.amounts()
    view = _host_view(context, demand)
    simulated = _simulated_plan(context, amounts)
    if simulated is not None:
        return replace(simulated, admission=view.admission() if simulated.admission else None)
    has_hosts = demand.assignment.mode < Mode.DEFERRED and view.fits_on_hosts()
    request = context.request(amounts, _contested(context, amounts, has_hosts=has_hosts))
    rules = context.rules
    if has_hosts:
        return plan_victims(view, request, rules)
    mask = mask_candidates(
        context.partition.charges.admitted(),
        context.workloads,
        request,
        nodes_in_reach(view, request, rules),
        context.runtime_protected,
    )
    view.usable = usable_for(context.partition, demand, mask)
    if demand.running:
        # Running pods of a replaced slice are in their domains already: hosts anywhere will do.
        return plan_victims(view, request, rules)
    search = preemption_domains(context.partition, demand, mask)
    if search.combinations:
        found = _plan_of_several_groups(context, demand, request, rules, mask, search.combinations)
        return replace(found, stats=mask.stats)
    if not search.levels:
        return plan_victims(view, request, rules)
    found = VictimPlan((), None)
    for level in search.levels:
        found = _best_domain_plan(context, demand, request, rules, mask, level)
        if found.admission is not None:
            break
    else:
        if not _requires_one_domain(demand):
            found = plan_victims(view, request, rules)
    return replace(found, stats=mask.stats)


def _plan_of_several_groups(  # noqa: PLR0913, PLR0917 - as `_best_domain_plan`
    context: PreemptionContext,
    demand: PlacementDemand,
    request: PreemptionRequest,
    rules: SearchRules,
    mask: CandidateMask,
    combinations: Sequence[DomainCombination],
) -> VictimPlan:
    """The plan on any hosts, or in one domain for each group if that costs less.

    Domains that a group prefers go first, as they do for a lone group. Without a plan on any hosts
    none is searched: in fewer there is less.
    """
    view = _host_view(context, demand)
    view.usable = usable_for(context.partition, demand, mask)
    anywhere = plan_victims(view, request, rules)
    if anywhere.admission is None:
        return anywhere
    cost = plan_score(anywhere.victims, rules.budgets.violations(anywhere.victims), "")
    prefers = _prefers_a_domain(demand)
    worth = [each for each in combinations if prefers or (0, *each.min_cost) < cost[:3]]
    found = _best_domain_plan(context, demand, request, rules, mask, worth)
    if found.admission is None or prefers:
        return anywhere if found.admission is None else found
    score = plan_score(found.victims, rules.budgets.violations(found.victims), "")
    return found if score < cost else anywhere


def _prefers_a_domain(demand: PlacementDemand) -> bool:
    pod_sets = (given.pod_set for given in demand.assignment.pod_sets if given.pod_set.count > 1)
    requests = (pod_set.topology_request for pod_set in pod_sets)
    return any(request is not None and bool(request.preferred) for request in requests)


def _requires_one_domain(demand: PlacementDemand) -> bool:
    requests = (given.pod_set.topology_request for given in demand.assignment.pod_sets)
    return any(request is not None and bool(request.required) for request in requests)


def _simulated_plan(
    context: PreemptionContext, amounts: FlavorResourceQuantities
) -> VictimPlan | None:
    """The oracle's plan, if one flavor's resource without a topology is all that is needed."""
    if len(amounts) != 1:
        return None
    ((key, need),) = amounts.items()
    if key[0] in context.partition.topologies:
        return None
    found = context.simulations.get((key, need))
    return found.plan if found else None


def _best_domain_plan(  # noqa: PLR0913, PLR0917 - one search, of several that share all this
    context: PreemptionContext,
    demand: PlacementDemand,
    request: PreemptionRequest,
    rules: SearchRules,
    mask: CandidateMask,
    level: Sequence[DomainCandidate | DomainCombination],
) -> VictimPlan:
    """The plan with the best score of a level; without any, the candidates that were protected.

    Domains are searched in the order of their lowest possible cost, until that exceeds the best
    plan's cost.
    """
    short = _contested(context, request.amounts, has_hosts=True)
    eligible = mask.names() if short else []
    best: tuple[PlanScore, VictimPlan] | None = None
    follow_ups = FollowUps(context.partition, mask.admitted)
    protected: ExcludedVictims = {}
    for domain_candidate in sorted(level, key=lambda each: each.min_cost):
        if best is not None and best[0][:3] < (0, *domain_candidate.min_cost):
            break
        domain = domain_candidate.domain()
        here = replace(request, short_of_quota=short, occupants=domain.occupants)
        candidates = context.candidates(eligible if short else domain.occupants, domain.usable)
        known = _by_node(found for found in candidates if here.is_blocked_by(found))
        found = plan_victims(_host_view(context, demand, domain, known), here, rules)
        protected.update(found.protected)
        if found.admission is not None:
            violations = rules.budgets.violations(found.victims)
            score = plan_score(found.victims, violations, domain.name)
            if best is None or _costs_less((score, found), best, follow_ups):
                best = score, found
    return VictimPlan((), None, protected=protected) if best is None else best[1]


def _costs_less(
    one: tuple[PlanScore, VictimPlan], other: tuple[PlanScore, VictimPlan], follow_ups: FollowUps
) -> bool:
    """Whether one plan costs less; where budgets, protection and weight tie, by follow-ups first.

    KEP-5710, Principles 2: preemptions that victims cause when they come back are part of the cost.
    """
    (score, plan), (least, best) = one, other
    if score[:3] != least[:3]:
        return score < least
    fewer = follow_ups.count(score[-1], plan.victims) - follow_ups.count(least[-1], best.victims)
    return fewer < 0 or (fewer == 0 and score < least)


def _host_view(
    context: PreemptionContext,
    demand: PlacementDemand,
    domain: PreemptionDomain | None = None,
    candidates: CandidatesByNode | None = None,
) -> CapacityView:
    partition = context.partition
    return CapacityView(
        partition.tree,
        partition.usage[PROJECTED],
        candidates,
        partition,
        context.workloads,
        demand,
        domain,
        domain.simulation() if domain is not None else None,
    )


def _by_node(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.node, []).append(candidate)
    return found


def _contested(
    context: PreemptionContext, amounts: FlavorResourceQuantities, *, has_hosts: bool
) -> tuple[FlavorResource, ...]:
    """What quota is short of, and while hosts lack capacity, all with a topology (§1.10)."""
    partition = context.partition
    usage = partition.usage[PROJECTED]
    return tuple(
        key
        for key, amount in sorted(amounts.items())
        if amount > available(partition.tree, usage, context.node, key)
        or (not has_hosts and key[0] in partition.topologies)
    )
