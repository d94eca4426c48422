"""Texts of what happened to a workload: evictions, preemptions, requeues, conditions."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # Evictions, and releases of reservations
    "PreemptedBy": Text("Preempted by {preemptor} (priority {priority})"),
    "PreemptedToAccommodate": Text(
        "Preempted to accommodate a workload (UID: {uid:uid}, JobUID: {job_uid:uid}) due to {rule};"
        " preemptor path: {path}; preemptee path: {victim_path}"
    ),
    "ClusterQueueIsStopped": Text("The ClusterQueue is stopped"),
    "LocalQueueIsStopped": Text("The LocalQueue is stopped"),
    "ClusterQueueUnavailable": Text("ClusterQueue {queue} is terminating or missing"),
    "LocalQueueUnavailable": Text("LocalQueue {queue} is terminating or missing"),
    "RequeueRequested": Text("Requeue requested"),
    "DeletionRequested": Text("Deletion requested"),
    "CancellationRequested": Text("Cancellation requested"),
    "WorkloadDeactivated": Text("The workload is deactivated"),
    "PodsNotReadyInTime": Text("Pods not ready within {limit:duration}"),
    "PodsNotReadyAfterAttempts": Text("Pods not ready in time after {attempts:attempt}"),
    "PodsNotReadyOverAllAttempts": Text("Pods not ready within {limit:duration} over all attempts"),
    "ExecutionTimeReached": Text("Maximum execution time of {limit:duration} reached"),
    "FailedHostsNotReplaced": Text(
        "No replacement found for failed hosts {hosts:all}[: {shortfall:lower}]"
    ),
    "FailedHost": Text("{host} ({reason})"),
    "RejectedByAdmissionCheck": Text("Rejected by admission check {check}[: {report}]"),
    "AdmissionCheckRequestedRetry": Text("Admission check {check} requested retry[: {report}]"),
    "SeveralAdmissionChecks": Text("{checks:all}"),
    # The course of an eviction
    "NotStoppedInTime": Text("Not stopped in time"),
    "NotAcknowledgedInTime": Text("Not acknowledged in time"),
    # Ends
    "WorkloadCancelled": Text("Cancelled"),
    "CancelledWhileRunning": Text("Cancelled while running"),
    "ReplacedBySlice": Text("Replaced by workload slice {slice}"),
    "PodSetUpdateContradictsPods": Text(
        "Admission check {check} and the pods want different values of {field} {key} of pod set"
        " {pod_set}: {value} and {other}"
    ),
    "PodSetUpdatesContradict": Text(
        "Admission check {check} and another check want different values of {field} {key} of"
        " pod set {pod_set}: {value} and {other}"
    ),
    # Other conditions
    "QuotaReservedInClusterQueue": Text("Quota reserved in ClusterQueue {queue}"),
    "AdmittedByClusterQueue": Text("Admitted by ClusterQueue {queue}"),
    "NotAllPodsReady": Text("Not all pods are ready"),
    "AllPodsReady": Text("All pods are ready or succeeded"),
    "PodsStopped": Text("All pods have stopped"),
    "NoReservation": Text("The workload has no quota reservation"),
    "WorkloadRequeued": Text("The workload is requeued"),
    "WorkloadActivated": Text("The workload is activated"),
    "Previously": Text("Previously: {message}"),
    "PreemptionGatesClosed": Text("Preemption is blocked until these gates open: {gates:all}"),
    "PrioritiesDiffer": Text(
        "Priority {priority} of the workload applies to all its pods; {pod_sets:all}"
    ),
    "PodSetPriority": Text("{pod_set} has {priority}"),
}
