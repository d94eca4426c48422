"""One workload against one partition: flavors by quota, hosts by topology, or else victims.

Kueue: scheduler.getAssignments.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import msgspec
from msgspec import structs

from headgate.domain.scheduling.evaluation.non_preemptible_quota import NonPreemptibleUsage
from headgate.domain.scheduling.evaluation.workload_slices import (
    all_hosts_usable,
    fixed_flavors_of,
    replaced_slice,
    running_pods,
)
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, assign_flavors
from headgate.domain.scheduling.flavors.eligibility import FlavorOptions, options_for_workload
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import (
    PlacementDemand,
    assign_topology,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL, EMPTY, PROJECTED
from headgate.domain.scheduling.placement.place import PlacementFailure
from headgate.domain.scheduling.placement.replacement import RunningPods
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.request import PreemptionRequest, Victim
from headgate.domain.scheduling.preemption.targets import (
    PreemptionContext,
    SimulatedPreemption,
    find_victims,
)
from headgate.domain.scheduling.preemption.victim_plan import (
    VictimPlan,
    failed_search,
    merge_searches,
    plan_victims,
)
from headgate.domain.scheduling.quota.usage import Oracle, QuotaView, borrowing_level
from headgate.domain.scheduling.results import (
    FlavorAttempt,
    Mode,
    PlacementShortfall,
    QuotaResult,
    VictimSearch,
)
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

Shortfalls: TypeAlias = tuple[tuple[str, str, PlacementShortfall], ...]
"""Pod sets with a flavor that lacks room on its hosts, and why."""

FixedFlavors: TypeAlias = Mapping[tuple[str, str], str]
"""The only allowed flavor by pod set and resource."""

NO_FIXED_FLAVORS: FixedFlavors = {}


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """How a workload fits now.

    FIT: `admission` may be reserved at once. DEFERRED: it fits once the evicting workloads have
    stopped. PREEMPT: once `victims` have. NO_FIT: `flavor_attempts`, `shortfalls` and `search` say
    why; `admission_if_empty` is the admission on empty hosts, and `never_fits_in` pairs pod sets
    with flavors that lack room even on empty hosts. `lost_nomination`: the nominated capacity of
    its open round is gone. `overridden_rounds` are the open rounds that do not bind the workload
    and may lose their nominated capacity to it.
    """

    workload: Workload
    cluster_queue: str
    mode: Mode
    borrowing_level: int = 0
    admission: Admission | None = None
    flavor_attempts: tuple[FlavorAttempt, ...] = ()
    shortfalls: Shortfalls = ()
    victims: tuple[Victim, ...] = ()
    search: VictimSearch | None = None
    lost_nomination: bool = False
    admission_if_empty: Admission | None = None
    never_fits_in: tuple[tuple[str, str], ...] = ()
    overridden_rounds: tuple[str, ...] = ()


class WorkloadEvaluator:
    """A workload with its ClusterQueue and partition, as several steps of one evaluation use them.

    The partition must already be without the quota of a replaced workload slice.
    """

    def __init__(
        self,
        partition: Partition,
        workloads: Mapping[str, Workload],
        workload: Workload,
        pod_sets: tuple[PodSet, ...],
        views: tuple[int, ...] = (ACTUAL, PROJECTED),
    ) -> None:
        """To fit, a workload needs hosts that are free in all `views`."""
        self.partition = partition
        self.views = views
        self.workload = workload
        self.pod_sets = pod_sets
        local = partition.config.local_queues[workload.local_queue_key]
        self.cluster_queue = local.spec.cluster_queue
        self.node = f"clusterqueue/{self.cluster_queue}"
        spec = partition.specs[self.cluster_queue]
        self.options = options_for_workload(partition.offers[self.cluster_queue], workload)
        self.running: RunningPods = {}
        old = replaced_slice(partition, workloads, workload)
        if old is not None:
            fixed = fixed_flavors_of(old)
            self.options = replace(self.options, fixed_flavors=fixed, is_scale_up=True)
            self.running = running_pods(old, pod_sets)
        self.quota = QuotaView(partition.tree, *partition.usage)
        self.non_preemptible = NonPreemptibleUsage(
            partition, workloads, workload, self.cluster_queue, spec
        )
        self.context = PreemptionContext(
            partition, workloads, workload, self.node, spec, old.key if old else ""
        )

    def evaluate(
        self, *, may_preempt: bool = True, fixed_flavors: FixedFlavors = NO_FIXED_FLAVORS
    ) -> Evaluation:
        """Returns the best evaluation over all flavor assignments.

        An assignment without victims, or without room even on empty hosts, gives way to the next.
        """
        preempts = may_preempt and self.context.may_preempt and self._may_evict_from_hosts()
        options = self.options
        if fixed_flavors and not options.is_scale_up:
            options = replace(options, fixed_flavors=fixed_flavors)
        failed: list[Evaluation] = []
        while True:
            assignment = self._assign_flavors(options, preempts=preempts)
            found = self._evaluate_assignment(assignment, options, preempts=preempts)
            if found.mode != Mode.NO_FIT:
                return found
            failed.append(found)
            without_victims = _flavors_without_victims(assignment, found)
            if not without_victims and not found.never_fits_in:
                return _merged_failures(failed)
            options = replace(
                options,
                no_victims_in=options.no_victims_in + without_victims,
                never_fits_in=options.never_fits_in + found.never_fits_in,
            )

    def known(
        self, mode: Mode, admission: Admission, *, lost_nomination: bool = False
    ) -> Evaluation:
        """Returns the evaluation for an admission that was nominated before."""
        return Evaluation(
            self.workload,
            self.cluster_queue,
            mode,
            admission=admission,
            lost_nomination=lost_nomination,
        )

    def _may_evict_from_hosts(self) -> bool:
        """Not beside running pods on unusable hosts: no round can nominate capacity there."""
        return not self.running or all_hosts_usable(self.partition.hosts, self.running)

    def _evaluate_assignment(
        self, assignment: FlavorAssignment, options: FlavorOptions, *, preempts: bool
    ) -> Evaluation:
        if assignment.mode == Mode.NO_FIT:
            return self._failed(assignment, ())
        fitting, shortfalls = self._first_that_fits(assignment, options, preempts=preempts)
        if fitting is not None:
            return fitting
        if assignment.mode >= Mode.DEFERRED:
            admission, later = self._place(assignment, PROJECTED)
            if admission is not None:
                return self._found(assignment, Mode.DEFERRED, admission, shortfalls)
            shortfalls = shortfalls or later
        admission_if_empty, never = self._place(assignment, EMPTY)
        if admission_if_empty is None:
            return structs.replace(
                self._failed(assignment, shortfalls or never),
                never_fits_in=tuple((pod_set, flavor) for pod_set, flavor, _ in never),
            )
        occupied = tuple(
            (name, flavor, replace(why, is_occupied=True)) for name, flavor, why in shortfalls
        )
        if not preempts:
            return self._failed(assignment, occupied, admission_if_empty=admission_if_empty)
        return self._with_victims(assignment, occupied, admission_if_empty)

    def _assign_flavors(self, options: FlavorOptions, *, preempts: bool) -> FlavorAssignment:
        oracle = preemption_oracle(self.context, preempts=preempts)

        def check(key: FlavorResource, need: int) -> QuotaResult:
            result = self.quota.check(self.node, key, need, oracle)
            return self.non_preemptible.restrict(result, key, need)

        return assign_flavors(options, self.pod_sets, check)

    def _first_that_fits(
        self, assignment: FlavorAssignment, options: FlavorOptions, *, preempts: bool
    ) -> tuple[Evaluation | None, Shortfalls]:
        """The first assignment that fits in quota and on hosts, and the shortfalls before it.

        A flavor without room on hosts gives way to the next with quota, which Kueue does not try
        (topology.md §3, traps #10824 and #13658).
        """
        failed: Shortfalls = ()
        while assignment.mode == Mode.FIT:
            admission, shortfalls = self._place(assignment, *self.views)
            if admission is not None:
                return self._found(assignment, Mode.FIT, admission), ()
            failed += shortfalls
            tried = options.never_fits_in + tuple(
                (pod_set, flavor) for pod_set, flavor, _ in failed
            )
            assignment = self._assign_flavors(
                replace(options, never_fits_in=tried), preempts=preempts
            )
        return None, failed

    def _with_victims(
        self, assignment: FlavorAssignment, shortfalls: Shortfalls, admission_if_empty: Admission
    ) -> Evaluation:
        plan = find_victims(self.context, self._demand(assignment))
        if plan.admission is None:
            simulated = (one.plan for one in self.context.simulations.values())
            return self._failed(
                assignment, shortfalls, failed_search(plan, simulated), admission_if_empty
            )
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.PREEMPT,
            assignment.borrowing_level,
            plan.admission,
            assignment.flavor_attempts,
            victims=plan.victims,
            search=VictimSearch(None, plan.stats.considered, plan.stats.report()),
        )

    def _found(
        self,
        assignment: FlavorAssignment,
        mode: Mode,
        admission: Admission,
        shortfalls: Shortfalls = (),
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            mode,
            assignment.borrowing_level,
            admission,
            assignment.flavor_attempts,
            shortfalls,
        )

    def _failed(
        self,
        assignment: FlavorAssignment,
        shortfalls: Shortfalls,
        search: VictimSearch | None = None,
        admission_if_empty: Admission | None = None,
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.NO_FIT,
            assignment.borrowing_level,
            flavor_attempts=assignment.flavor_attempts,
            shortfalls=shortfalls,
            search=search,
            admission_if_empty=admission_if_empty,
        )

    def _demand(self, assignment: FlavorAssignment) -> PlacementDemand:
        flavors = self.options.flavors
        return PlacementDemand(self.workload, self.cluster_queue, flavors, assignment, self.running)

    def _place(
        self, assignment: FlavorAssignment, *views: int
    ) -> tuple[Admission | None, Shortfalls]:
        """The admission on hosts that are free in all views, or the shortfall."""
        found = assign_topology(self.partition, self._demand(assignment), views)
        if isinstance(found, PlacementFailure):
            return None, ((found.pod_set, found.flavor, found.shortfall),)
        return found, ()


def _merged_failures(failed: list[Evaluation]) -> Evaluation:
    """The first failed evaluation, with the flavors that only later ones reached.

    A flavor that a later evaluation refused because of an earlier one says nothing new.
    """
    first, *others = failed
    if not others:
        return first
    known = {(one.pod_set, one.group, one.flavor): one for one in first.flavor_attempts}
    for attempt in (attempt for other in others for attempt in other.flavor_attempts):
        known.setdefault((attempt.pod_set, attempt.group, attempt.flavor), attempt)
    searches = [one.search for one in failed if one.search is not None]
    shortfalls = {(p, f): (p, f, why) for one in failed for p, f, why in one.shortfalls}
    return structs.replace(
        first,
        flavor_attempts=tuple(known.values()),
        search=merge_searches(searches) if len(searches) > 1 else next(iter(searches), None),
        shortfalls=tuple(shortfalls.values()),
        admission_if_empty=next(
            (one.admission_if_empty for one in failed if one.admission_if_empty is not None), None
        ),
    )


def _flavors_without_victims(
    assignment: FlavorAssignment, found: Evaluation
) -> tuple[tuple[str, str], ...]:
    """Pod sets with the flavors in which the search for the whole workload found no victims.

    The oracle searches one resource at a time and no hosts, so that search may fail where the
    oracle promised victims (trap P10).
    """
    if found.search is None:
        return ()
    assigned = {
        (given.pod_set.name, f) for given in assignment.pod_sets for f in given.flavors.values()
    }
    short = {
        (attempt.pod_set, attempt.flavor)
        for attempt in assignment.flavor_attempts
        if attempt.mode in {Mode.PREEMPT, Mode.RECLAIM}
    }
    shortfalls = {(pod_set, flavor) for pod_set, flavor, _ in found.shortfalls}
    return tuple(sorted(assigned & short or assigned & shortfalls))


def preemption_oracle(context: PreemptionContext, *, preempts: bool) -> Oracle:
    """Returns the oracle for the flavor assignment (§1.2; Kueue: preemption.PreemptionOracle).

    It tells what preemption could do for one flavor's resource and searches in quota alone, so that
    the search for the whole workload may find no victims (trap P10). Without preemption no
    candidates exist.
    """
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
