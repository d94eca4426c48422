"""The pods of workloads: a row for each run of each pod, with state, node, exit code and times.

Rows are kept until the workload has ended; from then on its pods are folded from its events.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

import msgspec

from headgate.application.projections import Amend, ProjectionState, Put, Remove, RowChange
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, kind_and_key
from headgate.domain.values.index_ranges import contains, members
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.decide.pod_reports import STAGES
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadImported,
    WorkloadPlaced,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
    WorkloadSpecChanged,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pod_events import ReportedPods, RetryEvent
from headgate.domain.workloads.pods.attempt_pods import (
    FIRST_LAYOUT,
    NO_PROGRESS,
    NO_RETRY,
    AttemptLayout,
    AttemptPod,
    PodProgress,
    RetryState,
    attempt_pods,
)
from headgate.domain.workloads.pods.completions import indices_over, with_completions
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    WorkloadGrown,
    WorkloadPodsEvicted,
    WorkloadShrunk,
)
from headgate.domain.workloads.specs import PodIndex, PodReason
from headgate.domain.workloads.state import PodEviction, Workload, WorkloadState, phase_of

PodState = Literal["Assigned", "Starting", "Running", "Succeeded", "Failed", "Stopped", "Lost"]
LIVE_STATES: tuple[PodState, ...] = ("Assigned", "Starting", "Running")

FOLDED: frozenset[type[DomainEvent]] = frozenset(
    (
        WorkloadSubmitted,
        WorkloadImported,
        WorkloadSpecChanged,
        WorkloadQuotaReserved,
        WorkloadPodsReady,
        WorkloadPlaced,
        WorkloadScaledDown,
        WorkloadPodsReported,
        WorkloadStopped,
        ReservationDropped,
        WorkloadFinished,
        WorkloadDeleted,
        WorkloadPodsEvicted,
        WorkloadShrunk,
        WorkloadGrown,
        EvictionCancelled,
        *get_args(RetryEvent),
    )
)
"""The events that change a row or what is remembered; no other one is read."""


class PodRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one pod; `rank` is None for a pod that has left the attempt.

    A pod is Lost where its attempt or run is over and no report told how it ended. Where executors
    report on whole workloads alone, the states of the pods are those of the workload.
    """

    workload: str
    attempt: int
    pod_set: str
    pod_index: int
    run: int
    is_newest: bool = True
    rank: int | None = None
    state: PodState = "Assigned"
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None
    reason: PodReason | None = None
    message: str = ""
    started_at: Instant | None = None
    ready_at: Instant | None = None
    finished_at: Instant | None = None
    result: str = ""


PodPlace = tuple[str, int, int]
"""Pod set, index and run: the order of pods within an attempt."""


class PodFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one attempt of a workload (None for the newest); empty fields do not filter.

    `after` is the place of the last pod of the page before.
    """

    workload: str
    attempt: int | None = None
    pod_set: str = ""
    node: str = ""
    states: tuple[PodState, ...] = ()
    all_runs: bool = False
    after: PodPlace | None = None
    limit: int = 500


class AttemptCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one attempt in one state, by their newest runs: first start, last end."""

    attempt: int
    state: PodState
    pods: int
    restarts: int
    started_at: Instant | None
    finished_at: Instant | None


class PodRows(msgspec.Struct, frozen=True, kw_only=True):
    """Pods as of a position; the first page has the counts of all attempts by state."""

    position: int
    pods: list[PodRow]
    counts: list[AttemptCounts]


class RememberedPodSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod set of which each index completes once; what its pods request is left out."""

    name: str
    count: int
    min_count: int | None = None
    completions: int | None
    pod_index: PodIndex | None = None
    scheduling: dict[str, dict[str, int]] = msgspec.field(default_factory=lambda: {"requests": {}})


class RememberedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The pod sets that the layout of an attempt depends on."""

    pod_sets: tuple[RememberedPodSet, ...]


class RememberedWorkload(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="workload"
):
    """The fields of a workload on which its pods depend; as JSON it can be read as a `Workload`."""

    uid: str
    namespace: str
    name: str
    created_at: Instant
    attempt: int = 0
    spec: RememberedSpec
    admission: Admission | None = None
    layout: AttemptLayout = FIRST_LAYOUT
    progress: dict[str, PodProgress] = {}
    retry: RetryState = NO_RETRY
    pod_evictions: tuple[PodEviction, ...] = msgspec.field(default=(), name="shrinkings")
    finished_at: Instant | None = None


