"""The pods of a workload by attempt, those that failed or await a port, and its pod templates."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.application.application_services import ApplicationServices
from headgate.application.executor_stores import WantedPort
from headgate.application.file_stores import LogRun, LogStore
from headgate.application.live_state import LiveReader
from headgate.application.pod_log_queries import failure_lines, first_rank
from headgate.application.ports import ReadModels, Unavailable
from headgate.application.projections.workload_pods import (
    LIVE_STATES,
    AttemptCounts,
    PodFilter,
    PodPlace,
    PodRow,
    PodState,
    WorkloadPods,
)
from headgate.application.queries.views import Schema, Whole, timestamp_or_none, view_from
from headgate.domain.executor_assignments import rendezvous_of
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rejection import NotFound
from headgate.domain.values.index_ranges import count_of, members
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadHostsFailed,
    WorkloadPlaced,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
)
from headgate.domain.workloads.pod_events import ReportedPods
from headgate.domain.workloads.pods.limit_ranges import completed_template
from headgate.domain.workloads.pods.templates import whole_template
from headgate.domain.workloads.preemption_events import WorkloadGrown
from headgate.domain.workloads.specs import PodReason
from headgate.domain.workloads.state import Workload, phase_of

CATCH_UP_SECONDS = 1.0
SECONDS_BETWEEN_LOOKS = 0.02
CATCH_UP_BATCH = 500


class PodView(Whole, kw_only=True, frozen=True):
    """One run of one pod; `rank` is None for a pod that has left the attempt."""

    pod_set: str
    index: int
    rank: int | None
    run: int
    state: PodState
    node: str
    exit_code: int | None
    signal: int | None
    reason: PodReason | None
    message: str
    started_at: str | None
    ready_at: str | None
    finished_at: str | None
    result: str


class AttemptSummary(Whole, kw_only=True, frozen=True):
    """The pods of an attempt by state, their restarts, the first start and the last end.

    `restarts` counts the runs after the first; `finished_at` is None while a pod may run.
    """

    attempt: int
    pods: dict[str, int]
    restarts: int
    started_at: str | None
    finished_at: str | None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of an attempt as of a position; `following` begins the next page.

    The first page has all attempts.
    """

    position: int
    attempt: int
    attempts: list[AttemptSummary]
    pods: list[PodView]
    following: PodPlace | None = None


async def pods_of_attempt(services: ApplicationServices, query: PodFilter) -> AttemptView:
    """A page of pods by pod set, index and run; raises `NotFound` for an unknown attempt."""
    await catch_up_with(services, WorkloadPods.name)
    found = await asyncio.to_thread(services.followers.pods, replace(query, limit=query.limit + 1))
    attempts = _summaries(found.counts)
    newest = max((each.attempt for each in attempts), default=0)
    wanted = newest if query.attempt is None else query.attempt
    is_first = query.after is None
    if is_first and wanted not in {0, *(each.attempt for each in attempts)}:
        raise NotFound("AttemptNotFound", attempt=wanted, present_attempt=newest)
    page, rest = found.pods[: query.limit], found.pods[query.limit :]
    return AttemptView(
        position=found.position,
        attempt=wanted,
        attempts=attempts,
        pods=[_view(row) for row in page],
        following=(page[-1].pod_set, page[-1].pod_index, page[-1].run) if rest else None,
    )


async def catch_up_with(services: ApplicationServices, name: str) -> None:
    """Waits a while for a read model to have what the reader has seen, and helps with it."""
    followers, wanted = services.followers, services.reader.position
    give_up_at = asyncio.get_running_loop().time() + CATCH_UP_SECONDS

    def advance() -> int:
        if followers.positions()[name] >= wanted:
            return -1
        return followers.advance(name, limit=CATCH_UP_BATCH)

    try:
        while (folded := await asyncio.to_thread(advance)) >= 0:
            if asyncio.get_running_loop().time() > give_up_at:
                return
            if not folded:
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    except Unavailable:
        return


