"""Why a workload waits: as the scheduler recorded it, or derived where it had no need to look."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.ports import Loaded
from headgate.application.queries.expected_start import (
    ExpectedStart,
    SpecEdit,
    edits_of,
    expected_start,
    past_waits,
    wait_key,
)
from headgate.application.queries.pods import (
    FailedPod,
    awaited_port,
    failed_pods,
    moved_pods,
)
from headgate.application.queries.queue_status import PendingLine
from headgate.application.queries.reason_since import evaluation_count, reason_since
from headgate.application.queries.views import (
    BlockerView,
    Free,
    Position,
    RemedyView,
    Schema,
    Timestamp,
    Whole,
    arguments_view,
    blocker_view,
    remedies,
    remedy_views,
    sentence,
    timestamp,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.pending_reasons import (
    SharedReasons,
    current_reason,
    recorded_reason,
)
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.index_ranges import ranges_of, text_of_ranges
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, MessageOrText, message
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.pods.eviction_units import (
    evicting_indices,
    evicting_pods,
    lost_pods,
)
from headgate.domain.workloads.state import Phase, Workload, condition, phase_of
from headgate.messages.catalogue import summary_of, worded
from headgate.messages.rendering import IsVisible


class AsOf(Schema, kw_only=True, frozen=True):
    """When and where in the log an answer holds."""

    position: Position
    time: Timestamp


class QueuePosition(Schema, kw_only=True, frozen=True):
    """Place in line, from 1; absent where the workload does not wait in line.

    `cohort` is its place among all that wait in the tree its ClusterQueue is in.
    """

    cluster_queue: int | None = None
    local_queue: int | None = None
    cohort: int | None = None
    of: int


class ReasonThen(Schema, kw_only=True, frozen=True):
    """Why it waited from then on, as it was recorded."""

    position: Position
    at: Timestamp
    dominant: str
    sentence: str
    code: str


class Attempt(Schema, kw_only=True, frozen=True):
    """One cycle that evaluated it with a new result; `cycle` is its id in `/v1/cycles`."""

    position: Position
    time: Timestamp
    cycle: str


class ExplanationSummary(Whole, kw_only=True, frozen=True):
    """Why a workload is as it is, in a line of a list: `sentence` is the text of `code`.

    `dominant` is the reason code that the explanation has: `Unschedulable` is shown in place of the
    phase. `summary` is the sentence in at most 40 characters.
    """

    dominant: str
    code: str
    arguments: Free
    sentence: str
    summary: str


class ExplanationView(Schema, kw_only=True, frozen=True):
    """The pending reason of a workload, and how to unblock it.

    `since` is the fact from which on this reason has held without a break, and `unchangedSince` its
    time; both are absent where the log does not tell. `attempts` counts the cycles that evaluated
    it with a new result, and `lastAttempt` is the last of them: evaluations with an unchanged
    result are not in the log. `history` keeps the reasons it waited for before, also once it is
    admitted. `failedPods` are the first that failed in the newest attempt with failures, and
    `failedPodCount` is how many did.
    """

    workload: str
    as_of: AsOf
    phase: Phase
    verdict: Literal["Waiting", "Admitted", "Finished", "Inactive"]
    dominant: str
    sentence: str
    code: str
    arguments: Free = {}
    summary: str
    evaluated: bool
    unchanged_since: Timestamp | None = None
    since: AsOf | None = None
    blockers: list[BlockerView]
    would_unblock: list[str]
    remedies: list[RemedyView] = []
    edits: list[SpecEdit] = []
    position: QueuePosition | None = None
    attempts: int = 0
    last_attempt: Attempt | None = None
    expected_start: ExpectedStart | None = None
    history: list[ReasonThen] = []
    failed_pod_count: int = 0
    failed_pods: list[FailedPod] = []


MAX_REASONS = 500
VERDICTS = {
    "Succeeded": "Finished",
    "Failed": "Finished",
    "Cancelled": "Finished",
    "Inactive": "Inactive",
    "Starting": "Admitted",
    "Running": "Admitted",
    "Evicting": "Admitted",
}
STATED_REASONS: dict[Phase, tuple[str, Message]] = {
    "Starting": ("Admitted", message("PhaseStarting")),
    "Running": ("Admitted", message("PhaseRunning")),
    "Evicting": ("Evicting", message("PhaseEvicting")),
    "Succeeded": ("Succeeded", message("PhaseSucceeded")),
    "Failed": ("Failed", message("PhaseFailed")),
    "Cancelled": ("Cancelled", message("PhaseCancelled")),
}


async def explanation_view(
    services: ApplicationServices,
    loaded: Loaded,
    scope: NamespaceScope,
    reasons: int = MAX_REASONS,
) -> ExplanationView:
    """The pending reason of a workload with its history, redacted for a scope.

    The history has the latest `reasons` at most.
    """
    read = services.log.read_stream
    past = await asyncio.to_thread(read, loaded.stream)
    cluster_state = services.reader.cluster_state
    workload = newest_state(cluster_state, loaded)
    found = fresh_explanation(cluster_state, workload, services.clock.now())
    awaited = await awaited_port(services, workload)
    if awaited is not None:
        found = Explanation(dominant=awaited.code, message=awaited, evaluated=False)
    start = await asyncio.to_thread(reason_since, cluster_state.config, workload, found, read)
    like = wait_key(cluster_state.config, workload)
    waits = await asyncio.to_thread(past_waits, services.models, [like])
    attempts = evaluation_count(past)
    failed = await asyncio.to_thread(failed_pods, workload, past, services.pod_logs)
    phase = phase_of(workload)
    return ExplanationView(
        workload=workload.key,
        as_of=AsOf(position=cluster_state.position, time=timestamp(services.clock.now())),
        phase=phase,
        verdict=VERDICTS.get(phase, "Waiting"),  # type: ignore[arg-type]
        dominant=found.dominant,
        sentence=_with_story(sentence(found, scope), phase, past, visible_to(scope)),
        code=found.reason_message.code,
        arguments=arguments_view(found.reason_message, scope),
        summary=summary_of(found.reason_message, visible_to(scope)),
        evaluated=found.evaluated,
        unchanged_since=timestamp(start.at) if start else None,
        since=AsOf(position=start.position, time=timestamp(start.at)) if start else None,
        blockers=[blocker_view(blocker, scope) for blocker in found.blockers],
        would_unblock=remedies(found, scope),
        remedies=remedy_views(found, scope),
        edits=edits_of(cluster_state, workload, found),
        position=position_of(cluster_state, workload),
        attempts=attempts.count,
        last_attempt=_attempt(attempts.last),
        expected_start=expected_start(
            cluster_state, workload, waits[like], found, services.clock.now()
        ),
        history=_history(past, scope, reasons),
        failed_pod_count=failed.count,
        failed_pods=failed.pods,
    )


def newest_state(cluster_state: ClusterState, loaded: Loaded) -> Workload:
    """The workload as the cluster state has it, where that is not behind what was loaded.

    What was pending when it was loaded may have been admitted since: the queues that its reason is
    read from have it no more then.
    """
    workload: Workload = loaded.state
    known = cluster_state.workloads.get(workload.key)
    is_same = known is not None and known.uid == workload.uid
    return known if known and is_same and cluster_state.position >= loaded.position else workload


def _with_story(
    told: str, phase: Phase, past: Sequence[RecordedEvent], is_visible: IsVisible
) -> str:
    """The sentence, and where pods of failed hosts moved to, or why the workload is evicted."""
    story: MessageOrText | None = None
    if phase in {"Starting", "Running"}:
        story = moved_pods(past)
    elif phase == "Evicting":
        events = (recorded.event for recorded in reversed(past))
        evicted = next((each for each in events if isinstance(each, WorkloadEvicted)), None)
        story = evicted.message if evicted else None
    return f"{told}. {worded(story, is_visible)}" if story else told


def _history(past: Sequence[RecordedEvent], scope: NamespaceScope, most: int) -> list[ReasonThen]:
    """The recorded pending reasons, the latest last."""
    told = [
        (recorded, recorded.event.explanation)
        for recorded in past
        if isinstance(recorded.event, WorkloadExplained)
    ]
    return [
        ReasonThen(
            position=recorded.position,
            at=timestamp(recorded.at),
            dominant=explanation.dominant,
            sentence=sentence(explanation, scope),
            code=explanation.reason_message.code,
        )
        for recorded, explanation in told[max(len(told) - most, 0) :]
    ]


def explanation_of(
    cluster_state: ClusterState,
    workload: Workload,
    at: Instant,
    shared: SharedReasons | None = None,
) -> Explanation:
    """The explanation that holds, as it was recorded where the scheduler looked."""
    return _stated(workload) or _waiting(recorded_reason(cluster_state, workload, at, shared))


def summaries(
    cluster_state: ClusterState, found: Sequence[Workload], at: Instant, scope: NamespaceScope
) -> Cooperative[list[ExplanationSummary | None]]:
    """The explanations of the workloads of a page; the cluster state must stand still meanwhile.

    None for a workload that has changed its phase since the cluster state.
    """
    shared = SharedReasons()
    return (yield from each(_summary(cluster_state, one, at, scope, shared) for one in found))


def _summary(
    cluster_state: ClusterState,
    workload: Workload,
    at: Instant,
    scope: NamespaceScope,
    shared: SharedReasons,
) -> ExplanationSummary | None:
    known = cluster_state.workloads.get(workload.key)
    if known is None and workload.finished_at is None:
        return None
    if known is not None and phase_of(known) != phase_of(workload):
        return None
    if known is None or workload.finished_at is not None:
        known = workload
    found = explanation_of(cluster_state, known, at, shared)
    told = found.reason_message
    return ExplanationSummary(
        dominant=found.dominant,
        code=told.code,
        arguments=arguments_view(told, scope),
        sentence=sentence(found, scope),
        summary=summary_of(told, visible_to(scope)),
    )


def fresh_explanation(cluster_state: ClusterState, workload: Workload, at: Instant) -> Explanation:
    """The same with the numbers of this moment."""
    return _stated(workload) or _waiting(current_reason(cluster_state, workload, at))


def _stated(workload: Workload) -> Explanation | None:
    phase = phase_of(workload)
    if phase not in STATED_REASONS:
        return None
    dominant, stated = STATED_REASONS[phase]
    cause = _cause_of_end(workload, phase)
    if cause:
        stated = Message(stated.code, {"why": cause})
    if workload.unhealthy_nodes and phase in {"Starting", "Running"}:
        hosts = tuple(
            message("FailedHost", host=host, why=why)
            for host, why in workload.unhealthy_nodes.items()
        )
        dominant, stated = "HostsFailed", message("ReplacingFailedHosts", hosts=hosts)
    elif workload.pod_evictions and phase in {"Starting", "Running"}:
        going = evicting_indices(workload)
        evicting = tuple(
            message("PodsOfPodSet", pods=count, pod_set=name, indices=_text(going.get(name, ())))
            for name, count in evicting_pods(workload.pod_evictions).items()
        )
        stated = message("EvictingSomePods", evicting=evicting)
    elif lost := lost_pods(workload):
        pods = tuple(
            message("PodsOfPodSet", pods=count, pod_set=name, indices=_text(indices))
            for name, count in lost.items()
            for indices in (_lost_indices(workload, name),)
        )
        stated = message("LostPodsComeBack", pods=pods)
    return Explanation(dominant=dominant, message=stated, evaluated=False)


def _lost_indices(workload: Workload, name: str) -> Iterator[int]:
    known, begun = workload.layout.nodes.get(name, {}), workload.layout.counts.get(name, 0)
    return (index for index in range(begun) if index not in known)


def _text(indices: Iterable[int]) -> str | None:
    return text_of_ranges(ranges_of(indices)) or None


def _cause_of_end(workload: Workload, phase: Phase) -> MessageOrText:
    """How a workload failed, or the reason that was given for its cancellation."""
    finished, evicted = condition(workload, "Finished"), condition(workload, "Evicted")
    told = finished.message if finished else ""
    if phase == "Failed":
        return told
    if phase == "Cancelled" and evicted is not None and evicted.reason == "Cancelled":
        told = told if isinstance(told, str) and told else evicted.message
    return told if phase == "Cancelled" and isinstance(told, str) else ""


def _waiting(found: Explanation | None) -> Explanation:
    assert found is not None, "what neither runs nor has ended waits, and for a reason"
    return found


def _attempt(last: RecordedEvent | None) -> Attempt | None:
    if last is None:
        return None
    return Attempt(position=last.position, time=timestamp(last.at), cycle=last.metadata.correlation)


def position_of(cluster_state: ClusterState, workload: Workload) -> QueuePosition | None:
    """Its place in line, if it waits in one."""
    line = PendingLine(cluster_state, cluster_queue_of(cluster_state.config, workload))
    found = line.place(workload.key)
    if found is None:
        return None
    return QueuePosition(
        cluster_queue=found.in_cluster_queue + 1,
        local_queue=found.in_local_queue + 1,
        cohort=found.in_cohort + 1,
        of=len(line),
    )