def remembered(workload: Workload) -> RememberedWorkload:
    """Returns what is kept of a workload from one event to the next."""
    pod_sets = tuple(
        RememberedPodSet(
            name=pod_set.name,
            count=pod_set.count,
            min_count=pod_set.min_count,
            completions=pod_set.completions,
            pod_index=pod_set.pod_index,
        )
        for pod_set in with_completions(workload.spec)
    )
    return RememberedWorkload(
        uid=workload.uid,
        namespace=workload.namespace,
        name=workload.name,
        created_at=workload.created_at,
        attempt=workload.attempt,
        spec=RememberedSpec(pod_sets=pod_sets),
        admission=workload.admission,
        layout=workload.layout,
        progress=workload.progress,
        retry=workload.retry,
        pod_evictions=workload.pod_evictions,
        finished_at=workload.finished_at,
    )


_DECODER = msgspec.json.Decoder(Workload)
_ENCODER = msgspec.json.Encoder()


class WorkloadPods:
    """Fills `Projection`; remembers what the rules of a workload need to tell of its pods."""

    name = "workload_pod"

    def folds(self, event_class: type[DomainEvent]) -> bool:
        """Whether events of this class tell of pods."""
        return event_class in FOLDED

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """The workload."""
        return (recorded.stream,) if type(recorded.event) in FOLDED else ()

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """Rows begin with an attempt or run, take what is reported, and go when a workload ends."""
        if type(recorded.event) not in FOLDED:
            return []
        after, changes = pods_after(recorded, memory)
        if isinstance(after, Workload) and after.finished_at is not None:
            del memory[recorded.stream]
            return [Remove({"workload": after.key})]
        return list(changes)


def pods_after(
    recorded: RecordedEvent, memory: ProjectionState
) -> tuple[WorkloadState, Iterable[RowChange]]:
    """The workload after an event, and the changes of its rows; what is remembered is changed."""
    stream, event = recorded.stream, recorded.event
    known = memory.get(stream)
    before = Absent() if known is None else _DECODER.decode(known)
    after = evolve(before, event, recorded.at)  # type: ignore[arg-type]
    _, key = kind_and_key(stream)
    if isinstance(after, Absent):
        memory.pop(stream, None)
        return after, () if isinstance(before, Absent) else (Remove({"workload": key}),)
    kept = _ENCODER.encode(remembered(after)).decode()
    if kept != known:
        memory[stream] = kept
    if isinstance(event, WorkloadSubmitted):
        return after, () if isinstance(before, Absent) else (Remove({"workload": key}),)
    assert isinstance(before, Workload), "only a submission makes a workload of nothing"
    return after, _changes(before, after, recorded)


def _changes(before: Workload, after: Workload, recorded: RecordedEvent) -> Iterator[RowChange]:
    event, at = recorded.event, recorded.at
    if after.attempt != before.attempt:
        yield from (_begun(after, pod) for pod in _pods_of(after).values())
    elif after.admission is not before.admission or after.layout is not before.layout:
        yield from _moved(before, after)
    if isinstance(event, WorkloadPodsReported) and event.uid == after.uid:
        # Logs of earlier versions have ends of some pods before starts of others.
        for group in sorted(event.pods, key=lambda group: STAGES.index(group.type)):
            yield from _reported(after.key, event.attempt, group, at)
    if isinstance(event, WorkloadPodsReady) and not after.progress and not event.recovered:
        ready = {"state": "Running", "started_at": at, "ready_at": at}
        yield from (Put(_key_of(after, pod), ready) for pod in _pods_of(after).values())
    if has_quota_reservation(before) and not has_quota_reservation(after):
        yield from _ended(before, after, at)


def _pods_of(workload: Workload) -> dict[tuple[str, int], AttemptPod]:
    if workload.admission is None:
        return {}
    pods = attempt_pods(workload.admission, workload.layout)
    return {(pod.pod_set, pod.index): pod for pod in pods}


