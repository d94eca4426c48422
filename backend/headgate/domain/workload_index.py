"""Workloads as reads look for them: in groups that are alike, in phases, and those with quota.

It follows from the states of the workloads alone, is built when it is first read, and is updated
with each change from then on. A read looks at groups, of which there are about as many as kinds of
work, and not at workloads.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.job_templates import CRON_JOB_LABEL
from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling.ordering.pending_places import ClassParts, SortedBlocks
from headgate.domain.scheduling.queueing.pending_entry import equivalence_class
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.predicates import has_admission_gates, is_admissible
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Phase, Workload, condition, phase_of
from headgate.domain.workloads.transitions.preemption import oldest_ongoing_eviction

Age: TypeAlias = tuple[Instant, str]
"""The creation of a workload, and its key: the oldest sorts first."""

INDEXED_PHASES: frozenset[Phase] = frozenset({"Inactive", "OnHold", "Retrying", "Starting"})


class GroupKey(msgspec.Struct, frozen=True):
    """All of a workload without quota that reads tell apart.

    `standing` is its own part in whether it may be evaluated, `reserved` the recorded reason of a
    condition QuotaReserved that is False, empty for none; `explained`: its evaluation left one.
    """

    namespace: str
    queue_name: str
    standing: tuple[bool, ...]
    reserved: str
    explained: bool
    pod_sets: tuple[str, ...]
    equivalence_class: ClassParts

    @property
    def competes(self) -> bool:
        """Whether nothing but its queues and its competitors keeps it from quota."""
        is_candidate, *_, is_evicted, is_nominated = self.standing
        return is_candidate and not is_evicted and not is_nominated

    @property
    def local_queue(self) -> str:
        """The LocalQueue as `namespace/name`."""
        return f"{self.namespace}/{self.queue_name}"


class WorkloadsByAge:
    """Workloads by age, and the GPUs that they request: in all, and times their creation."""

    def __init__(self) -> None:
        self.ages: SortedBlocks[Age] = SortedBlocks()
        self.gpus = 0
        self.gpu_creation = 0

    def count(self, workload: Workload, change: int) -> None:
        """Add a workload, or with -1 remove it."""
        age, gpus = (workload.created_at, workload.key), gpus_requested(workload.spec) * change
        if change > 0:
            self.ages.add(age)
        else:
            self.ages.remove(age)
        self.gpus += gpus
        self.gpu_creation += gpus * workload.created_at

    def by_age(self) -> Iterator[str]:
        """The workloads, the oldest first."""
        return (key for _, key in self.ages.starting_at(0))


class WorkloadIndex:
    """Groups of the workloads without quota, and the keys of all in phases that reads look for.

    `groups` has those without quota that do not end, but for `skipped` streams; `by_phase` those in
    `INDEXED_PHASES`; `holders` those with quota by ClusterQueue; `evicting` those with an eviction
    of all or of pods; `of_cron_jobs` those that a CronJob made and that have not ended, by its
    `namespace/name`.
    """

    def __init__(self, workloads: Iterable[Workload], skipped: Container[str] = ()) -> None:
        self._skipped = skipped
        self.groups: dict[GroupKey, WorkloadsByAge] = {}
        self.by_phase: dict[Phase, dict[str, WorkloadsByAge]] = {}
        self.holders: dict[str, dict[str, None]] = {}
        self.evicting: dict[str, None] = {}
        self.of_cron_jobs: dict[str, dict[str, None]] = {}
        for workload in workloads:
            self.replace(None, workload)

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Index a workload that was added, changed or deleted."""
        self._regroup(old, new)
        for workload, change in ((old, -1), (new, 1)):
            if workload is None:
                continue
            self._count_phase(workload, change)
            if workload.admission is not None and workload.finished_at is None:
                held = self.holders.setdefault(workload.admission.cluster_queue, {})
                _note(held, workload.key, change)
            if oldest_ongoing_eviction(workload) is not None:
                _note(self.evicting, workload.key, change)
            made_by = workload.labels.get(CRON_JOB_LABEL)
            if made_by and workload.finished_at is None:
                cron_job = f"{workload.namespace}/{made_by}"
                _note(self.of_cron_jobs.setdefault(cron_job, {}), workload.key, change)

    def with_quota(self) -> list[str]:
        """The keys of the workloads that have quota, sorted."""
        return sorted(key for keys in self.holders.values() for key in keys)

    def in_phase(self, phase: Phase, namespaces: Container[str] | None) -> list[WorkloadsByAge]:
        """The workloads in one of `INDEXED_PHASES` by namespace; None for all namespaces."""
        found = sorted(self.by_phase.get(phase, {}).items())
        return [each for name, each in found if namespaces is None or name in namespaces]

    def keys_in_phase(self, phase: Phase) -> Iterator[str]:
        """The keys of the workloads in one of `INDEXED_PHASES`."""
        return (key for group in self.in_phase(phase, None) for key in group.by_age())

    def _regroup(self, old: Workload | None, new: Workload | None) -> None:
        found = new or old
        if found is None or workload_stream(found.key) in self._skipped:
            return
        before = group_key(old) if old is not None else None
        after = group_key(new) if new is not None else None
        is_same = old is not None and new is not None and _is_same_age(old, new)
        if before == after and is_same:
            return
        if before is not None and old is not None:
            group = self.groups[before]
            group.count(old, -1)
            if not group.ages:
                del self.groups[before]
        if after is not None and new is not None:
            self.groups.setdefault(after, WorkloadsByAge()).count(new, 1)

    def _count_phase(self, workload: Workload, change: int) -> None:
        phase = phase_of(workload)
        if phase in INDEXED_PHASES:
            found = self.by_phase.setdefault(phase, {})
            found.setdefault(workload.namespace, WorkloadsByAge()).count(workload, change)


