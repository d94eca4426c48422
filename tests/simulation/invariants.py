"""What always holds of preemption, event by event, by the numbers of preemption.md §6.12.

What follows from the log alone is held by the audits of `headgate verify`, beside which these
stand: that victims hold quota and pods are promised once (I2), and that no quota and no host is
given twice (I12, the actual view). Here is what takes the state a decision was made on.

I4 to I7, I13, I14, I16 and I20 are about plans and are held by tests of plans and by `termination`.
"""

from dataclasses import dataclass, field

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.state import (
    PlacementInvalidated,
    Round,
    RoundCommitted,
    is_open,
    reclaims_nominal_quota,
)
from headgate.domain.scheduling.partition.budget_status import budget_statuses
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.disruption_budgets import (
    BudgetedRemoval,
    violated_budgets,
)
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.scheduling.rounds.nominations import nomination_rank
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadQuotaReserved
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.preemption import oldest_ongoing_eviction


@dataclass
class Invariants:
    """A fold that its caller advances; `thieves` took nominated capacity of others.

    They are `unsettled` until the invalidated workloads have been recorded.
    """

    cluster_state: ClusterState
    thieves: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)

    def before(self, recorded: RecordedEvent) -> None:
        """Checks an event against the state it was decided on."""
        event = recorded.event
        if isinstance(event, RoundCommitted):
            self._committed(event, recorded)
        preempts = isinstance(event, WorkloadEvicted) and event.reason == "Preempted"
        if preempts or isinstance(event, WorkloadPodsEvicted):
            name = getattr(event, "eviction", "")
            assert name in self.cluster_state.rounds, "I18: no eviction without its round"
        if not recorded.stream.startswith(("workload/", "round/")):
            self.unsettled.clear()
        if isinstance(event, PlacementInvalidated) and event.by == "Taken":
            self._taken(self.cluster_state.rounds[recorded.stream.removeprefix("round/")], event)
        if isinstance(event, WorkloadQuotaReserved | RoundCommitted) and self.thieves:
            self._places_are_kept()
            self.thieves.clear()
        if isinstance(event, WorkloadQuotaReserved | RoundCommitted):
            self._fits_in_the_end()

    def after(self, recorded: RecordedEvent) -> None:
        """Checks the state after an event."""
        event = recorded.event
        if isinstance(event, WorkloadQuotaReserved):
            self._reserved(self.cluster_state.workloads[recorded.stream.removeprefix("workload/")])
        if isinstance(event, PlacementInvalidated) and event.taken_by in self.thieves:
            self.thieves.remove(event.taken_by)
        if isinstance(event, WorkloadShrunk):
            self._is_still_a_gang(
                self.cluster_state.workloads[recorded.stream.removeprefix("workload/")]
            )

    def at_rest(self) -> None:
        """Checks the state after which no more decisions follow."""
        self._immunity_is_paid_for()
        self._places_are_kept()
        self._fits_in_the_end()

    def _committed(self, event: RoundCommitted, recorded: RecordedEvent) -> None:
        others = [found for found in self.cluster_state.rounds.values() if is_open(found)]
        taken = [
            v.workload
            for r in others
            for v in r.victims
            if v.workload not in r.released and not v.shrinks_to
        ]
        for victim in event.victims:
            held = self.cluster_state.workloads[victim.workload]
            assert held.eviction is None, "I2: an evicting workload is credited, not chosen"
            assert victim.workload not in taken, "I2: a victim serves one round"
            if victim.shrinks_to:
                assert held.spec.preemptibility != "NonPreemptible", "I1: immunity holds"
                for name, stay in victim.shrinks_to.items():
                    assert stay >= _guaranteed_counts(held)[name], "I1, I9: the core stays"
            else:
                assert held.spec.preemptibility == "Preemptible", "I1: immunity holds"
        mine = [r for r in others if r.preemptor == event.preemptor]
        assert all(r.stage == "Invalidated" for r in mine), "I11: no second round"
        preemptor = self.cluster_state.workloads[event.preemptor]
        assert preemptor.spec.can_preempt, "I19: a workload that may not preempt starts no round"
        assert event.basis_position < recorded.position, "I15: decided on the past"
        self._recounted(event)

    def _recounted(self, event: RoundCommitted) -> None:
        cluster_state = self.cluster_state
        standings = budget_statuses(
            cluster_state.config.disruption_budgets, cluster_state.workloads.values()
        )
        removals = [
            BudgetedRemoval(cluster_state.workloads[v.workload], v.pods, not v.shrinks_to)
            for v in event.victims
        ]
        ranked = sorted(removals, key=lambda r: (-protection_of(r.workload.spec), r.workload.uid))
        broken = violated_budgets(standings, ranked)
        stored = sum(bool(v.violates) for v in event.victims)
        strict = {found.key for found in standings if found.spec.enforcement == "Strict"}
        reclaimed = {v.workload for v in event.victims if v.reason == "InCohortReclamation"}
        ranked_names = [removal.workload.key for removal in ranked]
        for key, names in zip(ranked_names, broken, strict=True):
            overspent = strict.intersection(names)
            assert key in reclaimed or not overspent, f"C7: {overspent} overspent by {key}"
        assert stored == sum(map(bool, broken)), "I10: violations are those of a recount"

    def _taken(self, kept: Round, event: PlacementInvalidated) -> None:
        cluster_state = self.cluster_state
        taker, preemptor = (
            cluster_state.workloads[event.taken_by],
            cluster_state.workloads[kept.preemptor],
        )
        admission = taker.admission or taker.nomination
        assert admission is not None, "the workload has what it took"
        queue = admission.cluster_queue
        partition = cluster_state.partition(cluster_state.layout.of_cluster_queue[queue])
        mine, theirs = (
            nomination_rank(partition, taker, queue),
            nomination_rank(partition, preemptor, kept.cluster_queue),
        )
        if reclaims_nominal_quota(kept):
            assert queue == kept.cluster_queue, "I17: what is owned yields to its own queue alone"
            assert mine < theirs, "I17: and there only to the stronger"
        elif queue == kept.cluster_queue:
            assert mine < theirs, "I17: within a queue only to the stronger"
        else:
            assert mine < theirs or self._is_within_nominal(taker), "I17: or to nominal quota"

    def _is_within_nominal(self, workload: Workload) -> bool:
        partition = self._partition_of(workload)
        charge = self._charge(partition, workload)
        node = f"clusterqueue/{charge.cluster_queue}"
        return all(
            partition.usage[PROJECTED][node].get(key, 0) <= partition.tree.nominal(node, key)
            for key in charge.amounts
        )

    def _reserved(self, workload: Workload) -> None:
        partition = self._partition_of(workload)
        charge = partition.charges.held_by(workload)
        assert charge.is_whole, f"{workload.key} stands on hosts that are not there"
        if not _fits(partition, PROJECTED, charge):
            assert partition.rounds, f"I12: {workload.key} takes capacity that no round reserved"
            self.thieves.append(workload.key)
            self.unsettled.append(workload.key)
        assert workload.admission is not None, "it was just given a place"
        least = {p.name: p.min_count or p.count for p in workload.spec.pod_sets}
        for given in workload.admission.pod_set_assignments:
            ended = workload.reclaimable.get(given.name, 0)
            assert given.count + ended >= least[given.name], "I9: no pod set below its minimum"

    @staticmethod
    def _is_still_a_gang(workload: Workload) -> None:
        assert workload.admission is not None, "a partially evicted workload has an admission"
        for given in workload.admission.pod_set_assignments:
            least = min(_guaranteed_counts(workload)[given.name], given.count)
            assert given.count >= max(least, 1), "I9: no pod set below its minimum"
            places = given.topology_assignment
            if places is not None and not workload.reclaimable:
                placed = sum(domain.count for domain in places.domains)
                assert placed == given.count, "I9: a place for each pod that stays"

    def _fits_in_the_end(self) -> None:
        """A workload on reserved capacity fits in the projected view afterwards."""
        for key in self.unsettled:
            workload = self.cluster_state.workloads.get(key)
            if workload is None or not has_quota_reservation(workload):
                continue
            if oldest_ongoing_eviction(workload) is None:
                partition = self._partition_of(workload)
                charge = partition.charges.held_by(workload)
                assert _fits(partition, PROJECTED, charge), f"I12: {key} fits both views"
        self.unsettled.clear()

    def _immunity_is_paid_for(self) -> None:
        used: dict[tuple[str, str, str], int] = {}
        for workload in self.cluster_state.workloads.values():
            if workload.spec.preemptibility != "NonPreemptible" or not has_quota_reservation(
                workload
            ):
                continue
            charge = self._charge(self._partition_of(workload), workload)
            for (flavor, resource), amount in charge.amounts.items():
                key = (charge.cluster_queue, flavor, resource)
                used[key] = used.get(key, 0) + amount
        for (queue, flavor, resource), amount in used.items():
            partition = self.cluster_state.partition(
                self.cluster_state.partition_index.of_cluster_queue[queue]
            )
            nominal = partition.tree.nominal(f"clusterqueue/{queue}", (flavor, resource))
            assert amount <= nominal, "I8: immunity costs nominal quota"

    def _places_are_kept(self) -> None:
        """Every invalidated nomination has been recorded."""
        for found in self.cluster_state.rounds.values():
            preemptor = self.cluster_state.workloads.get(found.preemptor)
            if is_open(found) and found.stage != "Invalidated" and preemptor is not None:
                self._kept(found, preemptor)

    def _kept(self, found: Round, preemptor: Workload) -> None:
        partition = self._partition_of(preemptor)
        charge = partition.charges.charge_of(preemptor, found.admission)
        assert _fits(partition, PROJECTED, charge), "I3, I17: the place is there in the end"

    def _partition_of(self, workload: Workload) -> Partition:
        return self.cluster_state.partition(self.cluster_state.partition_of_workload(workload))

    @staticmethod
    def _charge(partition: Partition, workload: Workload) -> Charge:
        if workload.admission is not None:
            return partition.charges.held_by(workload)
        assert workload.nomination is not None, "it has a place, or one is kept for it"
        return partition.charges.charge_of(workload, workload.nomination)


def _fits(partition: Partition, view: int, charge: Charge) -> bool:
    """Whether a charge that a view counts already fits beside all others."""
    node = f"clusterqueue/{charge.cluster_queue}"
    partition.charges.release(view, charge)
    try:
        has_quota = all(
            amount <= available(partition.tree, partition.usage[view], node, key)
            for key, amount in charge.amounts.items()
        )
        return has_quota and partition.hosts.fits(view, charge.pods)
    finally:
        partition.charges.acquire(view, charge)


def _guaranteed_counts(workload: Workload) -> dict[str, int]:
    """How many pods of each pod set must stay as long as the workload does."""
    least = {}
    for pod_set in workload.spec.pod_sets:
        single = pod_set.disruption_mode == "Single"
        most = 1 if single else pod_set.count
        least[pod_set.name] = most if pod_set.min_count is None else pod_set.min_count
    return least
