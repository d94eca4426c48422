"""Why a workload is pending, also where no evaluation was needed: held, in backoff, behind another.

A recorded reason is returned as recorded; `current_reason` evaluates the workload again.
"""

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.rounds.state import oldest_first
from headgate.domain.scheduling.admission import blocked_reason
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.evaluation.evaluation_summary import (
    explain_evaluation,
    unreached_flavors,
)
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.lifecycle.pods_ready import waits_for_pods_ready
from headgate.domain.scheduling.local_queue_ranking import local_queue_ranks
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.queueing.queue_checks import check_queues, cluster_queue_of
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.start import rate_limited_reason, rate_limited_until
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.admission import awaits_topology
from headgate.domain.workloads.explanation import Blocker, BlockerType, Explanation
from headgate.domain.workloads.predicates import (
    closed_preemption_gates,
    has_quota_reservation,
    is_admissible,
)
from headgate.domain.workloads.specs import admission_gates
from headgate.domain.workloads.state import Workload, condition, is_admitted
from headgate.domain.workloads.transitions.admission_checks import check_state_of


def recorded_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> Explanation | None:
    """The pending reason as far as it is recorded; None for a workload that is not pending.

    `evaluated` tells whether the scheduler evaluated this very workload.
    """
    if workload.finished_at is not None or is_admitted(workload) or workload.eviction is not None:
        return None
    return (
        _blocked_admission_reason(cluster_state, workload)
        or _admission_check_reason(workload)
        or _workload_reason(cluster_state, workload, at)
        or _queue_reason(cluster_state, workload)
        or _heap_reason(cluster_state, workload, at)
    )


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
    evaluation = evaluate(partition, cluster_state.workloads, workload)
    kept_out = _workload_reason(cluster_state, workload, at) or _order_reason(
        cluster_state, workload, at
    )
    if evaluation.mode in {Mode.FIT, Mode.PREEMPT}:
        return kept_out or _about_to_be_decided(cluster_state, workload, known, evaluation, at)
    if evaluation.lost_nomination:
        return kept_out or _nomination_lost()
    fresh = _with_unreached_flavors(partition, cluster_state, evaluation)
    if kept_out is None:
        return replace(fresh, evaluated=known.evaluated)
    return replace(kept_out, blockers=(*kept_out.blockers, *fresh.blockers))


def evaluated_reason(cluster_state: ClusterState, workload: Workload) -> Explanation | None:
    """What a fresh evaluation finds in the way of a pending workload, in any queue order.

    None if the workload could start, or preemption could make it fit.
    """
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    evaluation = evaluate(partition, cluster_state.workloads, workload)
    if evaluation.mode in {Mode.FIT, Mode.PREEMPT} or evaluation.lost_nomination:
        return None
    return _with_unreached_flavors(partition, cluster_state, evaluation)


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
        told = rate_limited_reason(cluster_state, found.cluster_queue)
        return replace(told, sentence=f"{told.sentence}; the next may start in {_in(later, at)}")
    if known.dominant in {"PendingEvaluation", "RoundDraining"}:
        return known
    return _about_to_start(found.mode)


def _about_to_start(mode: Mode) -> Explanation:
    """The reason while a recorded one holds no longer and the next evaluation decides."""
    what = "It fits now" if mode is Mode.FIT else "Others can make room for it now"
    return _unevaluated("Order", "PendingEvaluation", f"{what}; it is looked at in its turn")


def _nomination_lost() -> Explanation:
    """The reason until the round is invalidated and the workload is nominated anew."""
    sentence = "The place that was kept for it has gone to another; it is looked at again in turn"
    return _unevaluated("Round", "PendingEvaluation", sentence)


def _unevaluated(
    kind: BlockerType, reason: str, sentence: str, *helps: str, held_by: tuple[str, ...] = ()
) -> Explanation:
    blocker = Blocker(type=kind, reason=reason, message=sentence, held_by=held_by)
    return Explanation(
        dominant=reason,
        sentence=sentence,
        evaluated=False,
        blockers=(blocker,),
        would_unblock=helps,
    )


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
    told = ((name, check_state_of(workload, name)) for name in workload.checks)
    awaited = ", ".join(
        f"{name} ({check.message})" if check.message else name
        for name, check in told
        if check.state != "Ready"
    )
    if not awaited and workload.admission is not None and awaits_topology(workload.admission):
        return _unevaluated(
            "Topology",
            "PendingDelayedTopologyRequests",
            "Its quota is reserved and its checks agree; no hosts have room for its pods yet",
            "hosts of its flavors that have room",
        )
    sentence = f"Its quota is reserved; it waits for admission checks: {awaited}"
    if not awaited:
        sentence = "Its quota is reserved and all its checks are ready; it is about to be admitted"
    return _unevaluated("AdmissionCheck", "UnsatisfiedAdmissionChecks", sentence)


