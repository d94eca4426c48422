"""What a workload would get now: flavors, places, or the victims it takes to make room."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate.domain.scheduling.answers import FlavorTry, Mode, QuotaAnswer, Unplaced, VictimSearch
from headgate.domain.scheduling.flavors.assign import (
    FlavorChoice,
    PodSetFlavors,
    choose_flavors,
)
from headgate.domain.scheduling.flavors.offers import FlavorOffer, offered
from headgate.domain.scheduling.ordering.order import queued_at
from headgate.domain.scheduling.partial import largest_that_works
from headgate.domain.scheduling.partition import Charge, Partition
from headgate.domain.scheduling.placement.hosts import ACTUAL, PROJECTED, Ints
from headgate.domain.scheduling.placement.place import (
    Ground,
    assume,
    per_pod,
    place_pod_set,
)
from headgate.domain.scheduling.preemption.candidates import Candidates, Claim, candidates
from headgate.domain.scheduling.preemption.victims import Victims, choose_victims
from headgate.domain.scheduling.quota.answer import QuotaView
from headgate.domain.scheduling.standing import effective_spec
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission, PodSetAssignment, TopologyAssignment
from headgate.domain.workloads.remaining import needed_pod_sets
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a workload fits now.

    FIT: `admission` may be reserved at once. DEFERRED: it fits at `admission` once those already
    leaving have left. PREEMPT: it fits there once `victims` have. NO_FIT: `tries`, `unplaced` and
    `search` say why. `lost_place`: the place an open round keeps for it cannot be had any more.
    """

    workload: Workload
    cluster_queue: str
    mode: Mode
    level: int = 0
    admission: Admission | None = None
    tries: tuple[FlavorTry, ...] = ()
    unplaced: tuple[tuple[str, str, Unplaced], ...] = ()
    victims: tuple[Workload, ...] = ()
    search: VictimSearch | None = None
    lost_place: bool = False


def evaluate(
    partition: Partition, workloads: Mapping[str, Workload], workload: Workload
) -> Evaluation:
    """Look at one workload; the partition is left exactly as it was."""
    if workload.nomination is None:
        return _evaluate_any_size(partition, workloads, workload)
    own = partition.charge_of(workload, workload.nomination)
    partition.give_back(PROJECTED, own)
    try:
        look = _Look(partition, workloads, workload, _needed(workload))
        return _evaluate_nominated(look, own, workload.nomination)
    finally:
        partition.take(PROJECTED, own)


def still_fits(partition: Partition, evaluation: Evaluation) -> bool:
    """Whether an admission found earlier in the same cycle can still be had."""
    assert evaluation.admission is not None, "only what fitted can be checked again"
    charge = partition.charge_of(evaluation.workload, evaluation.admission)
    return _fits(partition, charge, (ACTUAL, PROJECTED))


def _evaluate_any_size(
    partition: Partition, workloads: Mapping[str, Workload], workload: Workload
) -> Evaluation:
    """All pods, or else the most that fit or find victims; more pods go before fewer victims."""

    def look(pod_sets: tuple[PodSet, ...]) -> Evaluation:
        return _Look(partition, workloads, workload, pod_sets).evaluate()

    pod_sets = _needed(workload)
    full = look(pod_sets)
    if full.mode != Mode.NO_FIT:
        return full
    return largest_that_works(pod_sets, look, lambda found: found.mode != Mode.NO_FIT) or full


def _needed(workload: Workload) -> tuple[PodSet, ...]:
    return needed_pod_sets(workload.spec.pod_sets, workload.reclaimable)


def _evaluate_nominated(look: "_Look", own: Charge, nomination: Admission) -> Evaluation:
    """Its own round's place first, then any other; while the round is open it plans no second."""
    if _fits(look.partition, own, (ACTUAL, PROJECTED)):
        return look.found(Mode.FIT, nomination)
    elsewhere = look.evaluate(may_preempt=False)
    if elsewhere.mode == Mode.FIT:
        return elsewhere
    if not _fits(look.partition, own, (PROJECTED,)):
        return look.found(Mode.DEFERRED, nomination, lost_place=True)
    return look.found(Mode.DEFERRED, nomination)


def _fits(partition: Partition, charge: Charge, views: tuple[int, ...]) -> bool:
    quota = QuotaView(partition.tree, *partition.usage)
    node = f"clusterqueue/{charge.cluster_queue}"
    quota_fits = quota.has_room if ACTUAL in views else quota.has_projected_room
    return (
        charge.is_whole
        and quota_fits(node, charge.amounts)
        and all(partition.hosts.has_room(view, charge.pods) for view in views)
    )


