"""One action on a frozen set of workloads, each decided individually under one batch id.

Everything a batch does carries the batch id as its correlation, so that the log itself is the
record of it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.commands.execute import CATCH_UP_SECONDS, catch_up, execute, execute_each
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.commands.workload_commands import (
    WorkloadAction,
    WorkloadVerb,
    action_on_workload,
    events_of_action,
)
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.ports import WorkloadQuery
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
)
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, EventMetadata
from headgate.domain.rejection import IllegalNow, InvalidObject, Rejection
from headgate.domain.stuck_workloads import forecast
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.state import Workload, WorkloadsByKey, phase_of
from headgate.messages.catalogue import text_of


class BulkSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Every condition must hold; empty ones hold always.

    `causes` are those of stuck workloads; `since` selects workloads in their state from then on.
    """

    where: WorkloadFilter = WorkloadFilter()
    causes: tuple[str, ...] = ()
    since: Instant | None = None


def selection_filter(query: BulkSelection, scope: NamespaceScope) -> WorkloadFilter:
    """The filter of a selection among the workloads that may be seen."""
    named = query.where.namespaces
    seen = named if scope is None else tuple(sorted(scope if named is None else {*named} & scope))
    return msgspec.structs.replace(
        query.where, namespaces=seen, causes=query.causes, stuck_since=query.since
    )


async def selected(
    services: ApplicationServices, query: BulkSelection, scope: NamespaceScope
) -> list[tuple[str, str]]:
    """Key and uid of those that match now and may be seen, by key; refuses too many."""
    wanted = WorkloadQuery(where=selection_filter(query, scope), limit=MAX_ITEMS + 1)
    found = await asyncio.to_thread(services.models.workloads, wanted)
    if len(found) > MAX_ITEMS:
        (all_of_them,) = await asyncio.to_thread(services.models.workload_groups, wanted, None)
        refuse_too_many(all_of_them.count, "/query")
    return sorted((loaded.state.key, loaded.state.uid) for loaded in found)


BulkOutcome = Literal["eligible", "ineligible", "done", "refused"]


class BulkItem(Schema, kw_only=True, frozen=True):
    """The result for one workload, or why it has none.

    `next` is the text of what the workload would do then; the first workloads are simulated.
    """

    workload: str
    uid: str
    phase: str
    outcome: BulkOutcome
    code: str = ""
    reason: str = ""
    next: str = ""
    next_code: str = ""


class BulkResult(Whole, kw_only=True, frozen=True):
    """All workloads of a bulk action, in order; `batch` is empty for a preview.

    `position` is where the set was frozen; workloads that appear or change later are left alone.
    """

    batch: str
    verb: str
    position: Position
    eligible: int
    ineligible: int
    items: list[BulkItem]


class BatchItem(Schema, kw_only=True, frozen=True):
    """The result of a batch for one workload, its present phase, and whether it can be undone."""

    workload: str
    did: str
    phase: str
    can_undo: bool
    code: str = ""
    reason: str = ""


class Batch(Whole, kw_only=True, frozen=True):
    """A bulk action that was carried out; `undo` is the action that undoes it, if one does.

    `undoes` is the id of the bulk action that this one undid.
    """

    batch: str
    verb: str
    undo: str
    undoes: str = ""
    actor: str
    reason: str
    at: Timestamp
    position: Position
    items: list[BatchItem]


MAX_FORECASTS = 100
MAX_ITEMS = 10_000
CAUSE = "batch:"
UNDO = ":undo:"
UNCHANGED = message("NothingToChange")


class BulkTarget(msgspec.Struct, frozen=True):
    """A workload as a preview named it."""

    workload: str
    uid: str = ""


class BulkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A bulk action and its workloads: those of `chosen`, or those that match `query` now.

    `position` is where a preview froze the set: a workload that changed since is refused.
    `undoes` is the id of the bulk action that this one undoes.
    """

    verb: WorkloadVerb
    reason: str
    expires_at: Instant | None = None
    query: BulkSelection | None = None
    chosen: tuple[BulkTarget, ...] = ()
    position: int | None = None
    undoes: str = ""

    @property
    def causation(self) -> str:
        """The causation of its events: the verb, and what it undoes."""
        return f"{CAUSE}{self.verb}{UNDO + self.undoes if self.undoes else ''}"


async def preview(
    services: ApplicationServices, call: CommandRequest, bulk: BulkRequest
) -> BulkResult:
    """What each would answer, and what it would do then; nothing is changed."""
    await catch_up(services)
    position = services.reader.position if bulk.position is None else bulk.position
    frozen = await _frozen(services, call, bulk)
    whole = await whole_workloads(services, [key for key, _ in frozen])
    items = await run_yielding(_previewed(services, call, bulk, frozen, whole))
    return _result("", bulk.verb, position, items)


def _previewed(
    services: ApplicationServices,
    call: CommandRequest,
    bulk: BulkRequest,
    frozen: Sequence[tuple[str, str]],
    whole: WorkloadsByKey,
) -> Cooperative[list[BulkItem]]:
    """Previews one workload after the other, each in its state at its turn.

    Of those that have left the live state it is the state in `whole`.

    A workload that changes after the preview began is refused by the action itself.
    """
    cluster_state, at = services.reader.cluster_state, services.clock.now()
    is_visible = visible_to(call.identity.namespaces)
    items: list[BulkItem] = []
    foretold = 0
    for key, uid in frozen:
        yield
        workload = cluster_state.workloads.get(key) or _ended(whole.get(key))
        events, refusal = _answer(call, bulk, (cluster_state, workload), uid, at)
        items.append(_item(key, uid, workload, "ineligible" if refusal else "eligible", refusal))
        if not events:
            continue
        then = message("NotSimulated", maximum=MAX_FORECASTS)
        if foretold < MAX_FORECASTS:
            then = forecast(cluster_state, key, events, at)
        items[-1] = msgspec.structs.replace(
            items[-1],
            next=text_of(then, is_visible),
            next_code=then.code,
        )
        foretold += 1
    return items


def _ended(workload: Workload | None) -> Workload | None:
    """A workload that the live state need not have; any other one is deleted by now."""
    return workload if workload is not None and workload.finished_at is not None else None


async def act_on_all(
    services: ApplicationServices, call: CommandRequest, bulk: BulkRequest
) -> BulkResult:
    """Do it to each that can take it; what became of each, under one batch id."""
    planned = await _planned(services, call, bulk)
    results: Sequence[CommandResult] = ()
    if planned.changes:
        results, recorded = await execute_each(services, planned.metadata, planned.changes)
        await services.reader.reached(recorded, within_seconds=CATCH_UP_SECONDS)
    return await run_yielding(planned.told(results))


async def act_on_all_once(
    services: ApplicationServices, call: CommandRequest, bulk: BulkRequest
) -> CommandResponse:
    """Acts under the caller's idempotency key, all recorded together; repeats replay the answer."""
    planned = await _planned(services, call, bulk)

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        told = yield from planned.told(results)
        return CommandResponse(content=told)

    keyed = msgspec.structs.replace(
        call, metadata=planned.metadata, respond=write, tells_failures=True
    )
    handled = await execute(services, keyed, planned.changes)
    await services.reader.reached(handled.position, within_seconds=CATCH_UP_SECONDS)
    return handled


