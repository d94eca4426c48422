"""Texts of what happened to a workload, and of what each rule of alerts looks for."""

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
    "PodsNotScheduledInTime": Text("Pods not started on their nodes within {limit:duration}"),
    "PodsNotReadyAfterAttempts": Text("Pods not ready in time after {attempts:attempt}"),
    "PodsNotReadyOverAllAttempts": Text("Pods not ready within {limit:duration} over all attempts"),
    "LevelOfNoTopology": Text(
        "Pod set {pod_set} asks for level {missing}, which no topology of ClusterQueue {queue} has:"
        " {levels:all}"
    ),
    "PodSetsWithoutLevel": Text(
        "Pod sets {asking:all} ask for a topology level, and {others:all} do not"
    ),
    "ExecutionTimeReached": Text("Maximum execution time of {limit:duration} reached"),
    "FailedHostsNotReplaced": Text(
        "No replacement found for failed hosts {hosts:all}[: {shortfall:lower}]"
    ),
    "HostFailure": Text("{host} ({reason})"),
    "RejectedByAdmissionCheck": Text("Rejected by admission check {check}[: {report}]"),
    "AdmissionCheckRequestedRetry": Text("Admission check {check} requested retry[: {report}]"),
    "SeveralAdmissionChecks": Text("{checks:all}"),
    # The course of an eviction
    "NotStoppedInTime": Text("Not stopped in time"),
    "KillRequested": Text("Kill requested"),
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
    "PodHasFailed": Text(
        "Pod {pod_set}-{index} failed[ on {node}]: {reason}[, exit code {exit_code}]"
    ),
    "WorkloadHasFailed": Text("The executor reported a failure"),
    "RetryLimitReached": Text("{failure}; the limit of {limit:retry} is reached"),
    "TooManyIndexesFailed": Text("{failure}; more than {maximum:index} failed"),
    "RetriedAfter": Text("Retry {retries}[ of {limit}]: {failure}"),
    "IndexesHaveFailed": Text("Failed indexes: {indexes:all}"),
    "SuccessPolicyMet": Text("The success policy is met"),
    "TitleRetriedPods": Text("Failed pods retried"),
    "TitleLostPods": Text("Lost pods started again"),
    "TitleRetriedWorkload": Text("Retried after a failure"),
    "DetailRetried": Text("{pods:all}[; {retries:retry} counted so far][; next run at {at:time}]"),
    "TitleIndexesFailed": Text("Pod indexes failed for good"),
    "TitlePodsReleased": Text("Backoff of failed pods is over"),
    "PodsHaveFailed": Text("Pods of {workload} failed"),
    # Titles and details of events in timelines
    "TitleOfLaterRelease": Text("Event of a later release: {event}"),
    "TitleSubmitted": Text("Submitted"),
    "TitleChanged": Text("Changed"),
    "TitlePending": Text("Pending: {reason}"),
    "TitlePreemptionStarted": Text("Preemption started"),
    "TitlePreemptionWithdrawn": Text("Preemption withdrawn"),
    "TitleQuotaReserved": Text("Quota reserved"),
    "TitleChecksRequired": Text("Other admission checks required"),
    "TitleCheckReported": Text("Check {check}: {state}"),
    "TitleAdmitted": Text("Admitted"),
    "TitlePodsReady": Text("All pods ready"),
    "TitlePodsNotReady": Text("Pods no longer ready"),
    "TitleImported": Text("Taken over from {origin}"),
    "TitleSessionOpened": Text("Session opened by {user}"),
    "DetailSessionOpened": Text("pod {pod_set}-{index}"),
    "TitlePodsReported": Text("Executor {executor} reported pods"),
    "DetailPodsReported": Text("{pods:all}"),
    "TitlePodsGone": Text("Pods gone from hosts"),
    "TitleHostsFailed": Text("Hosts failed"),
    "TitleHostsRecovered": Text("Hosts recovered"),
    "TitleHostsReplaced": Text("Replaced {hosts:all}"),
    "TitleHostsAssigned": Text("Hosts assigned"),
    "TitleScaledDown": Text("Scaled down"),
    "TitlePodsCompleted": Text("Pods completed"),
    "TitleEvicted": Text("Evicted: {reason}"),
    "TitleEvictionAcknowledged": Text("Eviction acknowledged"),
    "TitleEvictionProgressed": Text("Eviction in progress"),
    "TitleStopped": Text("Stopped"),
    "TitleReservationReleased": Text("Quota reservation released"),
    "TitleRequeued": Text("Requeued: {reason}"),
    "TitleRequeueCountReset": Text("Requeue count reset"),
    "TitleHeld": Text("On hold by {owner}"),
    "TitleReleased": Text("Released"),
    "TitleDeactivated": Text("Deactivated: {cause}"),
    "TitleActivated": Text("Activated"),
    "TitleFinished": Text("{reason}"),
    "TitleDeleted": Text("Deleted"),
    "TitlePriorityDiverges": Text("Pods name another priority"),
    "TitlePrioritiesMatch": Text("Pods have the priority of the workload"),
    "TitleProtectionChanged": Text("Preemption priority changed"),
    "TitlePriorityChanged": Text("Priority changed with its class"),
    "TitleGrown": Text("Preempted pods start again"),
    "TitlePreemptionGateOpened": Text("Preemption gate opened"),
    "TitlePreemptionGateClosed": Text("Preemption gate closed"),
    "TitlePreemptionBlocked": Text("Preemption blocked by gates"),
    "TitlePodsEvicted": Text("Pods evicted: {pods:all}"),
    "TitleContinues": Text("Continues with {pods:all}"),
    "TitleEvictionExtended": Text("Eviction deadline extended"),
    "TitleEvictionForced": Text("Forced kill requested"),
    "TitleEvictionStalled": Text("Deadline passed; waiting"),
    "TitleEvictionCancelled": Text("Eviction cancelled"),
    "TitleStopping": Text("Pods are being stopped"),
    "DetailPodsInQueue": Text("{pods:pod} for queue {queue}, priority {priority}"),
    "DetailPodsWithoutQueue": Text("{pods:pod} without a queue, priority {priority}"),
    "DetailAdmission": Text("In {queue}[ on {flavors:all}]"),
    "DetailRoundEnded": Text("Round {round} ended"),
    "DetailChecks": Text("{checks:all}"),
    "DetailNoChecks": Text("None"),
    "DetailWaited": Text("Waited {waited:duration}"),
    "DetailAgain": Text("Again"),
    "DetailHosts": Text("{hosts:all}"),
    "DetailFailedHosts": Text("{hosts:all}"),
    "DetailOnHosts": Text("On {hosts:all}[ and {more} more]"),
    "DetailPodsStay": Text("Pods stay in place"),
    "DetailPods": Text("{pods:all}"),
    "DetailHandler": Text("[By {handler}][ until {until:time}]"),
    "DetailQuotaReleased": Text("Quota and hosts released"),
    "DetailQuotaIsReleased": Text("Quota released"),
    "DetailPodsStayedReady": Text("Pods stayed ready"),
    "DetailHold": Text("{reason}[ until {until:time}]"),
    "DetailHoldExpired": Text("Hold expired"),
    "DetailPodSetPriorities": Text("{pod_sets:all}"),
    "DetailProtection": Text("From {before} to {after}[: {reason}]"),
    "DetailPriority": Text("From {before} to {after}: WorkloadPriorityClass {name} was edited"),
    "DetailClosedGates": Text("Closed gates: {gates:all}"),
    "DetailPodsBack": Text("{pods:all} beside those that run"),
    "DetailPodsStopped": Text("{pods:all} stopped; quota released"),
    "DetailUntil": Text("Until {until:time}"),
    "DetailAwaited": Text("Waiting for the pods to stop"),
    # Other conditions
    "QuotaReservedInClusterQueue": Text("Quota reserved in ClusterQueue {queue}"),
    "AdmittedByClusterQueue": Text("Admitted by ClusterQueue {queue}"),
    "NotAllPodsReady": Text("Not all pods are ready"),
    "AllPodsReady": Text("All pods are ready or succeeded"),
    "AllPodsScheduled": Text("All required pods were scheduled or succeeded"),
    "NotAllPodsScheduled": Text("At least one required pod is not scheduled"),
    "PodsStopped": Text("All pods have stopped"),
    "NoReservation": Text("The workload has no quota reservation"),
    "WorkloadRequeued": Text("The workload is requeued"),
    "WorkloadActivated": Text("The workload is activated"),
    "Previously": Text("Previously: {message}"),
    "BlockedOnPreemptionGates": Text("Preemption is blocked until these gates open: {gates:all}"),
    "PrioritiesDiffer": Text(
        "Priority {priority} of the workload applies to all its pods; {pod_sets:all}"
    ),
    "PodSetPriority": Text("{pod_set} has {priority}"),
}