class _Look:
    """One workload against one partition."""

    def __init__(
        self,
        partition: Partition,
        workloads: Mapping[str, Workload],
        workload: Workload,
        pod_sets: tuple[PodSet, ...],
    ) -> None:
        self.partition = partition
        self.workloads = workloads
        self.workload = workload
        self.pod_sets = pod_sets
        config = partition.config
        local = config.local_queues[f"{workload.namespace}/{workload.spec.queue_name}"]
        self.cluster_queue = local.spec.cluster_queue
        self.node = f"clusterqueue/{self.cluster_queue}"
        self.spec = effective_spec(config, self.cluster_queue)
        self.offer = offered(config, self.spec, workload)
        self.quota = QuotaView(partition.tree, *partition.usage)

    def evaluate(self, *, may_preempt: bool = True) -> Evaluation:
        policy = self.spec.preemption.within_cluster_queue
        preempts = may_preempt and policy != "Never" and self.workload.spec.can_preempt
        choice = self._choose(self.offer, preempts=preempts)
        first = self._evaluate_choice(choice, self.offer, preempts=preempts)
        found, offer = first, self.offer
        while found.mode == Mode.NO_FIT and (barren := _barren(choice, found)):
            offer = replace(offer, barren=offer.barren + barren)
            choice = self._choose(offer, preempts=preempts)
            found = self._evaluate_choice(choice, offer, preempts=preempts)
        return first if found.mode == Mode.NO_FIT else found

    def _evaluate_choice(
        self, choice: FlavorChoice, offer: FlavorOffer, *, preempts: bool
    ) -> Evaluation:
        if choice.mode == Mode.NO_FIT:
            return self._failed(choice, ())
        fitting, unplaced = self._first_that_fits(choice, offer, preempts=preempts)
        if fitting is not None:
            return fitting
        if choice.mode >= Mode.DEFERRED:
            placed, later = self._place(choice, (PROJECTED,))
            if placed is not None:
                return self._found(choice, Mode.DEFERRED, placed, unplaced)
            unplaced = unplaced or later
        return self._with_victims(choice, unplaced) if preempts else self._failed(choice, unplaced)

    def _choose(self, offer: FlavorOffer, *, preempts: bool) -> FlavorChoice:
        def ask(key: FlavorResource, need: int) -> QuotaAnswer:
            return self.quota.answer(self.node, key, need, may_preempt=preempts)

        return choose_flavors(offer, self.pod_sets, ask)

    def _first_that_fits(
        self, choice: FlavorChoice, offer: FlavorOffer, *, preempts: bool
    ) -> tuple[Evaluation | None, tuple[tuple[str, str, Unplaced], ...]]:
        """The first choice with room in quota and a place on hosts, and where there was none.

        A flavor without a place gives way to the next one with quota, which Kueue does not try
        (reference topology.md §3, traps #10824 and #13658).
        """
        failed: tuple[tuple[str, str, Unplaced], ...] = ()
        while choice.mode == Mode.FIT:
            placed, unplaced = self._place(choice, (ACTUAL, PROJECTED))
            if placed is not None:
                return self._found(choice, Mode.FIT, placed), ()
            failed += unplaced
            tried = tuple((pod_set, flavor) for pod_set, flavor, _ in failed)
            choice = self._choose(replace(offer, unplaceable=tried), preempts=preempts)
        return None, failed

    def found(self, mode: Mode, admission: Admission, *, lost_place: bool = False) -> Evaluation:
        return Evaluation(
            self.workload, self.cluster_queue, mode, admission=admission, lost_place=lost_place
        )

    def remove(self, victim: Workload) -> None:
        self.partition.give_back(PROJECTED, self.partition.held_by(victim))

    def restore(self, victim: Workload) -> None:
        self.partition.take(PROJECTED, self.partition.held_by(victim))

    def _with_victims(
        self, choice: FlavorChoice, unplaced: tuple[tuple[str, str, Unplaced], ...]
    ) -> Evaluation:
        found = self._candidates(choice)
        chosen = choose_victims(found.ordered, _Room(self, choice)) if found.ordered else None
        if chosen is None:
            refused = found.refused
            text = "no workload of lower priority" if not found.ordered else "too few workloads"
            search = VictimSearch(f"{text} may be preempted", found.considered, refused)
            return self._failed(choice, unplaced, search)
        return self._preempting(choice, chosen, found)

    def _preempting(
        self, choice: FlavorChoice, chosen: Victims[Admission], found: Candidates
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.PREEMPT,
            choice.level,
            chosen.place,
            choice.tries,
            victims=chosen.victims,
            search=VictimSearch("", found.considered, found.refused),
        )

    def _candidates(self, choice: FlavorChoice) -> Candidates:
        amounts = choice.amounts()
        short = {
            key for key, amount in amounts.items()
            if not self.quota.has_projected_room(self.node, {key: amount})
        }  # fmt: skip
        aware = {flavor for flavor, _ in amounts if flavor in self.partition.topologies}

        def helps(victim: Workload) -> bool:
            held = self.partition.held_by(victim).amounts
            return any(key in short or key[0] in aware for key in held)

        claim = Claim(
            self.workload,
            self.spec.preemption.within_cluster_queue,
            lambda other: queued_at(other, self.spec),
            helps,
        )
        names = self.partition.holding[self.cluster_queue]
        return candidates(claim, (self.workloads[key] for key in names))

    def _found(
        self,
        choice: FlavorChoice,
        mode: Mode,
        admission: Admission,
        unplaced: tuple[tuple[str, str, Unplaced], ...] = (),
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
        choice: FlavorChoice,
        unplaced: tuple[tuple[str, str, Unplaced], ...],
        search: VictimSearch | None = None,
    ) -> Evaluation:
        return Evaluation(
            self.workload,
            self.cluster_queue,
            Mode.NO_FIT,
            tries=choice.tries,
            unplaced=unplaced,
            search=search,
        )

    def _place(
        self, choice: FlavorChoice, views: tuple[int, ...]
    ) -> tuple[Admission | None, tuple[tuple[str, str, Unplaced], ...]]:
        assumed: dict[str, Ints] = {}
        assignments = []
        for given in choice.pod_sets:
            flavor = next((f for f in given.flavors.values() if f in self.partition.topologies), "")
            if not flavor or not given.pod_set.count:
                assignments.append(_assignment(given))
                continue
            ground = Ground(
                self.partition.hosts,
                self.partition.topologies[flavor],
                self.offer.flavors[flavor].spec,
                views,
                assumed,
            )
            placed = place_pod_set(ground, given.pod_set)
            if isinstance(placed, Unplaced):
                return None, ((given.pod_set.name, flavor, placed),)
            assume(ground, placed, per_pod(given.pod_set))
            assignments.append(_assignment(given, placed.assignment))
        admission = Admission(
            cluster_queue=self.cluster_queue, pod_set_assignments=tuple(assignments)
        )
        return admission, ()


