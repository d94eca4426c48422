"""Why a workload waits: as the scheduler recorded it, or derived where it had no need to look."""

import asyncio
from collections.abc import Sequence

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative
from headgate.application.queries.queues.pending_order import (
    PendingOrder,
    pending_order,
    pending_order_of_tree,
)
from headgate.application.queries.views import timestamp
from headgate.application.queries.workloads.expected import expected_start
from headgate.application.queries.workloads.moved_pods import moved_pods
from headgate.application.queries.workloads.views import (
    AsOf,
    Attempt,
    BlockerView,
    ExplanationView,
    QueuePosition,
    ReasonThen,
)
from headgate.application.queries.workloads.waiting_since import attempts_of, since
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded
from headgate.domain.scheduling.lines.standing import cluster_queue_of
from headgate.domain.scheduling.pending_reasons import current_reason, recorded_reason
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadExplained
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.state import Phase, Workload, phase_of
from headgate.domain.workloads.transitions.partial_eviction import evicting_pods

MOST_REASONS = 500
VERDICTS = {
    "Succeeded": "Finished",
    "Failed": "Finished",
    "Cancelled": "Finished",
    "Inactive": "Inactive",
    "Starting": "Admitted",
    "Running": "Admitted",
    "Evicting": "Admitted",
}
STATED: dict[Phase, tuple[str, str]] = {
    "Starting": ("Admitted", "It is admitted; its pods are starting."),
    "Running": ("Admitted", "It is admitted and all its pods are ready."),
    "Evicting": ("Evicting", "It was evicted and waits until its pods are gone."),
    "Succeeded": ("Succeeded", "It has finished."),
    "Failed": ("Failed", "It has failed."),
    "Cancelled": ("Cancelled", "It was cancelled."),
}


async def explanation_view(
    services: ApplicationServices,
    workload: Workload,
    scope: NamespaceScope,
    reasons: int = MOST_REASONS,
) -> ExplanationView:
    """Everything known of why it stands where it stands, as someone may see it.

    The history has the latest `reasons` at most.
    """
    stream = workload_stream(workload.key)
    read = services.log.read_stream
    past = await asyncio.to_thread(read, stream)
    cell = services.reader.cell
    found = fresh_explanation(cell, workload, services.clock.now())
    start = await asyncio.to_thread(since, cell.config, workload, found, read)
    place = await services.reader.while_still(position_of(cell, workload))
    attempts = attempts_of(past)
    hide = services.redaction.redacted
    phase = phase_of(workload)
    return ExplanationView(
        workload=workload.key,
        as_of=AsOf(position=cell.position, time=timestamp(services.clock.now())),
        phase=phase,
        verdict=VERDICTS.get(phase, "Waiting"),  # type: ignore[arg-type]
        dominant=found.dominant,
        sentence=hide(_with_story(found, phase, past), scope),
        evaluated=found.evaluated,
        unchanged_since=timestamp(start.at) if start else None,
        since=AsOf(position=start.position, time=timestamp(start.at)) if start else None,
        blockers=[blocker_view(services, blocker, scope) for blocker in found.blockers],
        would_unblock=hide(list(found.would_unblock), scope),
        position=place,
        attempts=attempts.count,
        last_attempt=_attempt(attempts.last),
        expected_start=expected_start(cell, workload, found, services.clock.now()),
        history=_history(services, past, scope, reasons),
    )


def _with_story(found: Explanation, phase: Phase, past: Sequence[Recorded]) -> str:
    """The sentence; with where pods went from hosts that failed, or why they have to go."""
    story = ""
    if phase in {"Starting", "Running"}:
        story = moved_pods(past)
    elif phase == "Evicting":
        events = (recorded.event for recorded in reversed(past))
        story = next((each.message for each in events if isinstance(each, WorkloadEvicted)), "")
    return f"{found.sentence} {story}".rstrip()


def _history(
    services: ApplicationServices, past: Sequence[Recorded], scope: NamespaceScope, most: int
) -> list[ReasonThen]:
    """Why it waited, reason after reason, the latest last."""
    hide = services.redaction.redacted
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
            sentence=hide(explanation.sentence, scope),
        )
        for recorded, explanation in told[max(len(told) - most, 0) :]
    ]


def explanation_of(cell: Cell, workload: Workload, at: Instant) -> Explanation:
    """The explanation that holds, as it was recorded where the scheduler looked."""
    return _stated(workload) or _waiting(recorded_reason(cell, workload, at))


def fresh_explanation(cell: Cell, workload: Workload, at: Instant) -> Explanation:
    """The same with the numbers of this moment."""
    return _stated(workload) or _waiting(current_reason(cell, workload, at))


def _stated(workload: Workload) -> Explanation | None:
    phase = phase_of(workload)
    if phase not in STATED:
        return None
    dominant, sentence = STATED[phase]
    if workload.unhealthy_nodes and phase in {"Starting", "Running"}:
        lost = ", ".join(f"{host} ({why})" for host, why in workload.unhealthy_nodes.items())
        dominant = "HostsFailed"
        sentence = f"It is admitted; other hosts are sought for its pods on {lost}."
    elif workload.pod_evictions and phase in {"Starting", "Running"}:
        going = evicting_pods(workload.pod_evictions)
        pods = ", ".join(f"{count} of {name}" for name, count in going.items())
        sentence = f"It is admitted and gives up pods, {pods}; the others go on."
    return Explanation(dominant=dominant, sentence=sentence, evaluated=False)


def _waiting(found: Explanation | None) -> Explanation:
    assert found is not None, "what neither runs nor has ended waits, and for a reason"
    return found


def _attempt(last: Recorded | None) -> Attempt | None:
    if last is None:
        return None
    return Attempt(position=last.position, time=timestamp(last.at), cycle=last.origin.correlation)


def blocker_view(
    services: ApplicationServices, blocker: Blocker, scope: NamespaceScope
) -> BlockerView:
    """One thing in the way, as someone may see it."""
    hide = services.redaction.redacted
    return BlockerView(
        type=blocker.type,
        reason=blocker.reason,
        message=hide(blocker.message, scope),
        pod_set=blocker.pod_set,
        flavor=blocker.flavor,
        resource=blocker.resource,
        level=blocker.level,
        domain=blocker.domain,
        need=blocker.need,
        have=blocker.have,
        short_by=blocker.short_by,
        held_by=hide(list(blocker.held_by), scope),
        refused=[
            {"workload": hide(refused.workload, scope), "rule": refused.rule}
            for refused in blocker.refused
        ],
        excluded_hosts=blocker.excluded_hosts,
    )


def position_of(cell: Cell, workload: Workload) -> Cooperative[QueuePosition | None]:
    """Its place in line, if it waits in one."""
    name = cluster_queue_of(cell.config, workload)
    line: PendingOrder = pending_order(cell, name)
    place = line.place(workload.key)
    if place is None:
        return None
    together = yield from pending_order_of_tree(cell, name)
    return QueuePosition(
        cluster_queue=place,
        local_queue=line.place_in_local_queue(cell, workload.key),
        cohort=together.index(workload.key) + 1,
        of=len(line.keys),
    )
