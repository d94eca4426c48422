"""The preemption oracle: what preemption could do for one flavor's resource (§1.2).

Kueue: preemption.PreemptionOracle. It searches in quota alone, so the search for the whole workload
may still find no victims (trap P10).
"""

from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.request import PreemptionRequest
from headgate.domain.scheduling.preemption.targets import PreemptionContext, SimulatedPreemption
from headgate.domain.scheduling.preemption.victim_plan import VictimPlan, plan_victims
from headgate.domain.scheduling.quota.usage import Oracle, borrowing_level
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.quantities import FlavorResource


def preemption_oracle(context: PreemptionContext, *, preempts: bool) -> Oracle:
    """Returns the oracle for the flavor assignment; without preemption no candidates exist."""
    policies = context.spec.preemption

    def simulate(key: FlavorResource, need: int) -> tuple[Mode, int]:
        if not preempts:
            tree, usage = context.partition.tree, context.partition.usage[PROJECTED]
            return Mode.NO_CANDIDATES, borrowing_level(tree, usage, context.node, key, need)[0]
        found = context.simulations.get((key, need))
        if found is None:
            found = context.simulations[key, need] = simulate_preemption(context, key, need)
        return found.mode, found.borrowing_level

    borrows = policies.borrow_within_cohort.policy != "Never"
    fair = context.partition.config.configuration.fair_sharing
    shares = bool(fair and fair.preemption_strategies) and policies.reclaim_within_cohort != "Never"
    return Oracle(simulate, while_borrowing=borrows or shares)


def simulate_preemption(
    context: PreemptionContext, key: FlavorResource, need: int
) -> SimulatedPreemption:
    """Returns the plan for an amount of one flavor's resource, with mode and borrowing height."""
    view, request = context.quota_view(), context.request({key: need}, (key,))
    plan = plan_victims(view, request, context.rules)
    level = _level_without_victims(view, request, plan)
    if not plan.victims:
        return SimulatedPreemption(Mode.NO_CANDIDATES, level, plan)
    is_own = any(victim.scope == "Own" for victim in plan.victims)
    return SimulatedPreemption(Mode.PREEMPT if is_own else Mode.RECLAIM, level, plan)


def _level_without_victims(view: CapacityView, request: PreemptionRequest, plan: VictimPlan) -> int:
    for victim in plan.victims:
        view.remove(victim.candidate)
    level = view.borrowing_level(request.node, request.amounts)
    for victim in plan.victims:
        view.restore(victim.candidate)
    return level