def group_key(workload: Workload) -> GroupKey | None:
    """The group of a workload without quota; None for one that has quota or ends."""
    state = (workload.finished_at, workload.terminating_at, workload.cancelling_at)
    if workload.admission is not None or any(each is not None for each in state):
        return None
    reserved = condition(workload, "QuotaReserved")
    return GroupKey(
        workload.namespace,
        workload.spec.queue_name,
        standing_of(workload),
        reserved.reason if reserved is not None and not reserved.status else "",
        workload.explanation is not None,
        tuple(pod_set.name for pod_set in workload.spec.pod_sets),
        equivalence_class(workload),
    )


def standing_of(workload: Workload) -> tuple[bool, ...]:
    """What of its own state decides whether a workload without quota may be evaluated."""
    return (
        is_admissible(workload),
        workload.spec.active,
        workload.hold is not None,
        has_admission_gates(workload),
        workload.requeue.requeue_at is not None,
        workload.eviction is not None,
        workload.round_id is not None,
    )


def _is_same_age(old: Workload, new: Workload) -> bool:
    return old.created_at == new.created_at and old.spec is new.spec


def _note(found: dict[str, None], key: str, change: int) -> None:
    if change > 0:
        found[key] = None
    else:
        found.pop(key, None)


MAX_LISTED = 50
"""So many workloads of each kind of finding are named."""


class Unlisted(msgspec.Struct, frozen=True):
    """Workloads with one kind of finding that are counted and not named."""

    count: int
    gpu_seconds: int
    since: Instant


@dataclass(frozen=True, slots=True)
class Affected:
    """The oldest workloads of a group: so many, with those of them that may be listed.

    `gpu_creation` sums the creation of each times the GPUs that it requests.
    """

    ages: tuple[Age, ...]
    count: int
    gpus: int
    gpu_creation: int
    key: GroupKey | None = None
    why: Explanation | None = None


def affected_of(
    group: WorkloadsByAge,
    number: int,
    key: GroupKey | None = None,
    why: Explanation | None = None,
) -> Affected:
    """The first so many of a group; `ages` go one beyond what is listed at most."""
    ages = tuple(islice(group.ages.starting_at(0), min(number, MAX_LISTED + 1)))
    gpus, creation = group.gpus, group.gpu_creation
    if number < len(group.ages):
        each = gpus // len(group.ages)
        created = sum(at for at, _ in islice(group.ages.starting_at(0), number))
        gpus, creation = each * number, each * created
    return Affected(ages, number, gpus, creation, key, why)


def oldest(found: Iterable[Affected]) -> list[str]:
    """The workloads to list, the oldest first."""
    return [key for _, key in nsmallest(MAX_LISTED, (age for each in found for age in each.ages))]


def unlisted(
    found: Sequence[Affected], at: Instant, workloads: Mapping[str, Workload]
) -> Unlisted | None:
    """The sums of all that `oldest` leaves out; None where it leaves out none."""
    listed = set(oldest(found))
    count = sum(each.count for each in found) - len(listed)
    if not count:
        return None
    spent, since = 0, at
    for each in found:
        spent += each.gpus * at - each.gpu_creation
        for created, key in each.ages:
            if key in listed:
                spent -= (at - created) * gpus_requested(workloads[key].spec)
            else:
                since = min(since, created)
    return Unlisted(count, max(0, spent) // MICROSECONDS_PER_SECOND, since)


class WorkloadReads:
    """The index of the workloads of a cluster state from when it is first read."""

    def __init__(
        self,
        workloads: Mapping[str, Workload],
        quarantined: Mapping[str, Message],
    ) -> None:
        # Both are filled and never replaced.
        self._workloads = workloads
        self._quarantined = quarantined
        self._index: WorkloadIndex | None = None
        self._ages: SortedBlocks[Age] | None = None
        self._skipped: tuple[str, ...] = ()

    @property
    def index(self) -> WorkloadIndex:
        """The index of all workloads, up to date; quarantined ones are in no group."""
        skipped = tuple(self._quarantined)
        if self._index is None or self._skipped != skipped:
            self._skipped = skipped
            self._index = WorkloadIndex(self._workloads.values(), skipped)
        return self._index

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Index a workload that was added, changed or deleted."""
        if self._ages is not None and (old is None) != (new is None):
            for found in filter(None, (old, new)):
                age = found.created_at, found.key
                (self._ages.add if old is None else self._ages.remove)(age)
        if self._index is not None and old is not new:
            self._index.replace(old, new)

    def forget(self, ended: Workload) -> None:
        """Index no longer an ended workload that has left the fold."""
        if self._ages is not None:
            self._ages.remove((ended.created_at, ended.key))

    def newest(self, before: Age | None = None) -> Iterator[str]:
        """The keys of the workloads of the fold, the newest first, from the one next to an age."""
        if self._ages is None:
            self._ages = SortedBlocks((w.created_at, key) for key, w in self._workloads.items())
        end = len(self._ages) if before is None else self._ages.rank(before)
        return (key for _, key in self._ages.ending_before(end))

    def forget_index(self) -> None:
        """Build the index again."""
        self._index = None
