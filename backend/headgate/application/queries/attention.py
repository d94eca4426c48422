"""What a person should look at: queues that admit nothing, absent hosts, work that is stuck."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.cooperative import Cooperative, at_once, each
from headgate.application.queries.detectors import blocked_heads
from headgate.application.queries.lint_warnings import warnings_in
from headgate.application.queries.stuck_workloads import in_stuck_phase
from headgate.application.queries.topology_fits import link_of_host, why_not_ready
from headgate.application.queries.views import MessageView, Whole, message_view
from headgate.application.readiness import Readiness
from headgate.domain.cluster_state import ClusterState
from headgate.domain.executor_assignments import unserved_flavors
from headgate.domain.kinds.queue_activity import cluster_queue_activity
from headgate.domain.recorded_event import (
    LOG_STREAM,
    SNAPSHOT_STREAM,
    LogRewound,
    LogState,
    workload_stream,
)
from headgate.domain.stuck_workloads import STUCK_PHASES
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workload_index import oldest
from headgate.domain.workloads.pods.eviction_units import evicting_pods
from headgate.domain.workloads.state import Workload, condition, phase_of
from headgate.domain.workloads.transitions.preemption import oldest_ongoing_eviction
from headgate.messages.catalogue import remedy_of, text_of
from headgate.messages.rendering import IsVisible, everything_visible


class Attention(Whole, kw_only=True, frozen=True):
    """One thing a person should look at, and where.

    `title` and `detail` are the texts of `title_message` and `detail_message`. The last event of
    `stream`, at `position`, shows it.
    """

    kind: str
    severity: Literal["info", "warning", "critical"]
    title: str
    detail: str
    link: str
    stream: str = ""
    position: int = 0
    title_message: MessageView | None = None
    detail_message: MessageView | None = None


LONG_START_SECONDS = 600
LONG_EVICTION_SECONDS = 300
LOG_ALERT_SECONDS = 86_400
FAILURE_SHOWN_SECONDS = 86_400  # a failed workload is told of for a day
MAX_PER_KIND = 10
SEVERITY_ORDER = {"critical": 0, "warning": 1, "info": 2}


def needing_attention(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> list[Attention]:
    """All of it, in no order."""
    return at_once(find_attention(cluster_state, at, scope))


def find_attention(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[list[Attention]]:
    """The same in steps; of stuck workloads the oldest, the others are `unlisted_stuck`."""
    found = [*_log(cluster_state, at)]
    for alerts in (
        _queues(cluster_state),
        _nodes(cluster_state),
        _blocked_lines(cluster_state, at, scope),
        _configuration(cluster_state, scope),
    ):
        told = yield from each(alerts)
        found += (one for one in told if one is not None)
    found += yield from _executors(cluster_state, at)
    found += _orphans(cluster_state)
    found += yield from _workloads(cluster_state, at, scope)
    if scope is None:
        found += _quarantined(cluster_state)
    return found


def attention(cluster_state: ClusterState, at: Instant, scope: NamespaceScope) -> list[Attention]:
    """The worst first; of each kind only the first few."""
    return most_severe(needing_attention(cluster_state, at, scope))


def most_severe(found: Iterable[Attention]) -> list[Attention]:
    """The worst first; of each kind only the first few."""
    few: list[Attention] = []
    for one in sorted(found, key=lambda a: (SEVERITY_ORDER[a.severity], a.kind, a.title)):
        if sum(other.kind == one.kind for other in few) < MAX_PER_KIND:
            few.append(one)
    return few


def _alert(  # noqa: PLR0913 - what an alert is
    kind: str,
    severity: Literal["info", "warning", "critical"],
    title: Message,
    detail: Message,
    *,
    link: str,
    stream: str,
    is_visible: IsVisible = everything_visible,
) -> Attention:
    return Attention(
        kind=kind,
        severity=severity,
        title=text_of(title, is_visible),
        detail=text_of(detail, is_visible),
        link=link,
        stream=stream,
        title_message=message_view(title, is_visible),
        detail_message=message_view(detail, is_visible),
    )


def _log(cluster_state: ClusterState, at: Instant) -> Iterator[Attention]:
    """What was wrong with the log or a snapshot within a day, as processes may have acted on it."""
    since = at - LOG_ALERT_SECONDS * MICROSECONDS_PER_SECOND
    for stream in (LOG_STREAM, SNAPSHOT_STREAM):
        state = cluster_state.state_of(stream)
        if not isinstance(state, LogState) or state.at < since:
            continue
        last, link = state.last, f"/events?stream={stream}"
        if isinstance(last, LogRewound):
            kind, title = "LogRewound", message("LogLostEvents")
            detail = message("LogRewoundTo", read_up_to=last.read_up_to, head=last.head)
        else:
            kind, title = "SnapshotDiscarded", message("SnapshotDiffered")
            detail = message("SnapshotDifferedAt", position=last.snapshot)
        yield _alert(kind, "critical", title, detail, link=link, stream=stream)


def process_alerts(found: Readiness) -> Iterator[Attention]:
    """What a process knows of the database and of the workers, for all users."""
    for reason in found.reasons:
        kind = reason.code if reason.code == "SchedulingStalled" else "WritesFail"
        yield _alert(
            kind,
            "critical",
            message("SchedulingIsStalled" if kind == reason.code else "WritesFailing"),
            reason,
            link="/events",
            stream="",
        )


def _queues(cluster_state: ClusterState) -> Iterator[Attention]:
    for name in sorted(cluster_state.config.cluster_queues):
        activity = cluster_queue_activity(cluster_state.config, name)
        if activity.active:
            continue
        waiting = cluster_state.partition_index.counts.get(f"clusterqueue/{name}", {}).get(
            "Pending", 0
        )
        stopped = activity.reason == "Stopped"
        yield _alert(
            "QueueInactive",
            "info" if stopped and not waiting else "warning",
            message("QueueInactive", queue=name),
            message(
                "InactiveWithPending",
                reason=activity.message.removesuffix("."),
                pending=_pending(waiting),
            ),
            link=f"/queues/{name}",
            stream=f"clusterqueue/{name}",
        )


def _pending(count: int) -> Message:
    return message("PendingWorkloads", count=count) if count else message("NoPendingWorkloads")


def _blocked_lines(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Iterator[Attention | None]:
    """Strict lines behind a head that can never start, or has not moved for very long."""
    for found in blocked_heads(cluster_state, at):
        if found is None:
            yield None
            continue
        head, never = found.workload, found.never
        is_open = scope is None or head.namespace in scope
        why = never or head.explanation
        hidden = message("HeadUnschedulable" if never else "HeadPendingForLong")
        yield _alert(
            "HeadOfLineBlocking",
            "warning",
            message(
                "HeadOfLineBlocking",
                queue=found.cluster_queue,
                head=workload_reference(head.key),
            ),
            message(
                "HeadPendingWithOthers",
                reason=why.reason_message if why is not None and is_open else hidden,
                pending=_pending(found.behind),
            ),
            link=f"/workloads/{head.key}" if is_open else f"/queues/{found.cluster_queue}",
            stream=workload_stream(head.key) if is_open else "",
            is_visible=visible_to(scope),
        )


def _configuration(cluster_state: ClusterState, scope: NamespaceScope) -> Iterator[Attention]:
    """Likely mistakes that the rules allow; an inactive queue is an alert of its own."""
    for one in warnings_in(cluster_state, scope):
        if one.severity == "warning" and one.rule != "MissingReference":
            name = f"{one.namespace}/{one.name}" if one.namespace else one.name
            alert = _alert(
                "Configuration",
                "warning",
                message("ConfigurationWarning", kind=one.kind, name=name),
                one.message,
                link=f"/queues/{one.name}" if one.kind == "ClusterQueue" else "/queues",
                stream=f"{one.kind.lower()}/{name}",
            )
            yield replace(alert, detail=f"{alert.detail} {remedy_of(one.message)}")


def _nodes(cluster_state: ClusterState) -> Iterator[Attention]:
    for name, node in sorted(cluster_state.config.nodes.items()):
        if not node.spec.ready:
            yield _alert(
                "NodeNotReady",
                "warning",
                message("NodeNotReady", node=name),
                why_not_ready(node.spec),
                link=link_of_host(cluster_state, name),
                stream=f"node/{name}",
            )


def _executors(cluster_state: ClusterState, at: Instant) -> Cooperative[list[Attention]]:
    """Flavors of which no executor is connected: nothing that is admitted to them starts."""
    unserved = yield from unserved_flavors(cluster_state, at)
    return [
        _alert(
            "NoExecutorConnected",
            "critical" if each.unfinished else "warning",
            message("NoExecutorConnected", flavor=each.flavor),
            message(
                "ExecutorsNotConnected" if each.executors else "NoExecutorSelectsFlavor",
                executors=each.executors,
                nodes=each.nodes,
            ),
            link="/topology",
            stream=f"executor/{each.executors[0]}" if each.executors else "",
        )
        for each in unserved
    ]


def _orphans(cluster_state: ClusterState) -> Iterator[Attention]:
    """Pods that the log does not know, until an administrator has decided on each."""
    for name, executor in sorted(cluster_state.config.executors.items()):
        undecided = [orphan for orphan in executor.spec.orphans if orphan.decision is None]
        if undecided:
            nodes = tuple(sorted({orphan.node for orphan in undecided} - {""}))
            yield _alert(
                "OrphanedPods",
                "critical",
                message("OrphanedPods", orphans=len(undecided), executor=name),
                message("OrphansAreUndecided", nodes=nodes),
                link="/topology",
                stream=f"executor/{name}",
            )


def _workloads(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[list[Attention]]:
    index, found = cluster_state.reads.index, list[Attention]()
    stuck = [
        key for phase in STUCK_PHASES for key in oldest(in_stuck_phase(cluster_state, phase, scope))
    ]
    keys = dict.fromkeys((*stuck, *index.keys_in_phase("Starting"), *index.evicting))
    for key in keys:
        if scope is None or key.partition("/")[0] in scope:
            found += _workload(cluster_state.workloads[key], at)
        yield
    return [*found, *_failures(cluster_state, failed_lately(cluster_state, at, scope))]


def failed_lately(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> dict[tuple[str, str], list[str]]:
    """The workloads that failed so lately that an alert tells of it, by LocalQueue."""
    latest = at - FAILURE_SHOWN_SECONDS * MICROSECONDS_PER_SECOND
    return cluster_state.ended.failed_since(latest, scope)


def _failures(
    cluster_state: ClusterState, failed: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[Attention]:
    """One alert for all failures of a LocalQueue, with the cause of the latest."""
    for (namespace, queue), keys in failed.items():
        last = cluster_state.ended.failures[keys[-1]]
        yield _alert(
            "WorkloadsFailed",
            "warning",
            message("WorkloadsFailed", count=len(keys), queue=f"{namespace}/{queue}"),
            message("LastFailure", workload=workload_reference(keys[-1]), cause=last.cause),
            link=f"/workloads?phase=Failed&namespace={namespace}&queue={queue}",
            stream=workload_stream(keys[-1]),
        )


def _workload(workload: Workload, at: Instant) -> Iterator[Attention]:
    phase = phase_of(workload)
    named, stream = workload_reference(workload.key), workload_stream(workload.key)
    link = f"/workloads/{workload.key}"
    if phase == "Inactive":
        yield _alert(
            "WorkloadInactive",
            "warning",
            message("WorkloadInactive", workload=named),
            _why_inactive(workload),
            link=link,
            stream=stream,
        )
    elif phase == "Retrying":
        title = message("WorkloadRetrying", workload=named)
        detail = message("RetriesAfterBackoff", requeues=workload.requeue.count)
        yield _alert("WorkloadRetrying", "warning", title, detail, link=link, stream=stream)
    elif phase == "OnHold":
        title, detail = message("WorkloadOnHold", workload=named), message("HeldUntilReleased")
        yield _alert("WorkloadOnHold", "info", title, detail, link=link, stream=stream)
    elif phase == "Starting" and _seconds_since(workload, "Admitted", at) > LONG_START_SECONDS:
        waited = _seconds_since(workload, "Admitted", at)
        yield _alert(
            "NotStarted",
            "warning",
            message("AdmittedNotStarted", workload=named, since=waited),
            message("QuotaHeldWhileStarting"),
            link=link,
            stream=stream,
        )
    elif _eviction_seconds(workload, at) > LONG_EVICTION_SECONDS:
        yield _alert(
            "EvictionStalled",
            "critical",
            message("EvictionIsStalled", workload=named),
            _held_quota(workload),
            link=link,
            stream=stream,
        )


def _why_inactive(workload: Workload) -> Message:
    requeues = workload.deactivation.requeues if workload.deactivation else 0
    if requeues:
        return message("DeactivatedAfterAttempts", attempts=requeues)
    return message("InactiveUntilActivated")


def _quarantined(cluster_state: ClusterState) -> Iterator[Attention]:
    for stream, reason in sorted(cluster_state.quarantined.items()):
        yield _alert(
            "Quarantined",
            "critical",
            message("StreamSkipped", stream=stream),
            reason,
            link=f"/events?stream={stream}",
            stream=stream,
        )


def _seconds_since(workload: Workload, kind: str, at: Instant) -> int:
    found = condition(workload, kind)  # type: ignore[arg-type]
    return 0 if found is None else (at - found.last_transition_at) // MICROSECONDS_PER_SECOND


def _eviction_seconds(workload: Workload, at: Instant) -> int:
    eviction = oldest_ongoing_eviction(workload)
    return 0 if eviction is None else (at - eviction.started_at) // MICROSECONDS_PER_SECOND


def _held_quota(workload: Workload) -> Message:
    if workload.eviction is not None:
        return message("EvictedHoldsQuota", reason=workload.eviction.reason)
    going = evicting_pods(workload.pod_evictions)
    pods = tuple(message("PodsOfSet", count=count, pod_set=name) for name, count in going.items())
    return message("ScaleDownPending", pods=pods)