def _workload_reason(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> Explanation | None:
    stream = workload_stream(workload.key)
    if stream in cluster_state.quarantined:
        sentence = (
            f"It was set aside because it cannot be judged: {cluster_state.quarantined[stream]}"
        )
        return _unevaluated("Hold", "SetAside", sentence, "change or resubmit it")
    if workload.terminating_at is not None or workload.cancelling_at is not None:
        return _unevaluated("Hold", "Ending", "It is about to end")
    if not workload.spec.active:
        return _deactivation_reason(workload)
    if workload.hold is not None:
        hold = workload.hold
        until = f" for {_in(hold.expires_at, at)} more" if hold.expires_at else ""
        sentence = f"{hold.owner} holds it{until}: {hold.reason}"
        return _unevaluated("Hold", "OnHold", sentence, "release it", held_by=(hold.owner,))
    gates = admission_gates(workload.annotations)
    if gates:
        sentence = f"It waits until its admission gates are opened: {', '.join(gates)}"
        return _unevaluated("Hold", "AdmissionGated", sentence, f"{gates[0]} is removed")
    if workload.requeue.requeue_at is not None:
        return _backoff_reason(cluster_state, workload, workload.requeue.requeue_at, at)
    return None


def _deactivation_reason(workload: Workload) -> Explanation:
    last = condition(workload, "Requeued")
    found = last.message if last is not None else ""
    message = found if isinstance(found, str) else found.code
    if message.startswith(("It ", "Its ")):
        message = "i" + message[1:]
    told = f": {message}" if message else ""
    return _unevaluated("Hold", "Deactivated", f"It is inactive{told}", "activate it")


def _backoff_reason(
    cluster_state: ClusterState, workload: Workload, until: Instant, at: Instant
) -> Explanation:
    requeued = condition(workload, "Requeued")
    if requeued is not None and requeued.reason == "AdmissionCheck":
        sentence = f"Its admission checks want another try in {_in(until, at)}"
        return _unevaluated("Backoff", "BackingOff", sentence, "requeue it")
    waits = waits_for_pods_ready(cluster_state.config, workload)
    limit = waits.requeuing_strategy.backoff_limit_count if waits else None
    of = f" of {limit}" if limit is not None else ""
    sentence = f"It backs off for {_in(until, at)} more before attempt {workload.requeue.count}{of}"
    return _unevaluated("Backoff", "BackingOff", sentence, "requeue it")


def _queue_reason(cluster_state: ClusterState, workload: Workload) -> Explanation | None:
    found = check_queues(cluster_state.config, workload)
    if found is None:
        return None
    return _unevaluated("Queue", found.reason, found.message, found.remedy)


def _heap_reason(cluster_state: ClusterState, workload: Workload, at: Instant) -> Explanation:
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    name = cluster_queue_of(cluster_state.config, workload)
    queue, ranks = partition.pending[name], local_queue_ranks(cluster_state, name, at)
    if not is_admissible(workload) or workload.key not in queue.in_heap:
        return _unevaluated("Order", "Requeueing", "It is about to be put back into its queue")
    if workload.explanation is not None:
        return workload.explanation
    return (
        _behind_strict_fifo_head(cluster_state, queue, queue.first(ranks), workload)
        or _equivalent_reason(cluster_state, queue, workload)
        or _pending_evaluation(partition, queue.in_order(ranks), workload, at)
    )


def _behind_strict_fifo_head(
    cluster_state: ClusterState, queue: PendingQueue, first: str | None, workload: Workload
) -> Explanation | None:
    if not queue.strict or first is None or first == workload.key:
        return None
    head = cluster_state.workloads[first]
    because = f", which waits: {head.explanation.sentence}" if head.explanation else ""
    sentence = f"Its queue is strict and starts {first} before it{because}"
    return _unevaluated("Order", "BehindHead", sentence, f"{first} starts", held_by=(first,))


def _equivalent_reason(
    cluster_state: ClusterState, queue: PendingQueue, workload: Workload
) -> Explanation | None:
    other = queue.explained_equivalent(workload.key)
    known = cluster_state.workloads[other].explanation if other else None
    if known is None:
        return None
    sentence = f"{known.sentence} (found for {other}, which asks for the same)"
    return replace(known, sentence=sentence, evaluated=False)


def _pending_evaluation(
    partition: Partition, line: tuple[str, ...], workload: Workload, at: Instant
) -> Explanation:
    if partition.rounds:
        making_room = oldest_first(partition.rounds.values())[0].preemptor
        sentence = f"It has not been looked at yet; room is being made for {making_room}"
        return _unevaluated("Round", "RoundDraining", sentence, held_by=(making_room,))
    place = line.index(workload.key)
    ahead = f"; {place} are before it" if place else ""
    waited = max(0, at - workload.created_at) // MICROSECONDS_PER_SECOND
    sentence = f"It was submitted {waited} s ago and has not been looked at yet{ahead}"
    return _unevaluated("Order", "PendingEvaluation", sentence)


def _in(until: Instant, at: Instant) -> str:
    seconds = max(0, until - at) // MICROSECONDS_PER_SECOND
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
