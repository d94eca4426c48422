"""Why a workload is pending, also where no evaluation was needed: held, in backoff, behind another.

A recorded reason is returned as recorded; `current_reason` evaluates the workload again.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rounds.state import oldest_first
from headgate.domain.scheduling.admission import blocked_reason
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.evaluation.evaluation_summary import (
    explain_evaluation,
    unreached_flavors,
)
from headgate.domain.scheduling.evaluation.unschedulable import (
    before_evaluation,
    unschedulable_reason,
    unschedulable_verdict,
)
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks
from headgate.domain.scheduling.lifecycle.pods_ready import (
    waiting_for_scheduling,
    waits_for_pods_ready,
)
from headgate.domain.scheduling.ordering.pending_places import Ranks
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.partition.partition import Partition, UnschedulableKey
from headgate.domain.scheduling.queueing.queue_checks import (
    check_queues,
    cluster_queue_of,
    deactivated_message,
    gated_message,
    on_hold_message,
    unreserved_condition,
)
from headgate.domain.scheduling.reconcile import executors_to_report
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.start import rate_limited_reason, rate_limited_until
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workloads.admission import awaits_topology
from headgate.domain.workloads.explanation import Blocker, BlockerType, Explanation
from headgate.domain.workloads.predicates import (
    closed_preemption_gates,
    has_quota_reservation,
    is_admissible,
)
from headgate.domain.workloads.specs import admission_gates
from headgate.domain.workloads.state import Condition, Workload, condition, is_admitted
from headgate.domain.workloads.transitions.admission_checks import check_state_of


@dataclass(frozen=True, slots=True)
class SharedReasons:
    """What the reasons of many workloads at one state and instant share, each found once.

    `verdicts` are those of unschedulable workloads, with what is free now, by the verdict's key.
    """

    verdicts: dict[UnschedulableKey, Explanation] = field(default_factory=dict)


def recorded_reason(
    cluster_state: ClusterState,
    workload: Workload,
    at: Instant,
    shared: SharedReasons | None = None,
) -> Explanation | None:
    """The pending reason as far as it is recorded; None for a workload that is not pending.

    `evaluated` tells whether the scheduler evaluated this very workload. No workload is evaluated,
    but for the first of an equivalence class of which no verdict is known since the configuration
    or the nodes changed. Calls for many workloads at one state and instant take one `shared`.
    """
    if workload.finished_at is not None or is_admitted(workload) or workload.eviction is not None:
        return None
    return (
        _blocked_admission_reason(cluster_state, workload)
        or _admission_check_reason(workload)
        or _unreserved_reason(cluster_state, workload, at, shared or SharedReasons())
    )


def unschedulable(
    cluster_state: ClusterState, workload: Workload, shared: SharedReasons | None = None
) -> Explanation | None:
    """Why a workload can never start as the cluster is configured, with what is free now.

    None if it could start, and for a workload that has quota, ends or is quarantined.
    """
    if workload_stream(workload.key) in cluster_state.quarantined:
        return None
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    told = None if shared is None else shared.verdicts
    return unschedulable_reason(partition, cluster_state.config, workload, told)


def derived_conditions(config: ObjectSet, workload: Workload) -> tuple[Condition, ...]:
    """Those conditions of a workload that follow from other objects, and not from its own events.

    They stand in place of the recorded ones: QuotaReserved of a workload that is kept from any
    evaluation, and PodsReady while some of its pods are not scheduled.
    """
    found = (unreserved_condition(config, workload), waiting_for_scheduling(config, workload))
    return tuple(each for each in found if each is not None)


def _unreserved_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant, shared: SharedReasons
) -> Explanation:
    """The reason of a workload without quota: that it can never start before any other."""
    known = (
        _workload_reason(cluster_state, workload, at)
        or _queue_reason(cluster_state, workload)
        or _awaiting_reports(cluster_state, at)
        or _heap_reason(cluster_state, workload, at)
    )
    if known.is_unschedulable:
        return known
    never = unschedulable(cluster_state, workload, shared)
    if never is None:
        return known
    others = () if known.evaluated else known.blockers
    recorded = workload.explanation
    is_own = known.evaluated or (recorded is not None and recorded.is_unschedulable)
    return replace(never, evaluated=is_own, blockers=(*never.blockers, *others))


def current_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> Explanation | None:
    """The pending reason by a fresh evaluation, made whatever else keeps the workload pending.

    The blockers of that evaluation are added to a reason that stands before any evaluation.
    """
    known = recorded_reason(cluster_state, workload, at)
    if (
        known is None
        or workload_stream(workload.key) in cluster_state.quarantined
        or has_quota_reservation(workload)
    ):
        return known
    name = cluster_queue_of(cluster_state.config, workload)
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    if name not in partition.pending or check_queues(cluster_state.config, workload) is not None:
        return known
    kept_out = (
        _workload_reason(cluster_state, workload, at)
        or _awaiting_reports(cluster_state, at)
        or _order_reason(cluster_state, workload, at)
    )
    evaluation = evaluate(partition, cluster_state.workloads, workload)
    never = unschedulable(cluster_state, workload)
    if never is not None:
        fresh = _with_unreached_flavors(partition, cluster_state, evaluation)
        told = before_evaluation(never, fresh)
        others = kept_out.blockers if kept_out is not None else ()
        return replace(told, evaluated=known.evaluated, blockers=(*told.blockers, *others))
    if evaluation.mode in {Mode.FIT, Mode.PREEMPT}:
        return kept_out or _about_to_be_decided(cluster_state, workload, known, evaluation, at)
    if evaluation.lost_nomination:
        return kept_out or _unevaluated("Round", NOMINATION_LOST)
    fresh = _with_unreached_flavors(partition, cluster_state, evaluation)
    if kept_out is None:
        return replace(fresh, evaluated=known.evaluated)
    return replace(kept_out, blockers=(*kept_out.blockers, *fresh.blockers))


def _with_unreached_flavors(
    partition: Partition, cluster_state: ClusterState, evaluation: Evaluation
) -> Explanation:
    """The explanation with the flavors that the evaluation had no need to reach."""
    fresh = explain_evaluation(partition, cluster_state.workloads, evaluation)
    others = unreached_flavors(partition, evaluation)
    return replace(fresh, blockers=(*fresh.blockers, *others))


def _order_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> Explanation | None:
    """The reason of a workload behind the head of a strict queue, or not yet requeued."""
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    name = cluster_queue_of(cluster_state.config, workload)
    queue = partition.pending[name]
    if not is_admissible(workload) or workload.key not in queue.in_heap:
        return _heap_reason(cluster_state, workload, at)
    return _behind_strict_fifo_head(
        cluster_state, queue, queue.first(local_queue_ranks(cluster_state, name, at)), workload
    )


def _about_to_be_decided(
    cluster_state: ClusterState,
    workload: Workload,
    known: Explanation,
    found: Evaluation,
    at: Instant,
) -> Explanation:
    if (
        found.mode is Mode.PREEMPT
        and known.dominant == "AdmissionGated"
        and closed_preemption_gates(workload)
    ):
        return known
    later = rate_limited_until(cluster_state, found.cluster_queue, at)
    if found.mode is Mode.PREEMPT and later is not None:
        limited = rate_limited_reason(cluster_state, found.cluster_queue)
        (blocker,) = limited.blockers
        next_in = {**blocker.message.arguments, "next_in": _seconds(later, at)}
        return replace(limited, message=Message(blocker.message.code, next_in))
    if known.dominant in {"PendingEvaluation", "RoundDraining"}:
        return known
    return _unevaluated("Order", FITS_NOW if found.mode is Mode.FIT else CAN_PREEMPT_NOW)


FITS_NOW = message("FitsNow")
CAN_PREEMPT_NOW = message("CanPreemptNow")
"""While a recorded reason holds no longer and the next evaluation decides."""

NOMINATION_LOST = message("NominationLost")
"""Until the round is invalidated and the workload is nominated anew."""

REQUEUEING = message("AboutToBeRequeued")
TERMINATING = message("Terminating")
WAITING_FOR_HOSTS = message("WaitingForAssignment")
CHECKS_PASSED = message("ChecksPassed")


def _unevaluated(
    kind: BlockerType,
    found: Message,
    reason: str = "PendingEvaluation",
    held_by: tuple[str, ...] = (),
) -> Explanation:
    blocker = Blocker(type=kind, reason=reason, message=found, held_by=held_by)
    return Explanation(dominant=reason, evaluated=False, blockers=(blocker,))


def _blocked_admission_reason(
    cluster_state: ClusterState, workload: Workload
) -> Explanation | None:
    if (
        workload.key not in cluster_state.partition_index.startable
        or not cluster_state.partition_index.blocking
    ):
        return None
    return replace(blocked_reason(tuple(cluster_state.partition_index.blocking)), evaluated=False)


def _admission_check_reason(workload: Workload) -> Explanation | None:
    if not has_quota_reservation(workload):
        return None
    pending = tuple(
        name for name in workload.checks if check_state_of(workload, name).state != "Ready"
    )
    if pending:
        waiting = message("WaitingForChecks", checks=_check_arguments(workload, pending))
        return _unevaluated("AdmissionCheck", waiting, "UnsatisfiedAdmissionChecks")
    if workload.admission is not None and awaits_topology(workload.admission):
        return _unevaluated("Topology", WAITING_FOR_HOSTS, "PendingDelayedTopologyRequests")
    return _unevaluated("AdmissionCheck", CHECKS_PASSED, "UnsatisfiedAdmissionChecks")


def _check_arguments(workload: Workload, names: tuple[str, ...]) -> tuple[Message, ...]:
    """Each check with what it reported; the texts are those of its controller."""
    return tuple(
        message("CheckReport", check=name, report=check_state_of(workload, name).message)
        for name in names
    )


def _workload_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> Explanation | None:
    stream = workload_stream(workload.key)
    if stream in cluster_state.quarantined:
        error = cluster_state.quarantined[stream].arguments.get("error", "")
        skipped = message("SkippedAfterError", error=error)
        return _unevaluated("Hold", skipped, "Quarantined")
    if workload.terminating_at is not None or workload.cancelling_at is not None:
        return _unevaluated("Hold", TERMINATING, "Ending")
    if not workload.spec.active:
        return _unevaluated("Hold", deactivated_message(workload), "Deactivated")
    if workload.hold is not None:
        hold = workload.hold
        return _unevaluated("Hold", on_hold_message(hold), "OnHold", held_by=(hold.owner,))
    gates = admission_gates(workload.annotations)
    if gates:
        return _unevaluated("Hold", gated_message(gates), "AdmissionGated")
    if workload.requeue.requeue_at is not None:
        return _backoff_reason(cluster_state, workload, workload.requeue.requeue_at, at)
    return None


def _backoff_reason(
    cluster_state: ClusterState, workload: Workload, until: Instant, at: Instant
) -> Explanation:
    requeued, wait = condition(workload, "Requeued"), _seconds(until, at)
    if requeued is not None and requeued.reason == "AdmissionCheck":
        return _unevaluated("Backoff", message("CheckRetry", wait=wait), "BackingOff")
    waits = waits_for_pods_ready(cluster_state.config, workload)
    limit = waits.requeuing_strategy.backoff_limit_count if waits else None
    retry = message("RetryAfterBackoff", attempt=workload.requeue.count, limit=limit, wait=wait)
    return _unevaluated("Backoff", retry, "BackingOff")


def _queue_reason(cluster_state: ClusterState, workload: Workload) -> Explanation | None:
    found = check_queues(cluster_state.config, workload)
    return None if found is None else _unevaluated("Queue", found.message, found.reason)


def _awaiting_reports(cluster_state: ClusterState, at: Instant) -> Explanation | None:
    """While Executors have to report which pods run, after the log has lost events."""
    awaited = executors_to_report(cluster_state, at)
    if not awaited:
        return None
    wait = _seconds(max(awaited.values()), at)
    waiting = message("WaitingForExecutors", executors=tuple(awaited), wait=wait)
    return _unevaluated("Order", waiting, "WaitingForExecutors")


def _heap_reason(cluster_state: ClusterState, workload: Workload, at: Instant) -> Explanation:
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    name = cluster_queue_of(cluster_state.config, workload)
    queue, ranks = partition.pending[name], local_queue_ranks(cluster_state, name, at)
    if not is_admissible(workload) or workload.key not in queue.in_heap:
        return _unevaluated("Order", REQUEUEING, "Requeueing")
    found = workload.explanation
    if found is not None and not (found.is_unschedulable and _may_start_now(partition, workload)):
        return found
    return (
        _behind_strict_fifo_head(cluster_state, queue, queue.first(ranks), workload)
        or _equivalent_reason(cluster_state, queue, workload)
        or _round_reason(partition)
        or _unevaluated("Order", _not_evaluated_yet(queue, ranks, workload.key))
    )


def _may_start_now(partition: Partition, workload: Workload) -> bool:
    """Whether the configuration or the nodes changed so that a workload is not unschedulable."""
    return unschedulable_verdict(partition, workload) is None


def _behind_strict_fifo_head(
    cluster_state: ClusterState, queue: PendingQueue, first: str | None, workload: Workload
) -> Explanation | None:
    if not queue.strict or first is None or first == workload.key:
        return None
    found = cluster_state.workloads[first].explanation
    why = found.reason_message if found is not None else None
    behind = message("BehindHead", head=workload_reference(first), why=why)
    return _unevaluated("Order", behind, "BehindHead", held_by=(first,))


def _equivalent_reason(
    cluster_state: ClusterState, queue: PendingQueue, workload: Workload
) -> Explanation | None:
    other = queue.explained_equivalent(workload.key)
    known = cluster_state.workloads[other].explanation if other else None
    if other is None or known is None or known.is_unschedulable:
        return None
    same = message("SameRequest", found=known.reason_message, workload=workload_reference(other))
    return replace(known, message=same, evaluated=False)


def _round_reason(partition: Partition) -> Explanation | None:
    """The reason while the preemption of another workload is in progress."""
    if not partition.rounds:
        return None
    preemptor = oldest_first(partition.rounds.values())[0].preemptor
    draining = message("RoundDraining", preemptor=workload_reference(preemptor))
    return _unevaluated("Round", draining, "RoundDraining", held_by=(preemptor,))


def _not_evaluated_yet(queue: PendingQueue, ranks: Ranks, key: str) -> Message:
    return message(
        "NotEvaluatedYet", ahead=queue.places().order(ranks).ahead(queue.in_heap[key]) or None
    )


def _seconds(until: Instant, at: Instant) -> int:
    return max(0, until - at) // MICROSECONDS_PER_SECOND
