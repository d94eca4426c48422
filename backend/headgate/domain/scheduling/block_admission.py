"""`blockAdmission`: nobody starts while pods of those who started before are not ready yet.

The rule holds for the whole installation (queueing.md §5.6). Only admission waits, never the worker
that plans it, and each look is at the state as it is, so that nothing is admitted on a stale one
(trap T25).
"""

from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.due.checks import admission_events
from headgate.domain.scheduling.due.timers import needs_attention
from headgate.domain.scheduling.evaluation.evaluate import Evaluation
from headgate.domain.scheduling.second_pass import second_pass_order
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.predicates import has_quota_reservation

MAX_NAMED = 5


def is_admission_blocked(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether what fits is held back; who has his quota already is exempt (second pass)."""
    return bool(cycle.cell.partitioning.blocking) and not has_quota_reservation(evaluation.workload)


def admit_unblocked(cycle: CycleContext) -> None:
    """Start who has quota and all its checks, as long as nobody's pods are waited for.

    So nobody starts beside another also where checks come between reservation and start.
    """
    found = cycle.cell.partitioning
    mine = [key for key, home in found.startable.items() if home == cycle.key]
    for workload in second_pass_order(cycle.cell.workloads[key] for key in mine):
        stream = workload_stream(workload.key)
        if found.blocking:
            return
        if stream not in cycle.cell.set_aside and not needs_attention(cycle.cell.config, workload):
            cycle.decide(*((stream, event) for event in admission_events(workload, cycle.at)))


def record_blocked(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Let it wait until all pods are ready, and record why if that is news."""
    workload = evaluation.workload
    explanation = blocked_reason(tuple(cycle.cell.partitioning.blocking))
    known = workload.explanation
    if known is None or known.fingerprint != explanation.fingerprint:
        cycle.decide((workload_stream(workload.key), WorkloadExplained(explanation=explanation)))


def blocked_reason(blocking: tuple[str, ...]) -> Explanation:
    """Why what fits does not start: the pods of these are not ready."""
    named = tuple(sorted(blocking))[:MAX_NAMED]
    more = len(blocking) - len(named)
    who = ", ".join(named) + (f" and {more} more" if more else "")
    sentence = f"It fits, and starts once the pods of those admitted before are ready: {who}"
    blocker = Blocker(type="Order", reason="WaitingForPodsReady", message=sentence, held_by=named)
    return Explanation(
        dominant="WaitingForPodsReady",
        sentence=sentence,
        blockers=(blocker,),
        would_unblock=tuple(f"the pods of {name} are ready" for name in named),
    )