RULE_TEXTS: Mapping[str, Text] = {
    "LogRewoundRule": Text("The event log ended earlier than a process had read it; for a day"),
    "SnapshotDiscardedRule": Text(
        "A snapshot of the state differs from what the event log folds to; for a day"
    ),
    "SchedulingStalledRule": Text("No worker evaluates the pending workloads of a partition"),
    "WritesFailRule": Text("The database refuses or does not answer writes"),
    "QuarantinedRule": Text("A scheduling error makes workers skip an object"),
    "FollowerDriftRule": Text("A read model is more than {events:event} behind the event log"),
    "ReadModelsLaggingTitle": Text("Read models far behind the event log"),
    "NoExecutorConnectedRule": Text(
        "No executor is connected for a ResourceFlavor; critical with unfinished workloads on it"
    ),
    "OrphanedPodsRule": Text("An executor runs pods that the event log does not know"),
    "NodesNotReadyTitle": Text("Nodes not ready"),
    "NodeNotReadyRule": Text("A node is not ready, or its executor or lease is lost"),
    "QueueInactiveRule": Text(
        "A ClusterQueue is stopped, or lacks a flavor or check; a note where it is stopped and"
        " nothing is pending"
    ),
    "HeadOfLineBlockingRule": Text(
        "The head of a StrictFIFO queue is unschedulable, or has not changed for {since:duration}"
    ),
    "ConfigurationRule": Text("A configured object has a likely mistake that the rules allow"),
    "NeverStartsRule": Text("A workload could not be admitted on the empty cluster either"),
    "StarvationRule": Text(
        "A workload is pending for {since:duration}, while {overtakers:younger workload} of no"
        " higher priority started"
    ),
    "ThrashRule": Text(
        "Two workloads preempted each other in {rounds:round} or more within {since:duration}"
    ),
    "PredictionMissedRule": Text(
        "Waits after a change of the configuration exceed what a backtest predicted"
    ),
    "EvictionStalledRule": Text("An eviction takes longer than {since:duration}"),
    "NotStartedRule": Text("An admitted workload has no ready pods after {since:duration}"),
    "WorkloadsFailedRule": Text("Workloads of a LocalQueue failed in the last {since:duration}"),
    "WorkloadInactiveRule": Text("A workload is inactive: deactivated, or out of retries"),
    "WorkloadRetryingRule": Text("A workload waits for its backoff to end"),
    "WorkloadOnHoldRule": Text("A workload is on hold by a person"),
}
"""Texts of the rules by which alerts are raised."""
