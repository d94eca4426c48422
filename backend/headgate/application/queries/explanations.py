"""Why a workload waits: as the scheduler recorded it, or derived where it had no need to look."""

from headgate.application.installation import Installation
from headgate.application.queries.lines import Line, line_of
from headgate.application.queries.views import timestamp, timestamp_or_none
from headgate.application.queries.workload_views import (
    AsOf,
    BlockerView,
    ExplanationView,
    QueuePosition,
)
from headgate.application.visibility import Scope
from headgate.domain.cell import Cell
from headgate.domain.scheduling.standing import cluster_queue_of, queue_obstacle
from headgate.domain.workloads.explanation import Blocker, BlockerType, Explanation
from headgate.domain.workloads.state import Phase, Workload, phase_of

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


def explanation_view(
    installation: Installation, workload: Workload, scope: Scope
) -> ExplanationView:
    """Everything known of why it stands where it stands, as someone may see it."""
    cell = installation.reader.cell
    found = explanation_of(cell, workload)
    hide = installation.tenants.redacted
    phase = phase_of(workload)
    return ExplanationView(
        workload=workload.key,
        as_of=AsOf(position=cell.position, time=timestamp(installation.clock.now())),
        phase=phase,
        verdict=VERDICTS.get(phase, "Waiting"),  # type: ignore[arg-type]
        dominant=found.dominant,
        sentence=hide(found.sentence, scope),
        evaluated=found.evaluated,
        unchanged_since=_unchanged_since(workload, found),
        blockers=[_blocker(installation, blocker, scope) for blocker in found.blockers],
        would_unblock=hide(list(found.would_unblock), scope),
        position=_position(cell, workload),
    )


def explanation_of(cell: Cell, workload: Workload) -> Explanation:
    """The explanation that holds now: what keeps it out before it is looked at comes first."""
    phase = phase_of(workload)
    if phase in STATED:
        dominant, sentence = STATED[phase]
        return Explanation(dominant=dominant, sentence=sentence, evaluated=False)
    return (
        _before_its_turn(cell, workload, phase) or workload.explanation or _in_line(cell, workload)
    )


def _before_its_turn(cell: Cell, workload: Workload, phase: Phase) -> Explanation | None:
    if phase == "Inactive":
        sentence = "It is inactive until somebody activates it."
        return _unevaluated("Hold", "Inactive", sentence, "Activate it")
    if phase == "QuotaReserved":
        checks = ", ".join(workload.checks)
        sentence = f"Its quota is reserved; it waits for its admission checks: {checks}."
        return _unevaluated("AdmissionCheck", "ChecksPending", sentence, "The checks become ready")
    if workload.hold is not None:
        hold = workload.hold
        until = f" until {timestamp(hold.expires_at)}" if hold.expires_at else ""
        sentence = f"It is held by {hold.owner}{until}: {hold.reason}"
        return _unevaluated("Hold", "Held", sentence, f"{hold.owner} releases it")
    if workload.requeue.requeue_at is not None:
        when = timestamp(workload.requeue.requeue_at)
        sentence = f"It backs off until {when} after {workload.requeue.count} failed starts."
        return _unevaluated("Backoff", "BackingOff", sentence, f"The backoff ends at {when}")
    obstacle = queue_obstacle(cell.config, workload)
    if obstacle is None:
        return None
    return _unevaluated("Queue", obstacle.reason, obstacle.message, "The queue lets it through")


def _in_line(cell: Cell, workload: Workload) -> Explanation:
    line = line_of(cell, cluster_queue_of(cell.config, workload))
    before = line.before(workload.key)
    if line.strict and before:
        sentence = f"Its queue is StrictFIFO and {before[0]} is first."
        return _unevaluated("Order", "BehindStrictHead", sentence, f"{before[0]} is admitted")
    if not before:
        sentence = "It is first in its queue and about to be looked at."
        return _unevaluated("Order", "NotYetEvaluated", sentence, "Its turn comes")
    sentence = f"{len(before)} workloads are before it; it has not been looked at yet."
    return _unevaluated("Order", "NotYetEvaluated", sentence, "Its turn comes")


def _unevaluated(kind: BlockerType, reason: str, sentence: str, help_: str) -> Explanation:
    blocker = Blocker(type=kind, reason=reason, message=sentence)
    return Explanation(
        dominant=reason,
        sentence=sentence,
        evaluated=False,
        blockers=(blocker,),
        would_unblock=(help_,),
    )


def _unchanged_since(workload: Workload, found: Explanation) -> str | None:
    return timestamp_or_none(workload.explained_at) if found is workload.explanation else None


def _blocker(installation: Installation, blocker: Blocker, scope: Scope) -> BlockerView:
    hide = installation.tenants.redacted
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


def _position(cell: Cell, workload: Workload) -> QueuePosition | None:
    line: Line = line_of(cell, cluster_queue_of(cell.config, workload))
    place = line.place(workload.key)
    if place is None:
        return None
    return QueuePosition(
        cluster_queue=place,
        local_queue=line.place_in_local_queue(cell, workload.key),
        of=len(line.keys),
    )
