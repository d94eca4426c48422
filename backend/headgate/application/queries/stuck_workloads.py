"""Stuck workloads and the result of the recommended action; bulk actions with their undo.

The undo concerns only workloads as the batch left them; those with later changes are left alone.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from headgate.application.access.redaction import NamespaceScope, allows
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.bulk_actions import (
    CAUSE,
    UNDO,
    Batch,
    BatchItem,
    BulkRequest,
    BulkResult,
    BulkSelection,
    BulkTarget,
    act_on_all,
    selection_filter,
)
from headgate.application.commands.execute import catch_up
from headgate.application.commands.requests import CommandRequest
from headgate.application.cooperative import Cooperative, each
from headgate.application.ports import EventFilter, WorkloadQuery
from headgate.application.queries.timelines import title_of
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    message_text,
    timestamp,
    timestamp_or_none,
)
from headgate.application.workload_filter import OLDEST_STUCK_FIRST
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent, kind_and_key
from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.stuck_workloads import (
    STUCK_PHASES,
    StuckWorkload,
    forecast,
    stuck_workload,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workload_index import Affected, Unlisted, affected_of, unlisted
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadEvent,
    WorkloadReleased,
    WorkloadRequeued,
)
from headgate.domain.workloads.state import Phase, Workload, WorkloadsByKey, is_admitted, phase_of
from headgate.messages.catalogue import text_of


class LimitView(Whole, kw_only=True, frozen=True):
    """One limit: the field, what it allows, how much is used, and whether it decided."""

    field: str
    maximum: int
    used: int
    decided: bool


class StuckWorkloadView(Schema, kw_only=True, frozen=True):
    """One workload: how it came to this, and what the action that helps does.

    `next` is what it would do right after that action, tried on the installation as it stands; it
    is left out in lists.
    """

    workload: str
    uid: str
    phase: str
    cluster_queue: str = ""
    queue_name: str = ""
    priority: int = 0
    cause: str
    sentence: str
    by: str = ""
    since: Timestamp | None = None
    attempts: int = 0
    evictions: int = 0
    next_try_at: Timestamp | None = None
    gives_up_at: Timestamp | None = None
    limits: list[LimitView] = []
    helps: str
    resets: list[str] = []
    keeps: list[str] = []
    next: str = ""


class StuckWorkloads(Whole, kw_only=True, frozen=True):
    """Stuck workloads: inactive, retrying or on hold; `causes` counts all that match by cause.

    `more` is how many beyond the limit are not listed.
    """

    position: Position
    at: Timestamp
    causes: dict[str, int]
    more: int
    items: list[StuckWorkloadView]


MAX_CAUSES = 1_000
NO_PHASE = "-"
"""Where only phases were asked for in which no workload is stuck."""
HELP: dict[str, WorkloadEvent] = {
    "activate": WorkloadActivated(),
    "requeue": WorkloadRequeued(reason="Requested"),
    "release": WorkloadReleased(),
}


async def stuck_workloads(
    services: ApplicationServices, query: BulkSelection, scope: NamespaceScope, *, limit: int
) -> StuckWorkloads:
    """Those that match, longest stuck first; the cause of each is a column of its row."""
    where = selection_filter(query, scope)
    phases = tuple(each for each in STUCK_PHASES if not where.phases or each in where.phases)
    wanted = WorkloadQuery(
        where=msgspec.structs.replace(where, phases=phases or (NO_PHASE,)),
        order=OLDEST_STUCK_FIRST,
        limit=limit,
    )
    counted = msgspec.structs.replace(wanted, limit=MAX_CAUSES)
    found, causes = await asyncio.gather(
        asyncio.to_thread(services.models.workloads, wanted),
        asyncio.to_thread(services.models.workload_groups, counted, "cause"),
    )
    workloads = [loaded.state for loaded in found]
    items = await services.reader.while_still(_listed(services, workloads, scope))
    return StuckWorkloads(
        position=services.reader.position,
        at=timestamp(services.clock.now()),
        causes={group.value: group.count for group in sorted(causes, key=lambda one: one.value)},
        more=max(0, sum(group.count for group in causes) - len(found)),
        items=items,
    )


def _listed(
    services: ApplicationServices, workloads: Sequence[Workload], scope: NamespaceScope
) -> Cooperative[list[StuckWorkloadView]]:
    cluster_state, at = services.reader.cluster_state, services.clock.now()
    cases = yield from each(stuck_workload(cluster_state, one, at) for one in workloads)
    return (yield from each(_view(case, scope) for case in cases if case is not None))


def stuck_workload_with_forecast(
    services: ApplicationServices, workload: Workload, scope: NamespaceScope
) -> StuckWorkloadView:
    """One case, with what its workload would do right after the action that helps.

    `workload` is as its row had it, which tells of one that has left the live state.
    """
    cluster_state, at, key = services.reader.cluster_state, services.clock.now(), workload.key
    workload = cluster_state.workloads.get(key, workload)
    case = stuck_workload(cluster_state, workload, at)
    if case is None:
        raise IllegalNow("WorkloadNotStuck", workload=workload_reference(key))
    then = forecast(services.reader.cluster_state, case.workload.key, (HELP[case.helps],), at)
    return msgspec.structs.replace(_view(case, scope), next=message_text(then, scope))


def _view(case: StuckWorkload, scope: NamespaceScope) -> StuckWorkloadView:
    workload = case.workload
    return StuckWorkloadView(
        workload=workload.key,
        uid=workload.uid,
        phase=case.phase,
        cluster_queue=case.cluster_queue,
        queue_name=workload.spec.queue_name,
        priority=workload.spec.priority,
        cause=case.cause,
        sentence=message_text(case.message, scope) if case.message else "",
        by=case.by,
        since=timestamp_or_none(case.since),
        attempts=case.attempts,
        evictions=sum(found.count for found in workload.evictions),
        next_try_at=timestamp_or_none(case.next_try_at),
        gives_up_at=timestamp_or_none(case.gives_up_at),
        limits=[
            LimitView(field=one.field, maximum=one.maximum, used=one.used, decided=one.decided)
            for one in case.limits
        ],
        helps=case.helps,
        resets=[text_of(found) for found in case.resets],
        keeps=[text_of(found) for found in case.keeps],
    )


STUCK_KINDS: Mapping[Phase, str] = {
    "Inactive": "WorkloadInactive",
    "Retrying": "WorkloadRetrying",
    "OnHold": "WorkloadOnHold",
}
"""The kinds of alerts of stuck workloads; an intended hold is no warning."""


def in_stuck_phase(
    cluster_state: ClusterState, phase: Phase, scope: NamespaceScope
) -> list[Affected]:
    """The workloads in one of the phases of `STUCK_KINDS`, by namespace."""
    groups = cluster_state.reads.index.in_phase(phase, scope)
    return [affected_of(group, len(group.ages)) for group in groups if group.ages]


def unlisted_stuck(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> dict[str, Unlisted]:
    """The stuck workloads that `find_attention` leaves out, by the kind of their alerts."""
    found = {
        kind: unlisted(in_stuck_phase(cluster_state, phase, scope), at, cluster_state.workloads)
        for phase, kind in STUCK_KINDS.items()
    }
    return {kind: others for kind, others in found.items() if others is not None}


UNDOES = {"hold": "release", "deactivate": "activate", "activate": "deactivate"}
IRREVERSIBLE = {
    "release": "ReleaseNotReversible",
    "requeue": "RequeueNotReversible",
    "cancel": "CancellationNotReversible",
}
"""Codes that say why results of actions cannot be undone."""
MAX_BATCH_EVENTS = 40_000


async def batch_of(services: ApplicationServices, batch: str, scope: NamespaceScope) -> Batch:
    """The batch as far as it may be seen; raises `NotFound`."""
    await catch_up(services)
    where = EventFilter(correlation=batch)
    recorded_events = await asyncio.to_thread(
        services.log.page, where, before=None, limit=MAX_BATCH_EVENTS
    )
    mine = [f for f in reversed(recorded_events) if f.metadata.causation.startswith(CAUSE)]
    mine = [f for f in mine if allows(scope, f.stream)]
    if not mine:
        raise NotFound("ObjectNotFound", kind="Batch", name=batch)
    first = mine[0]
    verb, _, undone = first.metadata.causation.removeprefix(CAUSE).partition(UNDO)
    firsts: dict[str, RecordedEvent] = {}
    for fact in mine:
        firsts.setdefault(fact.stream, fact)
    keys = [kind_and_key(stream)[1] for stream in firsts]
    known = await whole_workloads(services, keys)
    return Batch(
        batch=batch,
        verb=verb,
        undo=UNDOES.get(verb, ""),
        undoes=undone,
        actor=first.metadata.actor,
        reason=first.metadata.reason,
        at=timestamp(first.at),
        position=mine[-1].position,
        items=[_item(known, verb, firsts[stream]) for stream in firsts],
    )


async def undo(
    services: ApplicationServices, call: CommandRequest, batch: str, reason: str
) -> BulkResult:
    """Undoes a batch where no later change was made; the undo is a batch of its own."""
    return await act_on_all(services, call, await undo_action(services, call, batch, reason))


async def undo_action(
    services: ApplicationServices, call: CommandRequest, batch: str, reason: str
) -> BulkRequest:
    """The bulk action that takes a batch back; raises `IllegalNow` where none does."""
    found = await batch_of(services, batch, call.identity.namespaces)
    if not found.undo:
        raise IllegalNow(IRREVERSIBLE.get(found.verb, "NotReversible"), verb=found.verb)
    can_undo = [item.workload for item in found.items if item.can_undo]
    known = await whole_workloads(services, can_undo)
    chosen = tuple(BulkTarget(key, known[key].uid) for key in can_undo if key in known)
    return BulkRequest(
        verb=found.undo,  # type: ignore[arg-type]
        reason=reason,
        undoes=batch,
        chosen=chosen,
    )


def _item(workloads: WorkloadsByKey, verb: str, first: RecordedEvent) -> BatchItem:
    _, key = kind_and_key(first.stream)
    workload = workloads.get(key)
    reason = _why_it_stays(workload, verb, first)
    return BatchItem(
        workload=key,
        did=text_of(title_of(first.event)[0]),
        phase=phase_of(workload) if workload else "",
        can_undo=reason is None,
        code=reason.code if reason else "",
        reason=text_of(reason) if reason else "",
    )


def _why_it_stays(workload: Workload | None, verb: str, first: RecordedEvent) -> Message | None:
    """Returns why a result is not undone; None if it is."""
    if verb not in UNDOES:
        return message(IRREVERSIBLE.get(verb, "NotReversible"), verb=verb)
    if workload is None or workload.finished_at is not None:
        return message("BatchWorkloadEnded")
    stands = {
        "hold": workload.hold is not None and workload.hold.held_at == first.at,
        "deactivate": workload.deactivation is not None
        and workload.deactivation.deactivated_at == first.at,
        "activate": workload.spec.active and not is_admitted(workload),
    }
    return None if stands[verb] else message("BatchWorkloadChanged")
