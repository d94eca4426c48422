"""Who can never start as it is: it asks for more than there is when nobody else uses anything."""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.cell import Cell
from headgate.domain.scheduling.answers import UNUSABLE_HOSTS
from headgate.domain.scheduling.flavors.refusals import BESIDE_OTHERS
from headgate.domain.scheduling.lines.standing import cluster_queue_of
from headgate.domain.scheduling.waiting import explain_now, explain_waiting
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.state import Workload, phase_of

HOPELESS = ("ExceedsMaxQuota", "NoMatchingFlavor", "TopologyPlacementFailed")
"""Why a workload waits that no other workload's end can help."""


def never_starting(cell: Cell, at: Instant) -> Iterator[tuple[Workload, Explanation]]:
    """Everyone who waits and can never start as it is, with what proves it, by key."""
    for _, workload in sorted(cell.workloads.items()):
        found = why_it_never_starts(cell, workload, at)
        if found is not None:
            yield workload, found


def why_it_never_starts(cell: Cell, workload: Workload, at: Instant) -> Explanation | None:
    """What proves that a workload waits for ever as it is; None where it may start some day."""
    if phase_of(workload) == "Pending" and _is_told_so(cell, workload):
        return _proof(cell, workload, at)
    return None


def _is_told_so(cell: Cell, workload: Workload) -> bool:
    """By what was recorded of it, or of one that asks for the same: cheap enough for everyone."""
    found = workload.explanation
    if found is None:
        partition = cell.partition(cell.partitioning.key_of(workload))
        line = partition.pending.get(cluster_queue_of(cell.config, workload))
        other = line.explained_like(workload.key) if line is not None else None
        found = cell.workloads[other].explanation if other else None
    return found is not None and found.dominant in HOPELESS


def _proof(cell: Cell, workload: Workload, at: Instant) -> Explanation | None:
    """Why it can never start; one that may start with fewer pods is judged by the fewest."""
    found = explain_waiting(cell, workload, at)
    if found is not None and found.dominant in HOPELESS:
        fewest = _with_fewest_pods(workload)
        if fewest is not workload:
            found = explain_now(cell, fewest, at)
    if found is None or found.dominant not in HOPELESS:
        return None
    return found if all(map(_is_for_good, found.blockers)) and not _has_a_way(found) else None


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
    return UNUSABLE_HOSTS not in blocker.excluded_hosts and BESIDE_OTHERS not in blocker.message


def _has_a_way(found: Explanation) -> bool:
    """Whether some pod set could have a flavor in which only others stand in its way."""
    for_good = {(b.pod_set, b.flavor) for b in found.blockers if b.reason in HOPELESS}
    return any(
        b.flavor and b.reason not in HOPELESS and (b.pod_set, b.flavor) not in for_good
        for b in found.blockers
    )
