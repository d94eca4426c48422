"""One workload against one partition: flavors by quota, a place on hosts, or else victims."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import structs

from headgate.domain.scheduling.evaluation.capacity_view import Seats
from headgate.domain.scheduling.evaluation.non_preemptible_quota import NonPreemptibleUsage
from headgate.domain.scheduling.evaluation.search_report import failed_search, merge_searches
from headgate.domain.scheduling.evaluation.targets import (
    PlacementDemand,
    PreemptionContext,
    find_victims,
    preemption_oracle,
)
from headgate.domain.scheduling.evaluation.topology_assignment import Where, assign_topology
from headgate.domain.scheduling.evaluation.topology_domains import (
    DomainCandidate,
    Evictable,
    PreemptionDomain,
    preemption_domains,
)
from headgate.domain.scheduling.evaluation.workload_slices import (
    all_hosts_usable,
    fixed_flavors,
    replaced_slice,
    running_pods,
)
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, assign_flavors
from headgate.domain.scheduling.flavors.eligibility import FlavorOptions, options_for_workload
from headgate.domain.scheduling.lifecycle.admission_checks import has_provisioning_check
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, EMPTY, PROJECTED, TRIAL
from headgate.domain.scheduling.placement.place import PlacementFailure
from headgate.domain.scheduling.placement.replacement import RunningPods
from headgate.domain.scheduling.preemption.request import Victim
from headgate.domain.scheduling.quota.usage import QuotaView
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


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """How a workload fits now.

    FIT: `admission` may be reserved at once. DEFERRED: it fits at `admission` once those already
    leaving have left. PREEMPT: it fits there once `victims` have. NO_FIT: `tries`, `unplaced` and
    `search` say why; `wanted` is what it would take if nobody stood in its way, and
    `never_fits_in` pairs pod sets with flavors whose hosts would not do even empty.
    `lost_nomination`: the place an open round keeps for it cannot be had any more.
    `overridden_rounds` names the open rounds that do not bind it and may lose their place to it.
    """

    workload: Workload
    cluster_queue: str
    mode: Mode
    level: int = 0
    admission: Admission | None = None
    tries: tuple[FlavorAttempt, ...] = ()
    unplaced: tuple[tuple[str, str, PlacementShortfall], ...] = ()
    victims: tuple[Victim, ...] = ()
    search: VictimSearch | None = None
    lost_nomination: bool = False
    wanted: Admission | None = None
    never_fits_in: tuple[tuple[str, str], ...] = ()
    overridden_rounds: tuple[str, ...] = ()


NotPlaced = tuple[tuple[str, str, PlacementShortfall], ...]
FixedFlavors: TypeAlias = Mapping[tuple[str, str], str]
"""The flavor of each resource of each pod set, where it is not free to choose."""

NO_FIXED_FLAVORS: FixedFlavors = {}
NOW, LATER, ALONE = Where((ACTUAL, PROJECTED)), Where((PROJECTED,)), Where((EMPTY,))


class WorkloadEvaluator:
    """What is asked more than once during one look."""

    def __init__(
        self,
        partition: Partition,
        workloads: Mapping[str, Workload],
        workload: Workload,
        pod_sets: tuple[PodSet, ...],
    ) -> None:
        self.partition = partition
        self.workload = workload
        self.pod_sets = pod_sets
        local = partition.config.local_queues[f"{workload.namespace}/{workload.spec.queue_name}"]
        self.cluster_queue = local.spec.cluster_queue
        self.node = f"clusterqueue/{self.cluster_queue}"
        spec = partition.specs[self.cluster_queue]
        self.offer = options_for_workload(partition.offers[self.cluster_queue], workload)
        self.standing: RunningPods = {}
        old = replaced_slice(partition, workloads, workload)
        if old is not None:
            self.offer = replace(self.offer, fixed_flavors=fixed_flavors(old), is_scale_up=True)
            self.standing = running_pods(old, pod_sets)
        self.quota = QuotaView(partition.tree, *partition.usage)
        self.immunity = NonPreemptibleUsage(
            partition, workloads, workload, self.cluster_queue, spec
        )
        self.preemptor = PreemptionContext(partition, workloads, workload, self.node, spec)

    def evaluate(
        self, *, may_preempt: bool = True, fixed_flavors: FixedFlavors = NO_FIXED_FLAVORS
    ) -> Evaluation:
        """The best there is; a choice of flavors in vain gives way to the next.

        It is in vain where nobody may be made to leave, or where no hosts would do even empty.
        """
        preempts = may_preempt and self.preemptor.may_preempt and self._may_clear_hosts()
        offer = (
            replace(self.offer, fixed_flavors=fixed_flavors)
            if fixed_flavors and not self.offer.is_scale_up
            else self.offer
        )
        choice = self._choose(offer, preempts=preempts)
        found = first = self._evaluate_choice(choice, offer, preempts=preempts)
        vain = [first]
        while found.mode == Mode.NO_FIT and (
            (no_victims_in := _barren(choice, found)) or found.never_fits_in
        ):
            never_fits_in = offer.unplaceable + found.never_fits_in
            offer = replace(
                offer, no_victims_in=offer.no_victims_in + no_victims_in, unplaceable=never_fits_in
            )
            choice = self._choose(offer, preempts=preempts)
            found = self._evaluate_choice(choice, offer, preempts=preempts)
            vain.append(found)
        return _all_tries(vain) if found.mode == Mode.NO_FIT else found

    def _may_clear_hosts(self) -> bool:
        """Not beside pods on closed hosts: no round can keep a place that is partly there."""
        return not self.standing or all_hosts_usable(self.partition.hosts, self.standing)

    def found(
        self, mode: Mode, admission: Admission, *, lost_nomination: bool = False
    ) -> Evaluation:
        """An answer for a place that was known before."""
        return Evaluation(
            self.workload,
            self.cluster_queue,
            mode,
            admission=admission,
            lost_nomination=lost_nomination,
        )

    def _evaluate_choice(
        self, choice: FlavorAssignment, offer: FlavorOptions, *, preempts: bool
    ) -> Evaluation:
        if choice.mode == Mode.NO_FIT:
            return self._failed(choice, ())
        fitting, unplaced = self._first_that_fits(choice, offer, preempts=preempts)
        if fitting is not None:
            return fitting
        if choice.mode >= Mode.DEFERRED:
            placed, later = self._place(choice, LATER)
            if placed is not None:
                return self._found(choice, Mode.DEFERRED, placed, unplaced)
            unplaced = unplaced or later
        wanted, never = self._place(choice, ALONE)
        if wanted is None:
            never_fits_in = tuple((pod_set, flavor) for pod_set, flavor, _ in never)
            return structs.replace(
                self._failed(choice, unplaced or never), never_fits_in=never_fits_in
            )
        taken = tuple(
            (name, flavor, replace(why, is_occupied=True)) for name, flavor, why in unplaced
        )
        if not preempts:
            return self._failed(choice, taken, wanted=wanted)
        return self._with_victims(choice, taken, wanted)

    def _choose(self, offer: FlavorOptions, *, preempts: bool) -> FlavorAssignment:
        oracle = preemption_oracle(self.preemptor, preempts=preempts)

        def ask(key: FlavorResource, need: int) -> QuotaResult:
            return self.immunity.bounded(self.quota.check(self.node, key, need, oracle), key, need)

        return assign_flavors(offer, self.pod_sets, ask)

    def _first_that_fits(
        self, choice: FlavorAssignment, offer: FlavorOptions, *, preempts: bool
    ) -> tuple[Evaluation | None, NotPlaced]:
        """The first choice with room in quota and a place on hosts, and where there was none.

        A flavor without a place gives way to the next one with quota, which Kueue does not try
        (reference topology.md §3, traps #10824 and #13658).
        """
        failed: NotPlaced = ()
        while choice.mode == Mode.FIT:
            placed, unplaced = self._place(choice, NOW)
            if placed is not None:
                return self._found(choice, Mode.FIT, placed), ()
            failed += unplaced
            tried = offer.unplaceable + tuple((pod_set, flavor) for pod_set, flavor, _ in failed)
            choice = self._choose(replace(offer, unplaceable=tried), preempts=preempts)
        return None, failed

    def _with_victims(
        self, choice: FlavorAssignment, unplaced: NotPlaced, wanted: Admission
    ) -> Evaluation:
        def seats_in(domain: PreemptionDomain | None) -> Seats[Admission]:
            clearing = domain.clearing() if domain and domain.clearing else None
            view = PROJECTED if clearing is None else TRIAL
            where = Where((view,), domain.part if domain else None)

            def place() -> Admission | None:
                return self._place(choice, where)[0]

            found = domain.has_room if domain else lambda: place() is not None
            return Seats(found, place, self._charge_at, clearing)

        levels = partial(preemption_domains, self.partition, self.offer.flavors, choice.pod_sets)
        clearable = _no_domains if self.standing else levels
        placeless, spread = choice.mode >= Mode.DEFERRED, not _must_share_domain(self.pod_sets)
        wish = PlacementDemand(choice.amounts(), seats_in, clearable, placeless, spread)
        plan = find_victims(self.preemptor, wish)
        if plan.place is None:
            search = failed_search(plan, self.preemptor.simulations.values())
            return self._failed(choice, unplaced, search, wanted)
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.PREEMPT,
            choice.level,
            plan.place,
            choice.tries,
            victims=plan.victims,
            search=VictimSearch("", plan.stats.considered, plan.stats.report()),
        )

    def _found(
        self,
        choice: FlavorAssignment,
        mode: Mode,
        admission: Admission,
        unplaced: NotPlaced = (),
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            mode,
            choice.level,
            admission,
            choice.tries,
            unplaced,
        )

    def _failed(
        self,
        choice: FlavorAssignment,
        unplaced: NotPlaced,
        search: VictimSearch | None = None,
        wanted: Admission | None = None,
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.NO_FIT,
            choice.level,
            tries=choice.tries,
            unplaced=unplaced,
            search=search,
            wanted=wanted,
        )

    def _charge_at(self, admission: Admission) -> Charge:
        return self.partition.charges.charge_of(self.workload, admission)

    def _place(self, choice: FlavorAssignment, where: Where) -> tuple[Admission | None, NotPlaced]:
        later = partial(has_provisioning_check, self.partition.config, self.cluster_queue)
        if self.standing:
            where = replace(where, standing=self.standing)
        found = assign_topology(self.partition, self.offer.flavors, choice.pod_sets, where, later)
        if isinstance(found, PlacementFailure):
            return None, ((found.pod_set, found.flavor, found.shortfall),)
        return Admission(cluster_queue=self.cluster_queue, pod_set_assignments=found), ()


def _no_domains(evictable: Evictable) -> Sequence[Sequence[DomainCandidate]]:
    """Pods that stand are in their domains already; who must leave is sought anywhere."""
    del evictable
    return ()


def _all_tries(vain: list[Evaluation]) -> Evaluation:
    """The first of several looks in vain, with what later ones found in flavors it did not reach.

    A flavor that a later look refused because of an earlier one tells nothing new.
    """
    first, *others = vain
    if not others:
        return first
    known = {(one.pod_set, one.group, one.flavor): one for one in first.tries}
    for one in (tried for other in others for tried in other.tries):
        known.setdefault((one.pod_set, one.group, one.flavor), one)
    searches = [one.search for one in vain if one.search is not None]
    places = {(p, f): (p, f, why) for one in vain for p, f, why in one.unplaced}
    return structs.replace(
        first,
        tries=tuple(known.values()),
        search=merge_searches(searches) if len(searches) > 1 else next(iter(searches), None),
        unplaced=tuple(places.values()),
        wanted=next((one.wanted for one in vain if one.wanted is not None), None),
    )


def _must_share_domain(pod_sets: tuple[PodSet, ...]) -> bool:
    requests = (pod_set.topology_request for pod_set in pod_sets)
    return any(request is not None and bool(request.required) for request in requests)


def _barren(choice: FlavorAssignment, found: Evaluation) -> tuple[tuple[str, str], ...]:
    """Pod sets with flavors in which there was nobody to make room, in vain searched for victims.

    The oracle looks at one resource at a time and at no hosts; what it promised and the search for
    the whole workload could not hold gives way to the next flavor (trap T10).
    """
    if found.search is None:
        return ()
    chosen = {(given.pod_set.name, f) for given in choice.pod_sets for f in given.flavors.values()}
    short = {
        (looked_at.pod_set, looked_at.flavor)
        for looked_at in choice.tries
        if looked_at.mode in {Mode.PREEMPT, Mode.RECLAIM}
    }
    unplaced = {(pod_set, flavor) for pod_set, flavor, _ in found.unplaced}
    return tuple(sorted(chosen & short or chosen & unplaced))
