"""Unschedulable workloads: their requests exceed the capacity even of an empty installation."""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.flavors.eligibility import HOSTS_OF_OTHER_FLAVOR
from headgate.domain.scheduling.ordering.pending_queue import EquivalenceClass
from headgate.domain.scheduling.pending_reasons import evaluated_reason, recorded_reason
from headgate.domain.scheduling.queueing.pending_entry import equivalence_class
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.state import Workload, phase_of

UNSCHEDULABLE = ("ExceedsMaxQuota", "NoMatchingFlavor", "TopologyPlacementFailed")
"""Why a workload waits that no other workload's end can help."""


class UnschedulableProofs:
    """The unschedulable workloads of one moment; equal requests are evaluated once."""

    def __init__(self, cluster_state: ClusterState, at: Instant) -> None:
        self._state, self._at = cluster_state, at
        self._found: dict[tuple[str, EquivalenceClass], Explanation | None] = {}

    def of(self, workload: Workload) -> Explanation | None:
        """What proves that a workload waits for ever as it is; None where it may start some day.

        Recorded reasons only select what to evaluate: quotas and hosts may have changed since.
        """
        if phase_of(workload) != "Pending" or not _is_told_so(self._state, workload):
            return None
        known = recorded_reason(self._state, workload, self._at)
        if known is None or known.dominant not in UNSCHEDULABLE:
            return None
        fewest = _with_fewest_pods(workload)
        kind = (cluster_queue_of(self._state.config, workload), equivalence_class(fewest))
        if kind not in self._found:
            self._found[kind] = evaluated_reason(self._state, fewest)
        found = self._found[kind]
        return found if found is not None and _is_proof(found) else None


def unschedulable_workloads(
    cluster_state: ClusterState, at: Instant
) -> Iterator[tuple[Workload, Explanation]]:
    """Every pending workload that is unschedulable, with its proof, by key."""
    proofs = UnschedulableProofs(cluster_state, at)
    for _, workload in sorted(cluster_state.workloads.items()):
        found = proofs.of(workload)
        if found is not None:
            yield workload, found


def _is_told_so(cluster_state: ClusterState, workload: Workload) -> bool:
    """By its recorded reason, or that of a workload with an equal request: cheap enough for all."""
    found = workload.explanation
    if found is None:
        partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
        line = partition.pending.get(cluster_queue_of(cluster_state.config, workload))
        other = line.explained_equivalent(workload.key) if line is not None else None
        found = cluster_state.workloads[other].explanation if other else None
    return found is not None and found.dominant in UNSCHEDULABLE


def _is_proof(found: Explanation) -> bool:
    is_hopeless = found.dominant in UNSCHEDULABLE and all(map(_is_for_good, found.blockers))
    return is_hopeless and not _has_a_way(found)


def _with_fewest_pods(workload: Workload) -> Workload:
    pod_sets = workload.spec.pod_sets
    fewest = tuple(
        p if p.min_count is None else replace(p, count=p.min_count, min_count=None)
        for p in pod_sets
    )
    return (
        workload
        if fewest == pod_sets
        else replace(workload, spec=replace(workload.spec, pod_sets=fewest))
    )


def _is_for_good(blocker: Blocker) -> bool:
    """Hosts that are out may come back, and other choices may leave other hosts to its pods."""
    is_unusable = any(each.cause == "Unusable" for each in blocker.excluded_hosts)
    return not is_unusable and blocker.message.code != HOSTS_OF_OTHER_FLAVOR


def _has_a_way(found: Explanation) -> bool:
    """Whether some pod set could have a flavor in which only others stand in its way."""
    for_good = {(b.pod_set, b.flavor) for b in found.blockers if b.reason in UNSCHEDULABLE}
    return any(
        b.flavor and b.reason not in UNSCHEDULABLE and (b.pod_set, b.flavor) not in for_good
        for b in found.blockers
    )
