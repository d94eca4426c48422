"""Lists stuck workloads, and predicts the result of the recommended action on one."""

from collections import Counter

import msgspec

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.bulk_actions import BulkSelection, selected
from headgate.application.cooperative import Cooperative, each
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    message_text,
    timestamp,
    timestamp_or_none,
)
from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.stuck_workloads import (
    STUCK_PHASES,
    StuckWorkload,
    forecast,
    stuck_workload,
)
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadEvent,
    WorkloadReleased,
    WorkloadRequeued,
)
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


HELP: dict[str, WorkloadEvent] = {
    "activate": WorkloadActivated(),
    "requeue": WorkloadRequeued(reason="Requested"),
    "release": WorkloadReleased(),
}


def stuck_workloads(
    services: ApplicationServices, query: BulkSelection, scope: NamespaceScope, *, limit: int
) -> Cooperative[StuckWorkloads]:
    """Those that match, longest stuck first."""
    cluster_state, at = services.reader.cluster_state, services.clock.now()
    where = query.where
    if not where.phases:
        where = msgspec.structs.replace(where, phases=STUCK_PHASES)
    wanted = msgspec.structs.replace(query, where=where)
    found = yield from selected(cluster_state, wanted, scope, at)
    looked_at = yield from each(stuck_workload(cluster_state, workload, at) for workload in found)
    cases = [case for case in looked_at if case is not None]
    cases.sort(key=lambda case: (case.since or 0, case.workload.key))
    return StuckWorkloads(
        position=cluster_state.position,
        at=timestamp(at),
        causes=dict(sorted(Counter(case.cause for case in cases).items())),
        more=max(0, len(cases) - limit),
        items=(yield from each(_view(case, scope) for case in cases[:limit])),
    )


def stuck_workload_with_forecast(
    services: ApplicationServices, key: str, scope: NamespaceScope
) -> StuckWorkloadView:
    """One case, with what its workload would do right after the action that helps."""
    cluster_state, at = services.reader.cluster_state, services.clock.now()
    workload = cluster_state.workloads.get(key)
    if workload is None:
        raise NotFound("ObjectNotFound", kind="Workload", name=key)
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
