"""Lists stuck workloads, and predicts the result of the recommended action on one."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.bulk_actions import BulkSelection, selection_filter
from headgate.application.cooperative import Cooperative, each
from headgate.application.ports import WorkloadQuery
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
from headgate.domain.rejection import IllegalNow
from headgate.domain.stuck_workloads import (
    STUCK_PHASES,
    StuckWorkload,
    forecast,
    stuck_workload,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import workload_reference
from headgate.domain.workload_index import Affected, Unlisted, affected_of, unlisted
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadEvent,
    WorkloadReleased,
    WorkloadRequeued,
)
from headgate.domain.workloads.state import Phase, Workload
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
