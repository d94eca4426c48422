"""What a fold keeps of workloads that have ended: their numbers, and the latest failures.

A workload leaves the fold with the event that ends it, but for the latest ones and those that an
open round names. Decisions take one that is not there for one that has ended; everything else of it
is read from its row or its stream (ADR 0058).
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import msgspec

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant, seconds_after
from headgate.domain.values.message import MessageOrText
from headgate.domain.workloads.events import EndPhase, WorkloadDeleted
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Phase, Workload, condition, end_phase

MAX_WHOLE_ENDED = 300
"""So many of the latest ended workloads stay; more than a process reads events at once."""

MAX_FAILURES = 10_000
FAILURE_KEPT_SECONDS = 86_400
"""Failures of so long before the latest are kept; attention tells of them no longer."""

ENDED_PHASES: Final[tuple[Phase, ...]] = ("Succeeded", "Failed", "Cancelled")

LIKELY_PHASES: Final[tuple[EndPhase, ...]] = ("Succeeded", "Cancelled", "Failed")

EndCounts: TypeAlias = Mapping[str, Mapping[EndPhase, int]]
"""Ended workloads that are not deleted, by LocalQueue (`namespace/name`) and phase."""


class WorkloadFailure(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """When and why a workload failed, and the GPU-seconds from its last admission to its end."""

    finished_at: Instant
    queue_name: str
    cause: MessageOrText
    gpu_seconds: int


class FoldedEnds(msgspec.Struct, frozen=True):
    """What `EndedWorkloads` has folded, to be kept with a state."""

    counts: dict[str, dict[EndPhase, int]] = {}
    failures: dict[str, WorkloadFailure] = {}


class EndChange(NamedTuple):
    """One ended workload more, or with -1 one less, of a LocalQueue (`namespace/name`)."""

    local_queue: str
    phase: EndPhase
    number: int


def has_ended(workload: Workload) -> bool:
    """Whether a workload has ended, so that no decision follows for it but its deletion."""
    return workload.finished_at is not None and workload.terminating_at is None


def _neither_finished(before: Workload, after: Workload) -> bool:
    return before.finished_at is None and after.finished_at is None


def deletion_of(workload: Workload) -> WorkloadDeleted:
    """The event that deletes a workload."""
    if not has_ended(workload):
        return WorkloadDeleted()
    return WorkloadDeleted(
        phase=end_phase(workload),
        queue_name=workload.spec.queue_name,
        created_at=workload.created_at,
        finished_at=workload.finished_at,
    )


def retention_deadline(workload: Workload, after_seconds: int | None) -> Instant | None:
    """The instant at which a finished workload is deleted by retention (§5.9).

    That is so long after its end, where it is given, or at the end of its own
    `ttlSecondsAfterFinished`, whichever is first (Kubernetes: TTL controller).
    """
    if workload.finished_at is None:
        return None
    limits = (after_seconds, workload.spec.ttl_seconds_after_finished)
    after = min((limit for limit in limits if limit is not None), default=None)
    return None if after is None else seconds_after(workload.finished_at, after)


def expired_deletion(
    workload: Workload, after_seconds: int | None, at: Instant
) -> WorkloadDeleted | None:
    """The deletion of a finished workload by retention; None where it is not due at `at`."""
    deadline = retention_deadline(workload, after_seconds)
    return deletion_of(workload) if deadline is not None and deadline <= at else None


def _failure(workload: Workload) -> WorkloadFailure:
    finished, admitted = condition(workload, "Finished"), condition(workload, "Admitted")
    ended_at = workload.finished_at or 0
    begun_at = min(ended_at, admitted.last_transition_at) if admitted else ended_at
    seconds = (ended_at - begun_at) // MICROSECONDS_PER_SECOND
    cause = finished.message if finished else ""
    gpu_seconds = gpus_requested(workload.spec) * seconds
    return WorkloadFailure(ended_at, workload.spec.queue_name, cause, gpu_seconds)


EndUndo: TypeAlias = Callable[[], None] | None
"""Undoes the deletion of a workload that has left the fold; None where nothing was counted."""


class EndedWorkloads:
    """The numbers of ended workloads, the latest failures, and which ended ones a fold still has.

    `whole` names the latter, in the order of their ends; `named` the workloads that open rounds
    name, with the number of rounds. `is_due` says that `surplus` is to be taken. `note_change` is
    told how the numbers change.
    """

    def __init__(
        self, counts: dict[str, dict[EndPhase, int]], note_change: Callable[[EndChange], None]
    ) -> None:
        self._note_change = note_change
        self.max_whole = MAX_WHOLE_ENDED
        self.is_due = False
        # Both are filled and never replaced.
        self.counts: Final = counts
        self.failures: Final[dict[str, WorkloadFailure]] = {}
        self.by_namespace: dict[str, int] = {}
        self.whole: dict[str, None] = {}
        self.named: dict[str, int] = {}

    def note(
        self, key: str, before: Workload | None, after: Workload | None, event: object = None
    ) -> EndUndo:
        """Note a workload that an event has changed.

        What is returned undoes the deletion of one that has left the fold; all else is undone by
        the opposite change.
        """
        if after is not None and before is not None and _neither_finished(before, after):
            return None
        had_ended = before is not None and has_ended(before)
        if after is not None and has_ended(after):
            self._note_end(key, after, is_new=not had_ended)
        elif before is None and isinstance(event, WorkloadDeleted):
            return self._delete_absent(key, event)
        elif before is not None and had_ended:
            self.whole.pop(key, None)
            change = EndChange(before.local_queue_key, end_phase(before), -1)
            if isinstance(event, WorkloadDeleted):
                change = self._told(key, event) or change
            self.failures.pop(key, None)
            self._count(change)
        return None

    def _delete_absent(self, key: str, event: WorkloadDeleted) -> EndUndo:
        failure, change = self.failures.get(key), self._told(key, event)
        if change is None or not self._count(change):
            return None
        self.failures.pop(key, None)

        def undo() -> None:
            self._count(change._replace(number=1))
            if failure is not None:
                self._put_failure(key, failure)

        return undo

    def _told(self, key: str, event: WorkloadDeleted) -> EndChange | None:
        """What a deletion says of the end of a workload, of which no more needs to be known.

        Where an event of version 1 does not tell its phase, that of a failure that is kept is taken
        or else the likeliest one that its namespace has, whatever the fold has of it: all folds of
        a log agree.
        """
        namespace, failure = key.partition("/")[0], self.failures.get(key)
        if event.phase is not None:
            return EndChange(f"{namespace}/{event.queue_name}", event.phase, -1)
        if failure is not None:
            return EndChange(f"{namespace}/{failure.queue_name}", "Failed", -1)
        own = sorted(place for place in self.counts if place.startswith(f"{namespace}/"))
        for phase in LIKELY_PHASES:
            for place in own:
                if phase in self.counts[place]:
                    return EndChange(place, phase, -1)
        return None

    def note_named(self, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        """Note which workloads a round names while it is open."""
        if before == after:
            return
        self.is_due = True
        for keys, number in ((before, -1), (after, 1)):
            for key in keys:
                rounds = self.named.pop(key, 0) + number
                if rounds > 0:
                    self.named[key] = rounds

    def surplus(self, max_whole: int | None = None) -> Iterator[str]:
        """Takes the keys of the ended workloads that are to be kept no longer, in order of end."""
        limit = self.max_whole if max_whole is None else max_whole
        self.is_due = False
        self._forget_failures()
        if (excess := len(self.whole) - limit) <= 0:
            return
        unnamed = (key for key in self.whole if key not in self.named)
        for key in tuple(islice(unnamed, excess)):
            del self.whole[key]
            yield key

    def number_of(self, namespaces: Iterable[str] | None = None) -> int:
        """The ended workloads that are not deleted, of all or some namespaces."""
        if namespaces is None:
            return sum(self.by_namespace.values())
        return sum(self.by_namespace.get(namespace, 0) for namespace in namespaces)

    def failed_since(
        self, since: Instant, namespaces: Container[str] | None
    ) -> dict[tuple[str, str], list[str]]:
        """The workloads that failed from an instant on, by namespace and queue; the latest last."""
        found: dict[tuple[str, str], list[str]] = {}
        for key, failure in self.failures.items():
            namespace = key.partition("/")[0]
            if failure.finished_at >= since and (namespaces is None or namespace in namespaces):
                found.setdefault((namespace, failure.queue_name), []).append(key)
        return dict(sorted(found.items()))

    def dump(self) -> FoldedEnds:
        """All of it that a snapshot keeps; it is not to be changed."""
        return FoldedEnds(self.counts, self.failures)

    def update(self, folded: FoldedEnds) -> None:
        """Take over what a snapshot has kept."""
        for place, phases in folded.counts.items():
            self.counts[place] = dict(phases)
            self._count_namespace(place, sum(phases.values()))
        self.failures.update(folded.failures)

    def take(self, workloads: Iterable[Workload]) -> None:
        """Take over which of these workloads have ended."""
        ended = [(each.finished_at or 0, each.key) for each in workloads if has_ended(each)]
        self.whole.update((key, None) for _, key in sorted(ended))

    def copy_of(self, other: "EndedWorkloads") -> None:
        """Become an independent copy; there is nothing here before."""
        self.max_whole = other.max_whole
        self.update(other.dump())
        self.whole.update(other.whole)
        self.named.update(other.named)

    def _note_end(self, key: str, workload: Workload, *, is_new: bool) -> None:
        if key not in self.whole:
            self.whole[key] = None
            self.is_due = True
        if is_new:
            change = EndChange(workload.local_queue_key, end_phase(workload), 1)
            if change.phase == "Failed":
                self._put_failure(key, _failure(workload))
            self._count(change)

    def _count(self, change: EndChange) -> bool:
        """Counts a change; false where there is nothing that could become less."""
        phases = self.counts.setdefault(change.local_queue, {})
        number = phases.pop(change.phase, 0) + change.number
        if number > 0:
            phases[change.phase] = number
        if not phases:
            del self.counts[change.local_queue]
        if number >= 0:
            self._count_namespace(change.local_queue, change.number)
            self._note_change(change)
        return number >= 0

    def _count_namespace(self, local_queue: str, number: int) -> None:
        namespace = local_queue.partition("/")[0]
        total = self.by_namespace.pop(namespace, 0) + number
        if total:
            self.by_namespace[namespace] = total

    def _put_failure(self, key: str, failure: WorkloadFailure) -> None:
        """Put a failure in the order of ends, in which nearly all come."""
        latest = next(reversed(self.failures), None)
        self.failures.pop(key, None)
        self.failures[key] = failure
        if latest is None or self._order(latest) <= self._order(key):
            return
        ordered = sorted(self.failures.items(), key=lambda each: (each[1].finished_at, each[0]))
        self.failures.clear()
        self.failures.update(ordered)

    def _order(self, key: str) -> tuple[Instant, str]:
        return self.failures[key].finished_at, key

    def _forget_failures(self) -> None:
        if not self.failures:
            return
        latest = self.failures[next(reversed(self.failures))].finished_at
        kept_from = latest - FAILURE_KEPT_SECONDS * MICROSECONDS_PER_SECOND
        first = next(iter(self.failures))
        while len(self.failures) > MAX_FAILURES or self.failures[first].finished_at < kept_from:
            del self.failures[first]
            first = next(iter(self.failures))
