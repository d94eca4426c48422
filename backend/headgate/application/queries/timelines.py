"""What happened to a workload, page by page, with the title and detail of each event."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices
from headgate.application.event_hub import shown_event
from headgate.application.queries.views import (
    Free,
    MessageView,
    Position,
    Schema,
    Timestamp,
    message_view,
)
from headgate.domain.recorded_event import EventIgnored, RecordedEvent, workload_stream
from headgate.domain.rejection import NotFound
from headgate.domain.values.index_ranges import IndexRanges, text_of_ranges
from headgate.domain.values.message import Message, MessageOrText, message
from headgate.domain.workloads import events as facts
from headgate.domain.workloads import pod_events as retries
from headgate.domain.workloads import preemption_events as preemption
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.decide.pod_failures import LOST_REASONS
from headgate.domain.workloads.events import WorkloadPodsReported
from headgate.domain.workloads.pod_events import WorkloadSessionOpened
from headgate.messages.catalogue import text_of, worded

Detail = Literal["Brief", "Whole"]
KEPT_OF_EXPLANATIONS = ("dominant", "evaluated")


class TimelineEntry(Schema, kw_only=True, frozen=True):
    """One fact of a workload's life, told to a person.

    Unless it was asked for whole, `data` leaves out what grows with the cluster: of an explanation
    constraints and remedies, of an admission the hosts. Reads with `at` this position tell
    them.
    """

    position: Position
    at: Timestamp
    type: str
    actor: str
    reason: str = ""
    title: str
    detail: str = ""
    data: Free
    title_message: MessageView | None = None
    detail_message: MessageView | None = None


class Timeline(Schema, kw_only=True, frozen=True):
    """A page of a workload's life, newest first; `earlier` facts happened before those on it."""

    position: Position
    entries: list[TimelineEntry]
    earlier: int
    continue_: str | None = msgspec.field(default=None, name="continue")


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page: so many facts before a version of the stream, or the newest ones."""

    limit: int
    before: int | None = None
    detail: Detail = "Brief"


async def timeline(
    services: ApplicationServices, key: str, scope: NamespaceScope, wanted: TimelineQuery
) -> tuple[Timeline, int | None]:
    """A page of its life, newest first, and the version that the next page lies before, if any.

    Raises `NotFound` for one that never was.
    """
    position = services.reader.position
    stream, before = workload_stream(key), wanted.before
    read = services.log.stream_page
    # One more than is shown tells whether there is a next page.
    events = await asyncio.to_thread(read, stream, before=before, limit=wanted.limit + 1)
    if not events and before is None:
        raise NotFound("ObjectNotFound", kind="Workload", name=key)
    shown = events[: wanted.limit]
    page = Timeline(
        position=max(position, events[0].position if events else 0),
        entries=[_entry(recorded, scope, wanted.detail) for recorded in shown],
        earlier=shown[-1].version - 1 if shown else 0,
    )
    return page, shown[-1].version if len(events) > len(shown) else None


def _entry(recorded: RecordedEvent, scope: NamespaceScope, detail: Detail) -> TimelineEntry:
    event = (
        shown_event(recorded, scope)
        if detail == "Whole"
        else shown_event(recorded, scope, in_brief)
    )
    title, more = title_of(recorded.event)
    is_visible = visible_to(scope)
    return TimelineEntry(
        position=recorded.position,
        at=event["at"],
        type=event["type"],
        actor=event["actor"],
        reason=event["reason"],
        title=text_of(title, is_visible),
        detail=worded(more, is_visible),
        data=event["data"],
        title_message=message_view(title, is_visible),
        detail_message=message_view(more, is_visible) if isinstance(more, Message) else None,
    )


def in_brief(data: dict[str, Any]) -> dict[str, Any]:
    """An event's fields without those that grow with the cluster and come again and again."""
    brief = dict(data)
    if "explanation" in data:
        brief["explanation"] = {name: data["explanation"][name] for name in KEPT_OF_EXPLANATIONS}
    if "admission" in data:
        given = data["admission"]["pod_set_assignments"]
        brief["admission"] = {
            **data["admission"],
            "pod_set_assignments": [_without_hosts(each) for each in given],
        }
    return brief


def _without_hosts(assignment: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in assignment.items() if name != "topology_assignment"}


MAX_TITLE_HOSTS = 8
"""Hosts that a line names; a large gang has hundreds."""

EventTitle: TypeAlias = tuple[Message, MessageOrText]
"""A title, and a detail that may be an empty text."""