class _Room:
    """The projected view as a search for victims tries it (`preemption.victims.Room`)."""

    def __init__(self, look: _Look, choice: FlavorChoice) -> None:
        self.remove = look.remove
        self.restore = look.restore
        self._look = look
        self._choice = choice

    def place(self) -> Admission | None:
        """Quota first, then hosts, both as they will be when everyone removed has left."""
        look = self._look
        if not look.quota.has_projected_room(look.node, self._choice.amounts()):
            return None
        return look._place(self._choice, (PROJECTED,))[0]  # noqa: SLF001 - two halves of one thing

    def still_fits(self, place: Admission) -> bool:
        """Whether exactly that place is free."""
        look = self._look
        charge = look.partition.charge_of(look.workload, place)
        return _fits(look.partition, charge, (PROJECTED,))


def _barren(choice: FlavorChoice, found: Evaluation) -> tuple[tuple[str, str], ...]:
    """Pod sets with flavors in which there was nobody to make room, in vain searched for victims.

    Kueue asks so while it looks at each flavor, for one resource at a time (queueing.md §3.4);
    here the whole workload is tried, and what brought nothing gives way to the next flavor.
    """
    if found.search is None:
        return ()
    chosen = {(given.pod_set.name, f) for given in choice.pod_sets for f in given.flavors.values()}
    short = {
        (looked_at.pod_set, looked_at.flavor)
        for looked_at in choice.tries
        if looked_at.mode == Mode.PREEMPT
    }
    unplaced = {(pod_set, flavor) for pod_set, flavor, _ in found.unplaced}
    return tuple(sorted(chosen & short or chosen & unplaced))


def _assignment(
    given: PodSetFlavors, topology: TopologyAssignment | None = None
) -> PodSetAssignment:
    return PodSetAssignment(
        name=given.pod_set.name,
        flavors=given.flavors,
        resource_usage=given.usage,
        count=given.pod_set.count,
        topology_assignment=topology,
    )