def _key_of(workload: Workload, pod: AttemptPod) -> dict[str, Any]:
    return _key(workload.key, workload.attempt, (pod.pod_set, pod.index, pod.run))


def _key(workload: str, attempt: int, place: PodPlace) -> dict[str, Any]:
    pod_set, index, run = place
    return {
        "workload": workload,
        "attempt": attempt,
        "pod_set": pod_set,
        "pod_index": index,
        "run": run,
    }


def _begun(workload: Workload, pod: AttemptPod) -> Put:
    values = {"rank": pod.rank, "node": pod.node, "state": "Assigned", "is_newest": True}
    return Put(_key_of(workload, pod), values)


def _moved(before: Workload, after: Workload) -> Iterator[RowChange]:
    """Pods that left, that have another run, that are new, or that have their node only now.

    An index that is over keeps its row as it was reported.
    """
    known, found = _pods_of(before), _pods_of(after)
    if not found:
        return
    for place, pod in known.items():
        if place not in found and contains(indices_over(after, pod.pod_set), pod.index):
            continue
        if place not in found:
            is_unknown = not _has(before, pod, "started") and not _has_ended(before, pod)
            yield Put(_key_of(before, pod), {"rank": None, **_stopped_if(is_unknown)})
        elif found[place].run != pod.run:
            values = {} if _has_ended(before, pod) else {"state": "Lost"}
            yield Put(_key_of(before, pod), {"is_newest": False, **values})
    for place, pod in found.items():
        if place not in known or known[place].run != pod.run:
            yield _begun(after, pod)
        elif known[place].node != pod.node:
            yield Put(_key_of(after, pod), {"node": pod.node})


def _stopped_if(is_unknown: bool) -> dict[str, Any]:  # noqa: FBT001 - values of a row by one fact
    return {"state": "Stopped"} if is_unknown else {}


def _has(workload: Workload, pod: AttemptPod, what: Literal["started", "ready"]) -> bool:
    told = workload.progress.get(pod.pod_set, NO_PROGRESS)
    return contains(told.started if what == "started" else told.ready, pod.index)


def _has_ended(workload: Workload, pod: AttemptPod) -> bool:
    return workload.progress.get(pod.pod_set, NO_PROGRESS).has_ended(pod.index)


def _ended(before: Workload, after: Workload, at: Instant) -> Iterator[RowChange]:
    """Pods of an attempt that is over, where no report told how they ended."""
    if not before.progress:
        has_succeeded = after.finished_at is not None and phase_of(after) == "Succeeded"
        end = {"state": "Succeeded" if has_succeeded else "Stopped", "finished_at": at}
        yield from (Put(_key_of(before, pod), end) for pod in _pods_of(before).values())
        return
    for pod in _pods_of(before).values():
        if not _has_ended(before, pod):
            yield Put(_key_of(before, pod), {"state": "Lost"})
    if before.layout.counts:
        # Pods that had left before; what was never told of them is never told any more.
        for state in LIVE_STATES:
            where = {"workload": before.key, "attempt": before.attempt, "state": state}
            yield Amend(where, {"state": "Lost"})


def _reported(workload: str, attempt: int, group: ReportedPods, at: Instant) -> Iterator[Put]:
    for place, index in enumerate(members(group.indices)):
        started = _at(group.started_at, place)
        values: dict[str, Any] = {"node": group.node}
        if started is not None:
            values["started_at"] = started
        match group.type:
            case "started":
                values |= {"state": "Starting", "started_at": started or at}
            case "ready":
                values |= {"state": "Running", "ready_at": at}
            case "stopped" | "finished":
                values |= _end_of(group, _at(group.finished_at, place) or at)
        if group.results:
            values["result"] = group.results[place]
        yield Put(_key(workload, attempt, (group.pod_set, index, group.run)), values)


def _end_of(group: ReportedPods, at: Instant) -> dict[str, Any]:
    succeeded = "Succeeded" if group.reason == "Completed" else "Failed"
    return {
        "state": "Stopped" if group.type == "stopped" else succeeded,
        "finished_at": at,
        "exit_code": group.exit_code,
        "signal": group.signal,
        "reason": group.reason,
        "message": group.message,
    }


def _at(instants: tuple[Instant | None, ...], place: int) -> Instant | None:
    return instants[place] if instants else None