EVENT_TITLES: dict[type, Callable[[Any], EventTitle]] = {
    facts.WorkloadSubmitted: lambda e: (message("TitleSubmitted"), _pods(e.spec)),
    facts.WorkloadSpecChanged: lambda e: (message("TitleChanged"), _pods(e.spec)),
    facts.WorkloadExplained: lambda e: (
        message("TitlePending", reason=e.explanation.dominant),
        e.explanation.reason_message,
    ),
    facts.PlacementNominated: lambda e: (message("TitlePreemptionStarted"), _where(e.admission)),
    facts.NominationWithdrawn: lambda e: (
        message("TitlePreemptionWithdrawn"),
        message("DetailRoundEnded", round=e.round_id),
    ),
    facts.WorkloadImported: lambda e: (message("TitleImported", origin=e.origin), ""),
    facts.WorkloadQuotaReserved: lambda e: (message("TitleQuotaReserved"), _where(e.admission)),
    facts.WorkloadChecksRequired: lambda e: (
        message("TitleChecksRequired"),
        message("DetailChecks", checks=e.checks) if e.checks else message("DetailNoChecks"),
    ),
    facts.WorkloadCheckReported: lambda e: (
        message("TitleCheckReported", check=e.check, state=e.state),
        e.message,
    ),
    facts.WorkloadAdmitted: lambda e: (
        message("TitleAdmitted"),
        message("DetailWaited", waited=e.waited_seconds),
    ),
    facts.WorkloadPodsReady: lambda e: (
        message("TitlePodsReady"),
        message("DetailAgain") if e.recovered else "",
    ),
    EventIgnored: lambda e: (message("TitleOfLaterRelease", event=e.name), ""),
    facts.WorkloadPodsNotReady: lambda e: (message("TitlePodsNotReady"), e.message),
    facts.WorkloadPodsGone: lambda e: (
        message("TitlePodsGone"),
        message("DetailHosts", hosts=e.hosts),
    ),
    facts.WorkloadHostsFailed: lambda e: (message("TitleHostsFailed"), _failures(e.hosts)),
    facts.WorkloadHostsRecovered: lambda _: (
        message("TitleHostsRecovered"),
        message("DetailPodsStay"),
    ),
    facts.WorkloadPlaced: lambda e: (
        message("TitleHostsReplaced", hosts=e.replaced)
        if e.replaced
        else message("TitleHostsAssigned"),
        _hosts(e.admission),
    ),
    facts.WorkloadScaledDown: lambda e: (message("TitleScaledDown"), _hosts(e.admission)),
    facts.WorkloadPodsReclaimed: lambda e: (
        message("TitlePodsCompleted"),
        message("DetailPods", pods=_counts(e.reclaimable)),
    ),
    WorkloadPodsReported: lambda e: (
        message("TitlePodsReported", executor=e.executor),
        message("DetailPodsReported", pods=_reported(e)),
    ),
    retries.WorkloadRetried: lambda e: (message(_retry_title(e)), _retried(e)),
    retries.WorkloadIndexesFailed: lambda e: (
        message("TitleIndexesFailed"),
        message("DetailPodsReported", pods=_failed(e.pods)),
    ),
    retries.WorkloadPodsReleased: lambda e: (
        message("TitlePodsReleased"),
        message(
            "DetailPodsReported",
            pods=tuple(f"{name} {text_of_ranges(found)}" for name, found in e.pods.items()),
        ),
    ),
    WorkloadSessionOpened: lambda e: (
        message("TitleSessionOpened", user=e.user),
        message("DetailSessionOpened", pod_set=e.pod_set, index=e.index),
    ),
    facts.WorkloadEvicted: lambda e: (message("TitleEvicted", reason=e.reason), e.message),
    facts.EvictionAcknowledged: lambda e: (
        message("TitleEvictionAcknowledged"),
        message("DetailHandler", handler=e.handler, until=e.expected_end_at),
    ),
    facts.EvictionProgressed: lambda e: (message("TitleEvictionProgressed"), e.note),
    facts.WorkloadStopped: lambda _: (message("TitleStopped"), message("DetailQuotaReleased")),
    facts.ReservationDropped: lambda e: (message("TitleReservationReleased"), e.reason),
    facts.WorkloadRequeued: lambda e: (message("TitleRequeued", reason=e.reason), ""),
    facts.RequeueCountReset: lambda _: (
        message("TitleRequeueCountReset"),
        message("DetailPodsStayedReady"),
    ),
    facts.WorkloadHeld: lambda e: (
        message("TitleHeld", owner=e.owner),
        message("DetailHold", reason=e.reason, until=e.expires_at),
    ),
    facts.WorkloadReleased: lambda e: (
        message("TitleReleased"),
        message("DetailHoldExpired") if e.expired else "",
    ),
    facts.WorkloadDeactivated: lambda e: (message("TitleDeactivated", cause=e.cause), e.message),
    facts.WorkloadActivated: lambda _: (message("TitleActivated"), ""),
    facts.WorkloadCancellationRequested: lambda e: (
        message("CancellationRequested"),
        e.message,
    ),
    facts.WorkloadFinished: lambda e: (message("TitleFinished", reason=e.reason), e.message),
    facts.WorkloadDeletionRequested: lambda _: (message("DeletionRequested"), ""),
    facts.WorkloadDeleted: lambda _: (message("TitleDeleted"), ""),
    preemption.PriorityDivergenceObserved: lambda e: (
        message("TitlePriorityDiverges"),
        message(
            "DetailPodSetPriorities",
            pod_sets=tuple(
                message("PodSetPriority", pod_set=found.name, priority=found.priority)
                for found in e.pod_sets
            ),
        ),
    ),
    preemption.PriorityDivergenceCleared: lambda _: (message("TitlePrioritiesMatch"), ""),
    preemption.ProtectionChanged: lambda e: (
        message("TitleProtectionChanged"),
        message("DetailProtection", before=e.before, after=e.after, reason=e.reason),
    ),
    preemption.WorkloadPriorityChanged: lambda e: (
        message("TitlePriorityChanged"),
        message("DetailPriority", before=e.before, after=e.after, name=e.class_name),
    ),
    preemption.PreemptionGateOpened: lambda e: (message("TitlePreemptionGateOpened"), e.gate),
    preemption.PreemptionGateClosed: lambda e: (message("TitlePreemptionGateClosed"), e.gate),
    preemption.PreemptionWithheld: lambda e: (
        message("TitlePreemptionBlocked"),
        message("DetailClosedGates", gates=e.gates),
    ),
    preemption.WorkloadPodsEvicted: lambda e: (
        message("TitlePodsEvicted", pods=_counts(e.pods, e.indices)),
        e.message,
    ),
    preemption.WorkloadShrunk: lambda e: (
        message("TitleContinues", pods=_counts(e.counts)),
        message("DetailPodsStopped", pods=_counts(e.pods, e.indices)),
    ),
    preemption.WorkloadGrown: lambda e: (
        message("TitleGrown"),
        message("DetailPodsBack", pods=_counts(e.pods)),
    ),
    preemption.EvictionExtended: lambda e: (
        message("TitleEvictionExtended"),
        message("DetailUntil", until=e.deadline_at),
    ),
    preemption.EvictionForced: lambda e: (message("TitleEvictionForced"), e.cause),
    preemption.EvictionStalled: lambda _: (
        message("TitleEvictionStalled"),
        message("DetailAwaited"),
    ),
    preemption.EvictionCancelled: lambda e: (message("TitleEvictionCancelled"), e.cause),
    preemption.WorkloadStopping: lambda e: (
        message("TitleStopping"),
        message("DetailQuotaIsReleased") if e.releases_quota else "",
    ),
}


