"""The pods of workloads: a row for each run of each pod, with state, node, exit code and times."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from headgate.application.projections import (
    Amend,
    ProjectionState,
    Put,
    Remove,
    RowChange,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventIgnored, RecordedEvent, kind_and_key
from headgate.domain.values.index_ranges import contains, members
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.decide.pod_reports import STAGES
from headgate.domain.workloads.events import (
    EvictionProgressed,
    NominationWithdrawn,
    PlacementNominated,
    ReportedPods,
    WorkloadExplained,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pods.attempt_pods import NO_PROGRESS, AttemptPod, attempt_pods
from headgate.domain.workloads.pods.completions import indices_over
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import PodReason
from headgate.domain.workloads.state import Workload, phase_of

PodState = Literal["Assigned", "Starting", "Running", "Succeeded", "Failed", "Stopped", "Lost"]
LIVE_STATES: tuple[PodState, ...] = ("Assigned", "Starting", "Running")

NOT_FOLDED = (
    WorkloadExplained,
    PlacementNominated,
    NominationWithdrawn,
    EvictionProgressed,
    EventIgnored,
)
"""Events that say nothing of pods: frequent ones, and those of a later release."""

_DECODER = msgspec.json.Decoder(Workload)


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


class WorkloadPods:
    """Fills `Projection`; remembers each workload as it is, so that its own rules tell of pods."""

    name = "workload_pod"

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """The workload."""
        is_relevant = recorded.stream.startswith("workload/")
        return (recorded.stream,) if is_relevant and not _is_skipped(recorded) else ()

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """Rows begin with an attempt or run, take what is reported, and go with the workload."""
        stream, event = recorded.stream, recorded.event
        if not stream.startswith("workload/") or _is_skipped(recorded):
            return []
        known = memory.get(stream)
        before = Absent() if known is None else _DECODER.decode(known)
        after = evolve(before, event, recorded.at)  # type: ignore[arg-type]
        _, key = kind_and_key(stream)
        if isinstance(after, Absent):
            memory.pop(stream, None)
            return [] if isinstance(before, Absent) else [Remove({"workload": key})]
        memory[stream] = msgspec.json.encode(replace(after, explanation=None)).decode()
        if isinstance(event, WorkloadSubmitted):
            return [] if isinstance(before, Absent) else [Remove({"workload": key})]
        assert isinstance(before, Workload), "only a submission makes a workload of nothing"
        return list(_changes(before, after, recorded))


def _is_skipped(recorded: RecordedEvent) -> bool:
    return isinstance(recorded.event, NOT_FOLDED)


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


def folded_pods(events: Iterable[RecordedEvent]) -> list[PodRow]:
    """The rows after the events of one workload, for reads of the past."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    projection, memory = WorkloadPods(), dict[str, str]()
    for recorded in events:
        for change in projection.changes(recorded, memory):
            match change:
                case Put(key=key, values=values):
                    rows.setdefault(tuple(key.values()), dict(key)).update(values)
                case Amend(where=where, values=values):
                    for row in rows.values():
                        row.update(values if where.items() <= row.items() else {})
                case _:
                    rows.clear()
    return [msgspec.convert(row, PodRow) for row in rows.values()]


def selected_pods(rows: Iterable[PodRow], query: PodFilter, position: int) -> PodRows:
    """The page of pods that a query asks for, and the counts of the workload's attempts."""
    own = sorted((row for row in rows if row.workload == query.workload), key=_place_of)
    newest = max((row.attempt for row in own), default=0)
    attempt = newest if query.attempt is None else query.attempt
    found = [row for row in own if row.attempt == attempt and _matches(query, row)]
    counts = _counts(own) if query.after is None else []
    return PodRows(position=position, pods=found[: query.limit], counts=counts)


def _place_of(row: PodRow) -> PodPlace:
    return row.pod_set, row.pod_index, row.run


def _matches(query: PodFilter, row: PodRow) -> bool:
    return (
        query.pod_set in ("", row.pod_set)
        and query.node in ("", row.node)
        and (not query.states or row.state in query.states)
        and (query.all_runs or row.is_newest)
        and (query.after is None or _place_of(row) > query.after)
    )


def _counts(rows: Iterable[PodRow]) -> list[AttemptCounts]:
    groups: dict[tuple[int, PodState], list[PodRow]] = {}
    for row in rows:
        if row.is_newest:
            groups.setdefault((row.attempt, row.state), []).append(row)
    return [_counted(attempt, state, groups[attempt, state]) for attempt, state in sorted(groups)]


def _counted(attempt: int, state: PodState, rows: list[PodRow]) -> AttemptCounts:
    started = [row.started_at for row in rows if row.started_at is not None]
    finished = [row.finished_at for row in rows if row.finished_at is not None]
    return AttemptCounts(
        attempt=attempt,
        state=state,
        pods=len(rows),
        restarts=sum(row.run - 1 for row in rows),
        started_at=min(started, default=None),
        finished_at=max(finished, default=None),
    )