class _Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that is about to be carried out."""

    batch: str
    verb: WorkloadVerb
    position: int
    targets: list[tuple[str, str]]
    changes: list[StreamCommand]
    metadata: EventMetadata

    def told(self, results: Sequence[CommandResult]) -> Cooperative[BulkResult]:
        """Returns the results in order."""
        pairs = zip(self.targets, results, strict=True)
        items = yield from each(_told(key, uid, changed) for (key, uid), changed in pairs)
        return _result(self.batch, self.verb, self.position, items)


async def _planned(
    services: ApplicationServices, call: CommandRequest, bulk: BulkRequest
) -> _Planned:
    await catch_up(services)
    batch = services.ids.new()
    position = services.reader.position if bulk.position is None else bulk.position
    targets = await _frozen(services, call, bulk)
    changes = (_change(call, bulk, key, uid, services.ids.new()) for key, uid in targets)
    return _Planned(
        batch=batch,
        verb=bulk.verb,
        position=position,
        targets=targets,
        changes=await run_yielding(each(changes)),
        metadata=msgspec.structs.replace(
            call.metadata, correlation=batch, causation=bulk.causation, reason=bulk.reason
        ),
    )


async def _frozen(
    services: ApplicationServices, call: CommandRequest, bulk: BulkRequest
) -> list[tuple[str, str]]:
    """Key and uid of every selected workload."""
    if bulk.query is not None:
        return await selected(services, bulk.query, call.identity.namespaces)
    seen = (c for c in bulk.chosen if call.identity.sees(c.workload.partition("/")[0]))
    return [(c.workload, c.uid) for c in seen]


def refuse_too_many(count: int, pointer: str) -> None:
    """No workload is left out silently; the pointer is that of the filter."""
    if count > MAX_ITEMS:
        raise InvalidObject.at(pointer, "TooManyMatches", count=count, maximum=MAX_ITEMS)


def _answer(
    call: CommandRequest,
    bulk: BulkRequest,
    found: tuple[ClusterState, Workload | None],
    uid: str,
    at: Instant,
) -> tuple[tuple[WorkloadEvent, ...], Message | None]:
    """Returns the events that would follow, or the reason for none."""
    cluster_state, workload = found
    if workload is None:
        return (), message("ObjectNotFound", kind="Workload")
    action = _action(bulk, workload.key)
    context = DecisionContext(
        state=workload, at=at, cluster_state=cluster_state, config=cluster_state.config
    )
    try:
        _refuse_another(workload, uid)
        events = events_of_action(action, call.identity, "preview", context)
    except Rejection as rejection:
        return (), rejection.message
    return events, None if events else UNCHANGED


def _change(
    call: CommandRequest, bulk: BulkRequest, key: str, uid: str, eviction: str
) -> StreamCommand:
    change = action_on_workload(_action(bulk, key), call.identity, eviction)

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        if isinstance(situation.state, Workload):
            _refuse_another(situation.state, uid)
        return change.decide(situation)

    return msgspec.structs.replace(change, decide=decide, until=bulk.position)


def _refuse_another(workload: Workload, uid: str) -> None:
    if uid and workload.uid != uid:
        raise IllegalNow("WorkloadReplaced", workload=workload_reference(workload.key))


def _action(bulk: BulkRequest, key: str) -> WorkloadAction:
    return WorkloadAction(
        workload=key, verb=bulk.verb, reason=bulk.reason, expires_at=bulk.expires_at
    )


def _told(key: str, uid: str, changed: CommandResult) -> BulkItem:
    state = changed.after if isinstance(changed.after, Workload) else None
    if changed.failure is not None:
        item = _item(key, uid, state, "refused", getattr(changed.failure, "message", None))
        return msgspec.structs.replace(item, reason=item.reason or str(changed.failure))
    outcome = ("done", None) if changed.events else ("ineligible", UNCHANGED)
    return _item(key, uid, state, *outcome)


def _item(
    key: str, uid: str, workload: Workload | None, outcome: str, reason: Message | None
) -> BulkItem:
    return BulkItem(
        workload=key,
        uid=workload.uid if workload else uid,
        phase=phase_of(workload) if workload else "",
        outcome=outcome,  # type: ignore[arg-type]
        code=reason.code if reason else "",
        reason=text_of(reason) if reason else "",
    )


def _result(batch: str, verb: str, position: int, items: Iterable[BulkItem]) -> BulkResult:
    found = list(items)
    good = sum(item.outcome in {"eligible", "done"} for item in found)
    return BulkResult(
        batch=batch,
        verb=verb,
        position=position,
        eligible=good,
        ineligible=len(found) - good,
        items=found,
    )
