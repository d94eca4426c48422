"""What immunity costs: what may not be preempted stays within nominal quota (preemption.md §6.4).

Used and nominated work that is NonPreemptible, and the core of what is SemiPreemptible, never
exceed a ClusterQueue's nominal quota, so that everything above it can be taken back. On request
nominal quota is kept as well for such work that still waits.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.results import Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import PodSet, WorkloadSpec
from headgate.domain.workloads.state import Workload

Workloads = Mapping[str, Workload]


class NonPreemptibleUsage(msgspec.Struct, frozen=True, gc=False):
    """Who may not be preempted, as one look at one workload sees it."""

    partition: Partition
    workloads: Workloads
    workload: Workload
    cluster_queue: str
    spec: ClusterQueueSpec

    def bounded(self, answer: QuotaResult, key: FlavorResource, need: int) -> QuotaResult:
        """The answer, or no if the rules on immunity leave less room than quota does."""
        core = non_preemptible_requests(self.workload.spec)
        if key[1] in core:
            left = answer.nominal - self._immune_usage().get(key, 0)
            asked = min(need, core[key[1]])
            return answer if asked <= left else _unpaid(answer, left, asked)
        if self.spec.preemption.reserve_for_pending_non_preemptible and core == {}:
            return self._beside_reserved(answer, key, need)
        return answer

    def _beside_reserved(self, answer: QuotaResult, key: FlavorResource, need: int) -> QuotaResult:
        node = f"clusterqueue/{self.cluster_queue}"
        limit = self.partition.tree.borrowing_limit(node, key)
        if limit is None:
            return answer
        immune = self._immune_usage().get(key, 0)
        others = self.partition.usage[ACTUAL][node].get(key, 0) - immune
        kept = min(answer.nominal, immune + self._immune_and_waiting(key))
        left = answer.nominal + limit - kept - others
        return answer if need <= left else _kept(answer, left, need)

    def _immune_usage(self) -> FlavorResourceQuantities:
        used: FlavorResourceQuantities = {}
        for admission, spec in self._immune_places():
            for key, amount in _immune_part(admission, spec):
                used[key] = used.get(key, 0) + amount
        return used

    def _immune_places(self) -> Iterator[tuple[Admission, WorkloadSpec]]:
        """Places held, and places that rounds keep, in this ClusterQueue (trap T19)."""
        for key in self.partition.charges.holding.get(self.cluster_queue, {}):
            holder = self.workloads[key]
            if holder.admission is not None and key != self.workload.key:
                yield holder.admission, holder.spec
        for found in self.partition.rounds.values():
            nominated = self.workloads.get(found.preemptor)
            if nominated is None or nominated.nomination is None or nominated is self.workload:
                continue
            if nominated.round_id == found.id and found.cluster_queue == self.cluster_queue:
                yield nominated.nomination, nominated.spec

    def _immune_and_waiting(self, key: FlavorResource) -> int:
        waiting = self.partition.pending[self.cluster_queue].in_heap
        return sum(
            non_preemptible_requests(self.workloads[name].spec).get(key[1], 0)
            for name in waiting
            if name in self.workloads and name != self.workload.key
        )


def non_preemptible_requests(spec: WorkloadSpec) -> dict[str, int]:
    """What of its requests may not be preempted, by resource; empty for who is Preemptible."""
    if spec.preemptibility == "Preemptible":
        return {}
    total: dict[str, int] = {}
    for pod_set in spec.pod_sets:
        for resource, amount in pod_set.scheduling.requests.items():
            total[resource] = total.get(resource, 0) + amount * _core(spec, pod_set)
    return total


def _core(spec: WorkloadSpec, pod_set: PodSet) -> int:
    is_semi = spec.preemptibility == "SemiPreemptible"
    return pod_set.min_count if is_semi and pod_set.min_count is not None else pod_set.count


def _immune_part(admission: Admission, spec: WorkloadSpec) -> Iterator[tuple[FlavorResource, int]]:
    if spec.preemptibility == "Preemptible":
        return
    sets = {pod_set.name: pod_set for pod_set in spec.pod_sets}
    for given in admission.pod_set_assignments:
        pod_set = sets.get(given.name)
        core = given.count if pod_set is None else min(given.count, _core(spec, pod_set))
        for resource, amount in given.resource_usage.items():
            part = amount * core // given.count if given.count else amount
            yield (given.flavors.get(resource, ""), resource), part


def _kept(answer: QuotaResult, left: int, need: int) -> QuotaResult:
    """No, since what there is beyond `left` is kept for what waits and may not be preempted."""
    if need > answer.most:
        return answer
    told = replace(answer, mode=Mode.NO_FIT, reason="WaitingForQuota")
    if left >= answer.have - answer.debt:
        return told
    have = max(0, left)
    return replace(told, have=have, is_withheld=True, debt=have - left)


def _unpaid(answer: QuotaResult, left: int, asked: int) -> QuotaResult:
    """No, since `asked` may not be preempted and only so much nominal quota is left for that.

    Where even borrowing could never be enough, the greater shortage is told.
    """
    nominal = answer.nominal
    if answer.reason == "ExceedsMaxQuota" and asked - nominal < answer.need - answer.most:
        return answer
    have = max(0, left)
    return replace(
        answer,
        mode=Mode.NO_FIT,
        need=asked,
        have=have,
        most=nominal,
        reason="ExceedsMaxQuota" if asked > nominal else "WaitingForQuota",
        is_non_preemptible=True,
        debt=have - left,
    )
