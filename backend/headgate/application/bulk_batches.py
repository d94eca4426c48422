"""The record of a bulk action: its result for each workload, their present phases, and its undo.

The undo concerns only workloads as the batch left them; those with later changes are left alone.
"""

import asyncio

from headgate.application.access.redaction import NamespaceScope, allows
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.bulk_actions import (
    CAUSE,
    UNDO,
    Batch,
    BatchItem,
    BulkRequest,
    BulkResult,
    BulkTarget,
    act_on_all,
)
from headgate.application.commands.execute import catch_up
from headgate.application.commands.requests import CommandRequest
from headgate.application.ports import EventFilter
from headgate.application.queries.timelines import title_of
from headgate.application.queries.views import timestamp
from headgate.domain.recorded_event import RecordedEvent, kind_and_key
from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.state import Workload, WorkloadsByKey, is_admitted, phase_of
from headgate.messages.catalogue import text_of

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
