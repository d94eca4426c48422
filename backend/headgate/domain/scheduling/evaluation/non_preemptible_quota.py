"""The limit of non-preemptible usage to nominal quota (preemption.md §6.4).

NonPreemptible workloads and the guaranteed pods of SemiPreemptible ones, admitted or nominated,
never exceed their ClusterQueue's nominal quota, so that everything above it can be reclaimed. With
`reserveForPendingNonPreemptible` nominal quota is also withheld for pending ones.
"""

from collections.abc import Iterator

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
from headgate.domain.workloads.state import Workload, WorkloadsByKey


class NonPreemptibleUsage(msgspec.Struct, frozen=True, gc=False):
    """The non-preemptible usage of a ClusterQueue beside one evaluated workload."""

    partition: Partition
    workloads: WorkloadsByKey
    workload: Workload
    cluster_queue: str
    spec: ClusterQueueSpec

    def restrict(self, answer: QuotaResult, key: FlavorResource, need: int) -> QuotaResult:
        """Returns the result, or NO_FIT where non-preemptible usage leaves less room than quota."""
        core = non_preemptible_requests(self.workload.spec)
        if key[1] in core:
            left = answer.nominal - self._usage().get(key, 0)
            asked = min(need, core[key[1]])
            return answer if asked <= left else _exceeded(answer, left, asked)
        if self.spec.preemption.reserve_for_pending_non_preemptible and core == {}:
            return self._beside_withheld(answer, key, need)
        return answer

    def _beside_withheld(self, answer: QuotaResult, key: FlavorResource, need: int) -> QuotaResult:
        """Koordinator: min(min, requested) + preemptible use + need <= max.

        The maximum is nominal quota and the borrowing limit; without a limit it is what the queue
        can ever have, which in no Cohort is its nominal quota.
        """
        node = f"clusterqueue/{self.cluster_queue}"
        limit = self.partition.tree.borrowing_limit(node, key)
        maximum = answer.maximum if limit is None else answer.nominal + limit
        non_preemptible = self._usage().get(key, 0)
        others = self.partition.usage[ACTUAL][node].get(key, 0) - non_preemptible
        withheld = min(answer.nominal, non_preemptible + self._pending(key))
        left = maximum - withheld - others
        if need <= left:
            return answer
        return _withheld(replace(answer, has_borrowing_limit=limit is not None), left, need)

    def _usage(self) -> FlavorResourceQuantities:
        used: FlavorResourceQuantities = {}
        for admission, spec in self._admissions():
            for key, amount in _non_preemptible_part(admission, spec):
                used[key] = used.get(key, 0) + amount
        return used

    def _admissions(self) -> Iterator[tuple[Admission, WorkloadSpec]]:
        """Admissions and nominations of the ClusterQueue (trap P19)."""
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

    def _pending(self, key: FlavorResource) -> int:
        pending = self.partition.pending[self.cluster_queue].in_heap
        return sum(
            non_preemptible_requests(self.workloads[name].spec).get(key[1], 0)
            for name in pending
            if name in self.workloads and name != self.workload.key
        )


def non_preemptible_requests(spec: WorkloadSpec) -> dict[str, int]:
    """Returns the non-preemptible part of the requests by resource; empty if Preemptible."""
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


def _non_preemptible_part(
    admission: Admission, spec: WorkloadSpec
) -> Iterator[tuple[FlavorResource, int]]:
    if spec.preemptibility == "Preemptible":
        return
    sets = {pod_set.name: pod_set for pod_set in spec.pod_sets}
    for given in admission.pod_set_assignments:
        pod_set = sets.get(given.name)
        core = given.count if pod_set is None else min(given.count, _core(spec, pod_set))
        for resource, amount in given.resource_usage.items():
            part = amount * core // given.count if given.count else amount
            yield (given.flavors.get(resource, ""), resource), part


def _withheld(answer: QuotaResult, left: int, need: int) -> QuotaResult:
    """NO_FIT, since quota beyond `left` is withheld for pending non-preemptible workloads."""
    if need > answer.maximum:
        return answer
    told = replace(answer, mode=Mode.NO_FIT, reason="WaitingForQuota")
    if left >= answer.have - answer.debt:
        return told
    have = max(0, left)
    return replace(told, have=have, is_withheld=True, debt=have - left)


def _exceeded(answer: QuotaResult, left: int, asked: int) -> QuotaResult:
    """NO_FIT, since only `left` of nominal quota remains for `asked` non-preemptible amounts.

    If even borrowing could never be enough, the result keeps the larger shortage.
    """
    nominal = answer.nominal
    if answer.reason == "ExceedsMaxQuota" and asked - nominal < answer.need - answer.maximum:
        return answer
    have = max(0, left)
    return replace(
        answer,
        mode=Mode.NO_FIT,
        need=asked,
        have=have,
        maximum=nominal,
        reason="ExceedsMaxQuota" if asked > nominal else "WaitingForQuota",
        is_non_preemptible=True,
        debt=have - left,
    )
