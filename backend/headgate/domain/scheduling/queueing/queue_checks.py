"""The checks whether queues are active and workloads may compete in them (queueing.md §6).

The condition QuotaReserved of a workload that is kept out follows from them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_activity import inactive_reasons, stopped_message
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, WorkloadUid, message, workload_reference
from headgate.domain.values.selectors import LabelSelector, matches_selector
from headgate.domain.workloads.pods.limit_ranges import limit_range_bounds, pod_limit_violations
from headgate.domain.workloads.specs import admission_gates
from headgate.domain.workloads.state import Condition, Hold, Workload, condition, is_admitted

MISCONFIGURED = frozenset(
    {
        "NoQueue",
        "LocalQueueDoesNotExist",
        "LocalQueueTerminating",
        "ClusterQueueDoesNotExist",
        "Terminating",
        "NamespaceMismatch",
        "OutsideLimitRange",
    }
)
"""Failed checks for which QuotaReserved is Misconfigured; for all others it is Suspended."""
OVER_ONCE_ALLOWED = frozenset({"Deactivated", "Suspended", "OnHold", "AdmissionGated"})
"""Recorded reasons of QuotaReserved that say nothing once a workload may compete again."""
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
SELECTS_ALL = LabelSelector()


@dataclass(frozen=True, slots=True)
class QueueCheckFailure:
    """What keeps a queue or a workload out: a CamelCase word, and its message with a remedy."""

    reason: str
    message: Message


def local_queue_of(config: ObjectSet, workload: Workload) -> Configured[LocalQueueSpec] | None:
    """Returns the LocalQueue that a workload was submitted to; None if it is absent."""
    return config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")


def cluster_queue_of(config: ObjectSet, workload: Workload) -> str:
    """Returns the ClusterQueue of a workload's admission or LocalQueue; empty if none."""
    if workload.admission is not None and workload.finished_at is None:
        return workload.admission.cluster_queue
    local = local_queue_of(config, workload)
    return local.spec.cluster_queue if local else ""


def pods_ready_rules(config: ObjectSet, cluster_queue: str) -> WaitForPodsReady | None:
    """Returns the waitForPodsReady rules of a queue, or else of the installation."""
    queue = config.cluster_queues.get(cluster_queue)
    own = queue.spec.wait_for_pods_ready if queue else None
    return own or config.configuration.wait_for_pods_ready


def effective_spec(config: ObjectSet, cluster_queue: str) -> ClusterQueueSpec:
    """Returns a ClusterQueue's spec with the defaults of the installation."""
    spec = config.cluster_queues[cluster_queue].spec
    rules = pods_ready_rules(config, cluster_queue)
    return spec if rules is spec.wait_for_pods_ready else replace(spec, wait_for_pods_ready=rules)


def check_cluster_queue(config: ObjectSet, name: str) -> QueueCheckFailure | None:
    """Returns why a ClusterQueue is inactive, as its Active condition says."""
    queue = config.cluster_queues.get(name)
    if queue is None:
        missing = message("QueueMissing", kind="ClusterQueue", name=name)
        return QueueCheckFailure("ClusterQueueDoesNotExist", missing)
    for fault in inactive_reasons(config, queue):
        return QueueCheckFailure(fault.reason, fault.message)
    return None


def check_local_queue(config: ObjectSet, workload: Workload) -> QueueCheckFailure | None:
    """Returns why the LocalQueue of a workload keeps it from competing; None if it does not."""
    name = workload.spec.queue_name
    if not name:
        return QueueCheckFailure("NoQueue", message("NoQueue", namespace=workload.namespace))
    local = local_queue_of(config, workload)
    if local is None:
        missing = message(
            "QueueMissing", kind="LocalQueue", name=name, namespace=workload.namespace
        )
        return QueueCheckFailure("LocalQueueDoesNotExist", missing)
    if local.terminating_at is not None:
        terminating = message("QueueTerminating", kind="LocalQueue", name=name)
        return QueueCheckFailure("LocalQueueTerminating", terminating)
    if local.spec.stop_policy != "None":
        stopped = stopped_message("LocalQueue", name, local.spec)
        return QueueCheckFailure("LocalQueueStopped", stopped)
    return None


def check_queues(config: ObjectSet, workload: Workload) -> QueueCheckFailure | None:
    """Returns why the queues of a workload keep it from competing; None if they do not."""
    found = check_local_queue(config, workload)
    if found is not None:
        return found
    cluster_queue = cluster_queue_of(config, workload)
    return (
        check_cluster_queue(config, cluster_queue)
        or check_namespace(config, workload, config.cluster_queues[cluster_queue].spec)
        or _check_orphans(config, workload)
    )


def orphaned_workloads(config: ObjectSet) -> frozenset[WorkloadUid]:
    """The workloads of which pods run that belong to events which the log has lost, by uid."""
    return frozenset(
        pod.uid for executor in config.executors.values() for pod in executor.spec.orphans
    )


def _check_orphans(config: ObjectSet, workload: Workload) -> QueueCheckFailure | None:
    """Why a workload must not start: pods of it run already, which it may only adopt."""
    found = [
        pod
        for executor in config.executors.values()
        for pod in executor.spec.orphans
        if pod.uid == workload.uid
    ]
    if not found:
        return None
    nodes = tuple(sorted({pod.node for pod in found}))
    runs = message(
        "RunsAsOrphans", pods=len(found), nodes=nodes, workload=workload_reference(workload.key)
    )
    return QueueCheckFailure("OrphanedPods", runs)