def title_of(event: object) -> EventTitle:
    """The title and detail of a workload's event."""
    return EVENT_TITLES[type(event)](event)


def _pods(spec: Any) -> Message:  # noqa: ANN401 - a WorkloadSpec, as the table's lambdas see it
    pods = sum(pod_set.count for pod_set in spec.pod_sets)
    if not spec.queue_name:
        return message("DetailPodsWithoutQueue", pods=pods, priority=spec.priority)
    return message("DetailPodsInQueue", pods=pods, queue=spec.queue_name, priority=spec.priority)


def _where(admission: Any) -> Message:  # noqa: ANN401 - an Admission
    flavors = sorted({f for given in admission.pod_set_assignments for f in given.flavors.values()})
    return message("DetailAdmission", queue=admission.cluster_queue, flavors=tuple(flavors))


def _failures(hosts: Mapping[str, str]) -> Message:
    failed = tuple(message("HostFailure", host=host, reason=why) for host, why in hosts.items())
    return message("DetailFailedHosts", hosts=failed)


def _hosts(admission: Any) -> Message:  # noqa: ANN401 - an Admission
    found = hosts_of(admission)
    more = max(0, len(found) - MAX_TITLE_HOSTS)
    return message("DetailOnHosts", hosts=tuple(found[:MAX_TITLE_HOSTS]), more=more or None)


def _counts(
    pods: Mapping[str, int], indices: Mapping[str, IndexRanges] | None = None
) -> tuple[Message, ...]:
    return tuple(
        message("PodsOfSet", count=count, pod_set=name, indices=text_of_ranges(named) or None)
        for name, count in pods.items()
        for named in ((indices or {}).get(name, ()),)
    )


def _retry_title(event: retries.WorkloadRetried) -> str:
    if event.action == "RetryWorkload":
        return "TitleRetriedWorkload"
    is_lost = all(each.reason in LOST_REASONS for each in event.pods)
    return "TitleLostPods" if is_lost else "TitleRetriedPods"


def _retried(event: retries.WorkloadRetried) -> Message:
    starts = [each.retry_at for each in event.pods if each.retry_at is not None]
    failed = _failed(event.pods) or (message("WorkloadHasFailed"),)
    at = min(starts, default=None)
    return message("DetailRetried", pods=failed, retries=event.retries or None, at=at)


def _failed(pods: Sequence[retries.FailedPods]) -> tuple[str, ...]:
    """Failed pods by set, index ranges and run, with what is told of them."""
    return tuple(
        f"{each.pod_set} {text_of_ranges(each.indices)} run {each.run} {each.reason}"
        + (f" {each.exit_code}" if each.exit_code is not None else "")
        for each in pods
    )


def _reported(event: WorkloadPodsReported) -> tuple[str, ...]:
    """The pods of a report by set and index ranges, with what is told of them."""
    return tuple(
        f"{each.pod_set} {text_of_ranges(each.indices)} {each.reason or each.type}"
        for each in event.pods
    )
