"""What a workload could gain by making others leave: foreseen by flavor, planned for the whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.scheduling.answers import Mode
from headgate.domain.scheduling.ordering.order import queued_at
from headgate.domain.scheduling.partition import Charge, Partition
from headgate.domain.scheduling.placement.hosts import PROJECTED
from headgate.domain.scheduling.preemption.claims import Claim, Victim
from headgate.domain.scheduling.preemption.guard import closes_circle
from headgate.domain.scheduling.preemption.legality import Wrongs
from headgate.domain.scheduling.preemption.oracle import foresee
from headgate.domain.scheduling.preemption.plan import SearchRules, VictimPlan, plan_victims
from headgate.domain.scheduling.preemption.precedents import Epoch
from headgate.domain.scheduling.quota.answer import Oracle
from headgate.domain.scheduling.quota.tree import Amounts
from headgate.domain.scheduling.quota.usage import available, borrowing_level
from headgate.domain.scheduling.room import Place, Workloads, host_room, quota_room
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.state import Workload


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A workload with everything that decides whom it may make leave."""

    partition: Partition
    workloads: Workloads
    workload: Workload
    node: str
    spec: ClusterQueueSpec

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
        return SearchRules(fair.preemption_strategies if fair else (), guard=self._guard)

    def _guard(self, claim: Claim, victims: Sequence[Victim]) -> Wrongs:
        epoch = Epoch(
            self.workloads, self.partition.epoch_of(self.node.removeprefix("clusterqueue/"))
        )
        return closes_circle(self.partition.precedents, epoch, claim.preemptor.key, victims)


def oracle_of(preemptor: Preemptor, *, preempts: bool) -> Oracle:
    """What to tell the choice of flavors; without preemption there are never candidates."""
    policies = preemptor.spec.preemption
    rules = preemptor.rules

    def simulate(key: FlavorResource, need: int) -> tuple[Mode, int]:
        if not preempts:
            tree, usage = preemptor.partition.tree, preemptor.partition.usage[PROJECTED]
            return Mode.NO_CANDIDATES, borrowing_level(tree, usage, preemptor.node, key, need)[0]
        room = quota_room(preemptor.partition, preemptor.workloads)
        return foresee(room, _claim(preemptor, {key: need}, (key,)), rules)

    borrows = policies.borrow_within_cohort.policy != "Never"
    shares = bool(rules.strategies) and policies.reclaim_within_cohort != "Never"
    return Oracle(simulate, while_borrowing=borrows or shares)


def victims_for(
    preemptor: Preemptor,
    amounts: Amounts,
    place: Callable[[], Place | None],
    charge_at: Callable[[Place], Charge],
) -> VictimPlan[Place]:
    """Who must leave so that the whole workload fits at a place."""
    room = host_room(preemptor.partition, preemptor.workloads, place, charge_at)
    contested = _contested(preemptor, amounts, has_place=place() is not None)
    claim = _claim(preemptor, amounts, contested)
    return plan_victims(room, claim, preemptor.rules)


def _claim(preemptor: Preemptor, amounts: Amounts, contested: tuple[FlavorResource, ...]) -> Claim:
    spec = preemptor.spec
    return Claim(
        preemptor.workload,
        preemptor.node,
        spec.preemption,
        lambda other: queued_at(other, spec),
        amounts,
        contested,
    )


def _contested(
    preemptor: Preemptor, amounts: Amounts, *, has_place: bool
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
