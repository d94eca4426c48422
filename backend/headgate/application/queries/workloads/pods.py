"""The pods of one attempt of a workload: state, node, run, exit code and times of each.

They are folded from the stream of the workload as it is read, so that they are never behind.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from headgate.application.queries.views import Whole, timestamp
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rejection import NotFound
from headgate.domain.values.index_ranges import members
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import ReportedPods, WorkloadPodsReported
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pods.attempt_pods import AttemptPod, attempt_pods
from headgate.domain.workloads.specs import PodReason
from headgate.domain.workloads.state import Workload, is_admitted

PodState = Literal["Assigned", "Starting", "Running", "Succeeded", "Failed", "Stopped", "Lost"]


class PodView(Whole, kw_only=True, frozen=True):
    """One run of one pod; `rank` is None for a pod that has left the attempt."""

    pod_set: str
    index: int
    rank: int | None = None
    run: int
    state: PodState
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None
    reason: PodReason | None = None
    message: str = ""
    started_at: str | None = None
    ready_at: str | None = None
    finished_at: str | None = None
    result: str = ""


class PodQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which pods: of one attempt (None for the newest) and pod set (empty for all)."""

    attempt: int | None = None
    pod_set: str = ""
    all_runs: bool = False


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of an attempt, and how many attempts there were."""

    attempt: int
    attempts: int
    pods: list[PodView]


class _Run(msgspec.Struct, kw_only=True):
    """What is known of one run of a pod."""

    told: ReportedPods | None = None
    state: PodState = "Assigned"
    node: str = ""
    started_at: Instant | None = None
    ready_at: Instant | None = None
    finished_at: Instant | None = None
    result: str = ""


PodRunKey = tuple[str, int, int]
"""Pod set, index and run."""


def pods_of_attempt(events: Sequence[RecordedEvent], query: PodQuery) -> AttemptView:
    """The pods of an attempt, by pod set, index and run; raises `NotFound` for an unknown one."""
    last, states = _attempts(events)
    wanted = last.attempt if query.attempt is None else query.attempt
    if wanted not in range(last.attempt + 1):
        raise NotFound("AttemptNotFound", attempt=wanted, present_attempt=last.attempt)
    found = states.get(wanted)
    pods = _pods_of(found) if found is not None else {}
    runs: dict[PodRunKey, _Run] = {
        (pod.pod_set, pod.index, pod.run): _Run(node=pod.node) for pod in pods.values()
    }
    for recorded in events:
        told = recorded.event
        is_wanted = isinstance(told, WorkloadPodsReported) and told.uid == last.uid
        if is_wanted and isinstance(told, WorkloadPodsReported) and told.attempt == wanted:
            _take(runs, told, recorded.at)
    is_over = wanted != last.attempt or not is_admitted(last) or last.finished_at is not None
    views = list(_views(runs, pods, query, is_over=is_over))
    return AttemptView(attempt=wanted, attempts=last.attempt, pods=views)


def _attempts(events: Sequence[RecordedEvent]) -> tuple[Workload, dict[int, Workload]]:
    """The workload after all events, and as it was last with each of its admissions."""
    state: Any = Absent()
    found: dict[int, Workload] = {}
    last: Workload | None = None
    for recorded in events:
        before, state = state, evolve(state, recorded.event, recorded.at)  # type: ignore[arg-type]
        if isinstance(state, Workload):
            if isinstance(before, Workload) and before.uid != state.uid:
                found = {}
            last = state
            if state.admission is not None:
                found[state.attempt] = state
    if last is None:
        raise NotFound("ObjectNotFound", kind="Workload")
    return last, found


def _pods_of(workload: Workload) -> dict[tuple[str, int], AttemptPod]:
    assert workload.admission is not None, "only states with an admission are kept"
    pods = attempt_pods(workload.admission, workload.layout)
    return {(pod.pod_set, pod.index): pod for pod in pods}


def _take(runs: dict[PodRunKey, _Run], told: WorkloadPodsReported, at: Instant) -> None:
    for group in told.pods:
        for place, index in enumerate(members(group.indices)):
            run = runs.setdefault((group.pod_set, index, group.run), _Run())
            run.told, run.node = group, group.node
            run.started_at = _at(group.started_at, place) or run.started_at
            match group.type:
                case "started":
                    run.state, run.started_at = "Starting", run.started_at or at
                case "ready":
                    run.state, run.ready_at = "Running", at
                case "stopped":
                    run.state, run.finished_at = "Stopped", _at(group.finished_at, place) or at
                case "finished":
                    run.state = "Succeeded" if group.reason == "Completed" else "Failed"
                    run.finished_at = _at(group.finished_at, place) or at
            run.result = group.results[place] if group.results else run.result


def _at(instants: Sequence[Instant | None], place: int) -> Instant | None:
    return instants[place] if instants else None


def _views(
    runs: dict[PodRunKey, _Run],
    pods: dict[tuple[str, int], AttemptPod],
    query: PodQuery,
    *,
    is_over: bool,
) -> Iterator[PodView]:
    newest = {(name, index): run for name, index, run in sorted(runs)}
    for (name, index, number), run in sorted(runs.items(), key=lambda item: item[0]):
        is_newest = newest[name, index] == number
        if (query.pod_set and name != query.pod_set) or not (is_newest or query.all_runs):
            continue
        has_ended = run.state in {"Succeeded", "Failed", "Stopped"}
        pod, told = pods.get((name, index)), run.told
        yield PodView(
            pod_set=name,
            index=index,
            rank=None if pod is None else pod.rank,
            run=number,
            state="Lost" if (is_over or not is_newest) and not has_ended else run.state,
            node=run.node,
            exit_code=told.exit_code if told else None,
            signal=told.signal if told else None,
            reason=told.reason if told else None,
            message=told.message if told else "",
            started_at=None if run.started_at is None else timestamp(run.started_at),
            ready_at=None if run.ready_at is None else timestamp(run.ready_at),
            finished_at=None if run.finished_at is None else timestamp(run.finished_at),
            result=run.result,
        )
