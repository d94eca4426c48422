"""What a workload takes in each view, and what a change of it means for those who wait."""

from typing import TypeAlias

from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import without_evicting_pods
from headgate.domain.workloads.predicates import has_released_quota
from headgate.domain.workloads.state import Workload

ChargedAdmissions: TypeAlias = tuple[Admission | None, Admission | None]
"""What somebody takes in the actual and in the projected view."""


def is_usage_unchanged(old: Workload | None, new: Workload | None) -> bool:
    """Whether nothing has changed that its charges follow from; true for most facts."""
    return (
        old is not None
        and new is not None
        and old.admission is new.admission
        and old.nomination is new.nomination
        and old.eviction is new.eviction
        and old.pod_evictions is new.pod_evictions
        and old.spec is new.spec
        and old.reclaimable is new.reclaimable
        and old.finished_at == new.finished_at
    )


def has_new_assignment(old: Workload | None, new: Workload) -> bool:
    """Whether it was given other places while it keeps its quota."""
    return old is not None and old.admission is not None and old.admission is not new.admission


def has_reclaimed_pods(old: Workload | None, new: Workload | None) -> bool:
    """Whether the same pods are needed no more, so that the same admission takes another amount."""
    if old is None or new is None:
        return False
    shrunk = old.spec is not new.spec and old.spec.pod_sets != new.spec.pod_sets
    released = new.admission is not None and has_released_quota(old) != has_released_quota(new)
    return shrunk or released or old.reclaimable != new.reclaimable


def frees_capacity(
    old: Workload | None, before: ChargedAdmissions, after: ChargedAdmissions
) -> bool:
    """Whether someone who did not fit might fit now, or might make room otherwise than before."""
    was, now = before[PROJECTED], after[PROJECTED]
    freed = before[ACTUAL] is not None and after[ACTUAL] is None
    withdrawn = old is not None and old.nomination is not None and now is None
    moved = was is not now and was is not None and now is not None and was != now
    return freed or withdrawn or moved


def charged_admissions(workload: Workload | None) -> ChargedAdmissions:
    """What it takes in the actual and in the projected view."""
    if workload is None or workload.finished_at is not None:
        return None, None
    if workload.admission is None:
        return None, workload.nomination
    if workload.eviction is not None:
        return workload.admission, None
    if not workload.pod_evictions:
        return workload.admission, workload.admission
    return workload.admission, without_evicting_pods(workload.admission, workload.pod_evictions)