def _summaries(counts: Iterable[AttemptCounts]) -> list[AttemptSummary]:
    groups: dict[int, list[AttemptCounts]] = {}
    for each in counts:
        groups.setdefault(each.attempt, []).append(each)
    return [_summary(attempt, groups[attempt]) for attempt in sorted(groups)]


def _summary(attempt: int, counts: list[AttemptCounts]) -> AttemptSummary:
    started = [each.started_at for each in counts if each.started_at is not None]
    finished = [each.finished_at for each in counts if each.finished_at is not None]
    is_live = any(each.state in LIVE_STATES for each in counts)
    return AttemptSummary(
        attempt=attempt,
        pods={each.state: each.pods for each in counts},
        restarts=sum(each.restarts for each in counts),
        started_at=timestamp_or_none(min(started, default=None)),
        finished_at=None if is_live else timestamp_or_none(max(finished, default=None)),
    )


def _view(row: PodRow) -> PodView:
    return view_from(
        PodView,
        row,
        index=row.pod_index,
        started_at=timestamp_or_none(row.started_at),
        ready_at=timestamp_or_none(row.ready_at),
        finished_at=timestamp_or_none(row.finished_at),
    )


MAX_FAILED_PODS = 3


class FailedPod(Schema, kw_only=True, frozen=True):
    """One run of a pod that failed, with lines of its log as they are kept now.

    `firstError` is the first line that names an error. Both are absent where no log is kept.
    """

    attempt: int
    pod_set: str
    index: int
    rank: int
    run: int
    node: str
    reason: PodReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    first_error: str | None = None
    last_lines: list[str] = []


class FailedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs failed in the newest attempt in which any did, and the first of them."""

    count: int
    pods: list[FailedPod]


def failed_pods(workload: Workload, past: Sequence[RecordedEvent], store: LogStore) -> FailedRuns:
    """The first runs that failed in the newest attempt with failures, with lines of their logs.

    `past` are the events of the workload. None where it succeeded: its failures are over. Lines are
    left out while the store cannot be reached. Blocking.
    """
    failures: list[tuple[int, ReportedPods]] = []
    if workload.attempt and phase_of(workload) != "Succeeded":
        failures = [
            (event.attempt, group)
            for event in (recorded.event for recorded in past)
            if isinstance(event, WorkloadPodsReported) and event.uid == workload.uid
            for group in event.pods
            if group.type == "finished" and group.reason not in NO_FAILURES
        ]
    newest = max((attempt for attempt, _ in failures), default=0)
    groups = [group for attempt, group in failures if attempt == newest]
    first = [
        _failed_pod(workload, newest, group, index)
        for group in groups[:MAX_FAILED_PODS]
        for index in islice(members(group.indices), MAX_FAILED_PODS)
    ]
    return FailedRuns(
        count=sum(count_of(group.indices) for group in groups),
        pods=_with_lines(workload, first[:MAX_FAILED_PODS], store),
    )


NO_FAILURES = frozenset({"Completed", "Evicted"})


def _failed_pod(workload: Workload, attempt: int, group: ReportedPods, index: int) -> FailedPod:
    return FailedPod(
        attempt=attempt,
        pod_set=group.pod_set,
        index=index,
        rank=first_rank(workload, group.pod_set) + index,
        run=group.run,
        node=group.node,
        reason=group.reason,
        exit_code=group.exit_code,
        signal=group.signal,
        message=group.message,
    )


def _with_lines(workload: Workload, pods: list[FailedPod], store: LogStore) -> list[FailedPod]:
    if not pods:
        return []
    try:
        kept = {
            each.run: each for each in store.runs(workload.namespace, workload.name, workload.uid)
        }
        lines = {
            run: failure_lines(store, kept[run])
            for run in (_log_run(workload, pod) for pod in pods)
            if run in kept
        }
    except Unavailable:
        return pods
    return [
        replace(pod, first_error=found.first_error, last_lines=found.last_lines)
        if (found := lines.get(_log_run(workload, pod)))
        else pod
        for pod in pods
    ]


def _log_run(workload: Workload, pod: FailedPod) -> LogRun:
    return LogRun(
        namespace=workload.namespace,
        workload=workload.name,
        uid=workload.uid,
        attempt=pod.attempt,
        pod_set=pod.pod_set,
        index=pod.index,
        run=pod.run,
    )


async def awaited_port(services: ApplicationServices, workload: Workload) -> Message | None:
    """The reason of a gang that starts no pod, as its executor has no free rendezvous port."""
    if phase_of(workload) != "Starting" or not isinstance(services.reader, LiveReader):
        return None
    meeting = rendezvous_of(services.reader.cluster_state.config, workload)
    if meeting is None:
        return None
    wanted = WantedPort(
        executor=meeting.executor,
        uid=workload.uid,
        attempt=workload.attempt,
        preferred=meeting.port,
        first=meeting.ports.first,
        last=meeting.ports.last,
    )
    if not await services.rendezvous_ports.is_awaited(wanted):
        return None
    return message(
        "NoRendezvousPort", executor=wanted.executor, first=wanted.first, last=wanted.last
    )


def moved_pods(past: Sequence[RecordedEvent]) -> Message | None:
    """Returns which hosts failed last since the admission, and which took their pods, if any."""
    told: Message | None = None
    stands_on: tuple[str, ...] = ()
    reasons: dict[str, str] = {}
    for recorded in past:
        match recorded.event:
            case WorkloadAdmitted():
                told = None
            case WorkloadQuotaReserved(admission=admission):
                told, stands_on = None, hosts_of(admission)
            case WorkloadHostsFailed(hosts=hosts):
                reasons = hosts
            case WorkloadPlaced(admission=admission, replaced=replaced):
                before, stands_on = stands_on, hosts_of(admission)
                if replaced:
                    lost = tuple(
                        message("FailedHost", host=host, why=reasons.get(host, "lost"))
                        for host in replaced
                    )
                    new = tuple(host for host in stands_on if host not in before)
                    told = message("PodsMoved", lost=lost, new=new or stands_on)
            case WorkloadScaledDown(admission=admission) | WorkloadGrown(admission=admission):
                stands_on = hosts_of(admission)
            case _:
                pass
    return told


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The template of one pod set, whole, with what LimitRanges and a RuntimeClass added.

    `digest` is that of the template as submitted, empty where the event has it whole. Of one that
    `is_erased` only the part that rules read is left: no pod can be started from it.
    """

    digest: str
    template: dict[str, Any]
    is_erased: bool = False


def pod_templates(
    models: ReadModels, workloads: Iterable[Workload]
) -> dict[str, dict[str, PodTemplate]]:
    """The template of every pod set, by key of the workload and name of the pod set.

    One read of the store, whatever the number of workloads; templates that are equal are read once.
    Blocking: on the event loop call it as
    `await asyncio.to_thread(pod_templates, services.models, workloads)`. A template of a digest
    never changes but by erasure, so that an executor need not ask again. Secrets stand in it as
    references (`secretKeyRef`) and are resolved by executors alone.
    """
    asked = tuple(workloads)
    digests = {pod_set.written for each in asked for pod_set in each.spec.pod_sets} - {""}
    kept = models.written(digests) if digests else {}
    written = {digest: msgspec.json.decode(body) for digest, body in kept.items()}
    return {
        workload.key: {
            pod_set.name: PodTemplate(
                digest=pod_set.written,
                template=(
                    whole_template(written[pod_set.written], completed_template(pod_set))
                    if pod_set.written in written
                    else completed_template(pod_set)
                ),
                is_erased=bool(pod_set.written) and pod_set.written not in written,
            )
            for pod_set in workload.spec.pod_sets
        }
        for workload in asked
    }