def check_namespace(
    config: ObjectSet, workload: Workload, spec: ClusterQueueSpec
) -> QueueCheckFailure | None:
    """Why the ClusterQueue with this spec takes nothing from the namespace of a workload.

    Or why the namespace does not let it: its LimitRange became tighter after it was submitted.
    """
    selector = spec.namespace_selector
    if selector == SELECTS_ALL or matches_selector(
        namespace_labels(config, workload.namespace), selector
    ):
        return _check_limit_range(config, workload) if config.limit_ranges else None
    queue = cluster_queue_of(config, workload)
    mismatch = message("NamespaceNotSelected", cluster_queue=queue, namespace=workload.namespace)
    return QueueCheckFailure("NamespaceMismatch", mismatch)


def expiring_stops(config: ObjectSet) -> Iterator[tuple[Instant, str, str]]:
    """Yields stops that expire: instant, stream of the queue, and ClusterQueue concerned."""
    for name, queue in sorted(config.cluster_queues.items()):
        if queue.spec.stop is not None and queue.spec.stop.expires_at is not None:
            yield queue.spec.stop.expires_at, f"clusterqueue/{name}", name
    for key, local in sorted(config.local_queues.items()):
        if local.spec.stop is not None and local.spec.stop.expires_at is not None:
            yield local.spec.stop.expires_at, f"localqueue/{key}", local.spec.cluster_queue


def namespace_labels(config: ObjectSet, namespace: str) -> dict[str, str]:
    """Returns the labels of a namespace with its name among them, as in Kubernetes."""
    found = config.namespaces.get(namespace)
    return {NAMESPACE_NAME_LABEL: namespace, **(found.labels if found else {})}


def _check_limit_range(config: ObjectSet, workload: Workload) -> QueueCheckFailure | None:
    prefix = f"{workload.namespace}/"
    newer = any(
        found.generation > 1 or found.created_at >= workload.created_at
        for key, found in config.limit_ranges.items()
        if key.startswith(prefix)
    )
    if not newer:
        return None  # It was held to them when it was submitted.
    bounds = limit_range_bounds(config.limit_ranges, workload.namespace)
    broken = pod_limit_violations(workload.spec, bounds)
    if not broken:
        return None
    rule = broken[0].message
    return QueueCheckFailure("OutsideLimitRange", message("OutsideLimitRange", rule=rule))


def missing_queue(config: ObjectSet, workload: Workload) -> Message | None:
    """Which queue of a reservation without an admission is terminating or missing; None if none is.

    An admitted workload keeps its quota (queueing.md §6, trap Q30).
    """
    if workload.admission is None or is_admitted(workload):
        return None
    local = local_queue_of(config, workload)
    if local is None or local.terminating_at is not None:
        return message("LocalQueueUnavailable", queue=workload.spec.queue_name)
    queue = config.cluster_queues.get(workload.admission.cluster_queue)
    if queue is None or queue.terminating_at is not None:
        return message("ClusterQueueUnavailable", queue=workload.admission.cluster_queue)
    return None


def unreserved_condition(config: ObjectSet, workload: Workload) -> Condition | None:
    """The condition QuotaReserved of a workload that is kept from evaluation, as objects stand now.

    None where the recorded condition holds: quota is reserved, the workload has ended, or the
    scheduler said why (Kueue: `syncQuotaReservedFalseCondition`). Its time is that of the recorded
    condition, as the status is False in both, or else of the submission.
    """
    if workload.admission is not None or workload.finished_at is not None:
        return None
    known = condition(workload, "QuotaReserved")
    found = _kept_from_evaluation(config, workload)
    if found is None:
        if known is None or workload.explanation is not None:
            return None
        if known.reason not in OVER_ONCE_ALLOWED:
            return None
        found = QueueCheckFailure("PendingEvaluation", message("NotEvaluatedYet", ahead=None))
    return Condition(
        type="QuotaReserved",
        status=False,
        reason=found.reason,
        message=found.message,
        last_transition_at=workload.created_at if known is None else known.last_transition_at,
        observed_generation=workload.generation,
    )


def _kept_from_evaluation(config: ObjectSet, workload: Workload) -> QueueCheckFailure | None:
    """What keeps a workload from any evaluation, as Kueue's reason of QuotaReserved.

    In Kueue's order: deactivation, hold, queues and namespace, admission gates.
    """
    if not workload.spec.active:
        return QueueCheckFailure("Deactivated", deactivated_message(workload))
    if workload.hold is not None:
        return QueueCheckFailure("OnHold", on_hold_message(workload.hold))
    failed = check_queues(config, workload)
    if failed is not None:
        reason = "Misconfigured" if failed.reason in MISCONFIGURED else "Suspended"
        return QueueCheckFailure(reason, failed.message)
    gates = admission_gates(workload.annotations)
    return QueueCheckFailure("AdmissionGated", gated_message(gates)) if gates else None


def deactivated_message(workload: Workload) -> Message:
    """That a workload is inactive, and why it became so."""
    last = condition(workload, "Requeued")
    return message("Deactivated", why=last.message if last is not None else "")


def on_hold_message(hold: Hold) -> Message:
    """That a hold keeps a workload from admission: of which owner, until when and why."""
    return message("OnHold", owner=hold.owner, until=hold.expires_at, why=hold.reason)


def gated_message(gates: tuple[str, ...]) -> Message:
    """That admission gates keep a workload from admission."""
    return message("WaitingForAdmissionGates", gates=gates)
