"""Texts of lint warnings, alerts and findings of verification."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # What needs attention
    "WritesFailing": Text("Nothing can be recorded"),
    "WritesFail": Text("Writes to the database fail: {cause:lower}. Reads are answered."),
    "DatabaseDiskFull": Text("The disk of the database is full"),
    "DatabaseReadOnly": Text("The database is read-only"),
    "DatabaseUnreachable": Text("The database cannot be reached"),
    "DatabaseHangs": Text("The database does not answer"),
    "ReleaseTooOld": Text(
        "This release is too old: {event} at position {position} is of a later one",
        "Upgrade this process, or go back to the release that wrote the log.",
    ),
    "LogBeingRead": Text("The event log is being read"),
    "SchedulingIsStalled": Text("No worker makes scheduling decisions"),
    "SchedulingStalled": Text(
        "{stalled} of {partitions:partition}: work not evaluated for {since:duration}."
        " Check that admission workers run and reach the database."
    ),
    "LogLostEvents": Text("The event log has lost events"),
    "LogRewoundTo": Text(
        "A process had read up to position {read_up_to}; when it read the log again, it ended at"
        " {head}. A backup was restored or a standby promoted. Submit again what is missing. Pods"
        " of workloads that are missing are listed by headgate orphans list."
    ),
    "SnapshotDiffered": Text("A snapshot of the state differs from the event log"),
    "SnapshotDifferedAt": Text(
        "The snapshot at position {position} is not what the log folds to, or could not be read."
        " Snapshots were deleted, and the log is folded from its beginning. Restart the processes"
        " that started from it, then run headgate verify."
    ),
    "QueueInactive": Text("ClusterQueue {queue} is inactive"),
    "InactiveWithPending": Text("{reason}. {pending}."),
    "NoPendingWorkloads": Text("No pending workloads"),
    "PendingWorkloads": Text("{count:pending workload}"),
    "HeadOfLineBlocking": Text("StrictFIFO queue {queue} is blocked by {head}"),
    "HeadPendingWithOthers": Text("{reason}. {pending} behind it."),
    "HeadUnschedulable": Text("The head of the queue is unschedulable"),
    "HeadPendingForLong": Text("The same workload has been the head of the queue for a long time"),
    "ConfigurationWarning": Text("Configuration warning: {kind} {name}"),
    "NodeNotReady": Text("Node {node} is not ready"),
    "NodesNotReady": Text("{count:node}[ of {domain}] not ready"),
    "UnschedulableWorkloads": Text("Unschedulable workloads"),
    "InactiveWorkloads": Text("Inactive workloads"),
    "RetryingWorkloads": Text("Retrying workloads"),
    "WorkloadsOnHold": Text("Workloads on hold"),
    "WorkloadsNotStarted": Text("Admitted workloads without ready pods"),
    "StalledEvictions": Text("Stalled evictions"),
    "FailedWorkloads": Text("Failed workloads of the last 24 hours"),
    "InactiveClusterQueues": Text("Inactive ClusterQueues"),
    "BlockedStrictQueues": Text("StrictFIFO queues blocked by their heads"),
    "ConfigurationWarnings": Text("Configuration warnings"),
    "FlavorsWithoutExecutor": Text("Flavors without a connected executor"),
    "ExecutorsWithOrphans": Text("Executors with orphaned pods"),
    "StarvingWorkloads": Text("Starving workloads"),
    "PreemptionLoops": Text("Preemption loops"),
    "SkippedStreams": Text("Streams that scheduling skips"),
    "NodeIsSilent": Text(
        "Silent: no heartbeat within its lease of {lease:duration}. Its pods may be rescheduled."
    ),
    "NodeExecutorIsLost": Text("Its executor {executor} is lost. Its pods may be rescheduled."),
    "NodeUnschedulable": Text("Unschedulable; its pods may be rescheduled."),
    "NoExecutorConnected": Text("No executor is connected for flavor {flavor}"),
    "ExecutorsNotConnected": Text(
        "Pods do not start[ on {nodes}], and running ones are not reported, until one of its"
        " executors connects: {executors}. Check that their programs run and reach the API."
    ),
    "NoExecutorSelectsFlavor": Text(
        "Pods do not start[ on {nodes}]: no Executor selects the flavor, and no other program"
        " reports its pods. Create an Executor and start headgate agent with its name."
    ),
    "OrphanedPods": Text("{orphans:orphaned pod} of executor {executor}"),
    "OrphansAreUndecided": Text(
        "The event log does not know these pods, as after the restore of a backup. They run on and"
        " use capacity[ of {nodes}]. List them with headgate orphans list, then adopt, kill or keep"
        " them."
    ),
    "PredictionMissed": Text("ClusterQueue {queue}: waits exceed the prediction"),
    "PredictionMissedBy": Text(
        "Since the change of the configuration {longer} of {workloads:workload} waited longer than"
        " {limit:duration}; 95 of 100 were predicted to start within {p95:duration}. Compare in the"
        " policy lab, or roll the change back."
    ),
    "PredictionsMissed": Text("Waits that exceed a prediction"),
    "WorkloadInactive": Text("{workload} is inactive"),
    "DeactivatedAfterAttempts": Text(
        "Deactivated after {attempts:failed attempt}. Activate to retry."
    ),
    "InactiveUntilActivated": Text("Not queued until activated."),
    "WorkloadRetrying": Text("{workload} is retrying"),
    "RetriesAfterBackoff": Text("Queued again after the backoff[; {requeues:requeue} so far]."),
    "WorkloadOnHold": Text("{workload} is on hold"),
    "HeldUntilReleased": Text("Not admitted until released."),
    "WorkloadsFailed": Text("{count:workload} of LocalQueue {queue} failed in the last 24 hours"),
    "LastFailure": Text("Most recently {workload}[: {cause}]"),
    "AdmittedNotStarted": Text("{workload}: admitted {since:duration} ago, pods not ready"),
    "QuotaHeldWhileStarting": Text("Still holding quota."),
    "EvictionIsStalled": Text("{workload}: eviction stalled"),
    "EvictedHoldsQuota": Text("Evicted ({reason}); still holding quota."),
    "ScaleDownPending": Text("Scale-down pending; still holding quota for {pods:all}."),
    "PodsOfSet": Text("{count:pod} of {pod_set}[ (indices {indices})]"),
    "StreamSkipped": Text("Scheduler error: {stream} skipped"),
    "InternalError": Text("{error}[: {detail}]"),
    "NoTransitionWhenDue": Text("A transition is due, and none applies to the state"),
    "Starving": Text("{workload} is starving (repeatedly overtaken)"),
    "StarvingDetail": Text(
        "{overtakers:younger workload} of no higher priority started before it in {queue},"
        " most recently {last}."
    ),
    "StarvingDetailAtLeast": Text(
        "At least {overtakers:younger workload} of no higher priority started before it in"
        " {queue}, most recently {last}."
    ),
    "IsUnschedulable": Text("{workload} is unschedulable"),
    "UnschedulableDetail": Text("{reason}.[ How to unblock: {remedies:all}.]"),
    "PreemptionThrash": Text("Preemption loop: {workload} and {other}"),
    "MutualPreemption": Text(
        "{one} and {other} preempted each other {rounds} times in an hour, most recently by rule"
        " {rule}."
    ),
    "RepeatedPreemption": Text(
        "{preemptor} preempted {victim} {rounds} times in an hour, most recently by rule {rule}."
    ),
    "ReadModelLagging": Text("Read model {name} is lagging"),
    "ReadModelLag": Text("{events:event} behind."),
    # Deliveries to webhooks
    "WebhookHasNoSecret": Text(
        "The webhook has no secret", "Make one, and give it to the receiver."
    ),
    "ReceiverNameUnknown": Text("No address is known for {host}"),
    "ReceiverAddressNotAllowed": Text(
        "{host} leads to {address}, an address of a private network or of this host's own",
        "Name the network in HEADGATE_WEBHOOK_NETWORKS if webhooks may reach it.",
    ),
    "ReceiverUnreachable": Text("No connection to the receiver"),
    "ReceiverCertificateInvalid": Text("The certificate of the receiver is not trusted"),
    "ReceiverTimedOut": Text("No answer within {seconds:second}"),
    "ReceiverDidNotAnswer": Text("The receiver closed the connection without an answer"),
    "ReceiverRefused": Text("The receiver answered with status {status}"),
    # Expected starts
    "NoStartEstimate": Text("No start estimate: {reason}."),
    "WorkloadUnschedulable": Text("the workload is unschedulable"),
    "IsOnHold": Text("on hold"),
    "IsInactive": Text("the workload is inactive"),
    "AdmissionGatesClosed": Text("an admission gate is closed"),
    "QueueIsStopped": Text("the queue is stopped"),
    "WorkloadQuarantined": Text("the workload is quarantined"),
    "QueueIsInactive": Text("the queue is inactive"),
    "HeadCannotStart": Text("the head of the StrictFIFO queue can't start"),
    "NoSimilarWorkloadStarted": Text("no similar workload has started in this queue yet"),
    "FewSimilarWorkloadsStarted": Text(
        "only {workloads:similar workload} started in this queue ({needed} needed)"
    ),
    "PendingLongerThanSimilar": Text(
        "pending longer than nearly all of {workloads:similar workload}"
    ),
    "WaitOfSimilarWorkloads": Text(
        "p10–p90 wait of {workloads:similar workload} in this queue that waited longer than"
        " {waited:duration}"
    ),
    # Edits that end a constraint
    "EditFewerPods": Text("{pods:pod} instead of {of}"),
    "EditPartialAdmission": Text("Allow {pods} to {of:pod}"),
    "EditSmallerPods": Text("{have} per pod"),
    "EditAnyDomain": Text("Prefer one {level:label}, not require it"),
    "EditRaiseQuota": Text("Raise quota of {cluster_queue} by {missing}"),
    # What came of a simulation, in one line
    "SimulatedAdmission": Text("Would be admitted now"),
    "SimulatedPreemption": Text("Would be admitted after preempting {victims:workload}"),
    "SimulatedPending": Text("Would stay pending[, expected to start about {start:time}]"),
    "SimulatedUnschedulable": Text("Would be unschedulable"),
    "SimulatedDeletion": Text("Would be deleted"),
    "SimulatedWorkloads": Text("{admitted} of {workloads:workload} would be admitted"),
    "SimulatedEffects": Text("{starts:workload} would start, {evictions} would be evicted"),
    "SimulatedNoEffect": Text("No workload affected"),
    "BacktestUnchanged": Text("No difference in {workloads:workload}"),
    "BacktestDiffers": Text(
        "[{wait}; ]{earlier:workload} earlier, {later} later, {lost} did not start"
    ),
    "BacktestPlacesDiffer": Text("{workloads:workload} placed or preempted otherwise"),
    "BacktestWait": Text("p95 wait of {queue} {before:duration} → {after:duration}"),
    # What an action on a stuck workload changes
    "TheHold": Text("the hold"),
    "TheBackoff": Text("the backoff"),
    "RequeueCount": Text("the requeue count (0 instead of {count})"),
    "ThePodsReadyTimeout": Text("the pods-ready timeout"),
    "ExecutionTime": Text("the execution time"),
    "AdmissionCheckStates": Text("the states of the admission checks"),
    "QueueOrder": Text("the queue order (creation time)"),
    "EvictionCounts": Text("the eviction counts"),
    "ExecutionTimeSoFar": Text("the execution time of {seconds:duration} so far"),
    # Assumptions of simulations
    "NoOtherChanges": Text("Assumes no other changes."),
    "VictimsStopImmediately": Text("Assumes preempted workloads stop immediately."),
    # Labels and annotations of workloads that are ignored
    "LabelNotUnderstood": Text("The label {label} says {value}, which means nothing here."),
    "LabelsOfPodsDiffer": Text("The pod templates do not agree on the label {label}."),
    "PreemptionPoliciesOfPodsDiffer": Text(
        "The pod templates do not agree on their preemptionPolicy."
    ),
    "SettingIgnored": Text("{key} means nothing here."),
    "SettingMisspelled": Text("{key} means nothing here; did you mean {meant}?"),
    # Fields of Jobs and JobSets that are ignored
    "FieldWithoutEqual": Text("{field} has no equal here and is ignored."),
    "JobWithoutCompletions": Text(
        "Without completions all {pods:pod} must succeed; in Kubernetes one would do."
    ),
    "PodNotRestarted": Text(
        "restartPolicy Always is ignored for {pod_set}: a pod that succeeds is not started again."
    ),
    "FailureRuleOfContainer": Text(
        "Rule {number} of podFailurePolicy is ignored: the exit code of a pod is that of its first"
        " container, not of {container}."
    ),
    "FailureRuleOfCondition": Text(
        "Rule {number} of podFailurePolicy is ignored: {condition} has no equal here; the loss of a"
        " node never counts against the limit."
    ),
    "FailureRuleOfJobSet": Text(
        "Rule {number} of failurePolicy is ignored: {action} with its conditions has no equal here."
    ),
    "BackoffLimitOfJobSet": Text(
        "backoffLimit is ignored: with a failurePolicy each failure restarts the whole JobSet."
    ),
    "BackoffLimitsDiffer": Text(
        "The Jobs have different backoffLimits; {limit} is the limit of all together."
    ),
    "LimitsPerIndexDiffer": Text(
        "The Jobs do not agree on backoffLimitPerIndex and maxFailedIndexes, which are ignored."
    ),
    "CompletionsOfReplicas": Text(
        "{pod_set}: completions {completions} is ignored: the {pods:pod} of several replicas run"
        " once each."
    ),
    "CompletionsOfElasticJob": Text(
        "{pod_set}: completions {completions} is ignored: an elastic Job runs each of its"
        " {pods:pod} once."
    ),
    # Lint warnings of a configuration
    "QuotaOfFewBytes": Text(
        "{amount} of {resource} are {amount} bytes, less than any pod requests.",
        "Did you mean {amount}Gi?",
    ),
    "QuotaOfManyCores": Text(
        "{cores} of cpu are {cores} whole cores[; the nodes of {flavor} have {have}].",
        "Did you mean {cores}m, which is {meant}?",
    ),
    "AmountOfFlavor": Text("{amount} of {flavor}"),
    "UnlimitedBorrowing": Text(
        "No borrowingLimit: can borrow up to {amounts} from the cohort.",
        "Set borrowingLimit if other queues need immediate access to their quota.",
    ),
    "Oversubscribed": Text(
        "Overcommitted: nominal quotas total {quota}, nodes provide {have:number}.",
        "Lower the quotas, or let queues borrow instead of owning.",
    ),
    "UnreachableFlavor": Text(
        "None of {nodes:node} has the labels {labels:all}.",
        "Correct the labels of the flavor or of its nodes.",
    ),
    "MissingResourceFlavor": Text(
        "ResourceFlavor {flavor} does not exist: the queue admits no workloads.",
        "Create the flavor, or remove it here.",
    ),
    "ShadowedFlavor": Text(
        "Flavor {flavor} selects the same nodes as {first} before it: their quotas count the same"
        " machines twice.",
        "Give each flavor labels of its own, or put both quotas into one.",
    ),
    "QuotaWithoutLenders": Text(
        "Nominal quota of {resource} in {flavor} is 0, and no queue of the cohort has any: no"
        " workload that requests it can use this flavor.",
        "Add quota, or remove the flavor.",
    ),
    "QuotaWithoutCohort": Text(
        "Nominal quota of {resource} in {flavor} is 0, and there is no cohort to borrow from: no"
        " workload that requests it can use this flavor.",
        "Add quota, set cohortName, or remove the flavor.",
    ),
    "QuotaWithBorrowingLimit0": Text(
        "Nominal quota and borrowingLimit of {resource} in {flavor} are 0: no workload that"
        " requests it can use this flavor.",
        "Add quota, raise borrowingLimit, or remove the flavor.",
    ),
    "QueueWithoutNamespaces": Text(
        "namespaceSelector is not set, so no namespace can use this queue.",
        "Set an empty namespaceSelector for all namespaces, or select some.",
    ),
    "MissingClusterQueue": Text(
        "ClusterQueue {queue} does not exist: no workload of this LocalQueue can start.",
        "Create the ClusterQueue, or delete the LocalQueue and create another.",
    ),
    "QueueWithoutFlavors": Text(
        "No quota: workloads that request a resource never start in this queue.",
        "Add a resource group with a flavor.",
    ),
    "QueueWithoutLocalQueue": Text(
        "No LocalQueue points to this ClusterQueue.",
        "Create a LocalQueue in each namespace that is to use it.",
    ),
    "StrictQueueByCreation": Text(
        "StrictFIFO with requeuingStrategy.timestamp Creation: after a pods-ready timeout a"
        " workload returns to the head of the queue, and others wait behind it.",
        "Set queueingStrategy BestEffortFIFO, or requeuingStrategy.timestamp Eviction.",
    ),
    "GlobalDefaultRepeated": Text(
        "{classes} priority classes are the global default; {counts} is the one that counts.",
        "Set globalDefault on one class.",
    ),
    "MissingAdmissionCheck": Text(
        "AdmissionCheck {check} does not exist: the queue admits no workloads.",
        "Create the check, or remove it here.",
    ),
    "CohortsFormCycle": Text(
        "Cohort cycle: {path}. No queue of the cycle admits workloads.",
        "Remove one of them from its parent.",
    ),
    # Findings of verification: rules that do not hold
    "HashChainHolds": Text("The hash chain holds"),
    "LocalQueueLeadsToOneClusterQueue": Text("A LocalQueue leads to one ClusterQueue"),
    "FollowerShowsWhatItsRebuildingShows": Text("A follower shows what its rebuilding shows"),
    "KeptCountsAreThoseOfRows": Text("The kept counts of workloads are those of their rows"),
    "LostNominationIsNotFinalPlacement": Text("A lost nomination is not the final placement"),
    "NameIsFreeBeforeItIsUsedAgain": Text("A name is free before it is used again"),
    "QueueAdmitsOnlyResourcesItHasQuotaFor": Text("A queue admits only resources it has quota for"),
    "ReadModelShowsWhatItsStreamFoldsTo": Text("A read model shows what its stream folds to"),
    "ReadModelStandsWhereItsStreamStands": Text("A read model stands where its stream stands"),
    "ReleasedVictimHasNoQuota": Text("A released victim has no quota"),
    "RoundBeginsByBeingCommitted": Text("A round begins by being committed"),
    "RoundEndsOnce": Text("A round ends once"),
    "RoundIsCommittedOnce": Text("A round is committed once"),
    "RoundIsSatisfiedOnceAllVictimsAreReleased": Text(
        "A round is satisfied once all victims are released"
    ),
    "RoundReleasesItsOwnVictims": Text("A round releases its own victims"),
    "SatisfiedRoundHasNominatedCapacity": Text("A satisfied round has nominated capacity"),
    "SecondPassKeepsQuota": Text("A second pass keeps the quota"),
    "ShrunkWorkloadKeepsItsGuaranteedCount": Text("A shrunk workload keeps its guaranteed count"),
    "StoppedQueueAdmitsNoWorkload": Text("A stopped queue admits no workload"),
    "StoppedQueueAdmitsNothing": Text("A stopped queue admits nothing"),
    "VictimIsReleasedOnce": Text("A victim is released once"),
    "WorkloadIsAdmittedOnce": Text("A workload is admitted once"),
    "WorkloadIsEvictedOnceAtTime": Text("A workload is evicted once at a time"),
    "AllVictimsAreReleased": Text("All victims are released"),
    "OpenRoundHasPreemptor": Text("An open round has a preemptor"),
    "OpenRoundWaitsForVictim": Text("An open round waits for a victim"),
    "ChecksConcernWorkloadsWithQuota": Text("Checks concern workloads with quota"),
    "EventsConcernExistingWorkloads": Text("Events concern existing workloads"),
    "EveryEventCanBeFolded": Text("Every event can be folded"),
    "EveryPendingWorkloadHasReason": Text("Every pending workload has a reason"),
    "EveryPodHasOnePlace": Text("Every pod has one place"),
    "EveryPreemptorIsPending": Text("Every preemptor is pending"),
    "EveryTaintOfHostIsTolerated": Text("Every taint of a host is tolerated"),
    "HandlersReportOnOngoingEvictions": Text("Handlers report on ongoing evictions"),
    "HostsFailForPlacedWorkloads": Text("Hosts fail for placed workloads"),
    "NoEvictingWorkloadIsAdmitted": Text("No evicting workload is admitted"),
    "NoEvictingWorkloadIsPlaced": Text("No evicting workload is placed"),
    "NoHostIsGivenMoreThanItHas": Text("No host is given more than it has"),
    "NoPodIsPromisedTwice": Text("No pod is promised twice"),
    "NoQuotaIsReservedInBackoff": Text("No quota is reserved in backoff"),
    "NoQuotaIsReservedOnHold": Text("No quota is reserved on hold"),
    "NoQuotaIsReservedWhileEvicting": Text("No quota is reserved while evicting"),
    "NoQuotaIsReservedWhileInactive": Text("No quota is reserved while inactive"),
    "NoWorkloadGetsMoreThanIsAvailable": Text("No workload gets more than is available"),
    "NoWorkloadIsDeletedWithQuota": Text("No workload is deleted with quota"),
    "NoWorkloadPreemptsItself": Text("No workload preempts itself"),
    "NothingHappensAfterEnd": Text("Nothing happens after the end"),
    "OnlyAdmittedPodsAreReadyOrNot": Text("Only admitted pods are ready or not"),
    "OnlyOngoingEvictionIsCancelled": Text("Only an ongoing eviction is cancelled"),
    "OnlyPendingWorkloadsHaveReasonsRecorded": Text("Only pending workloads have reasons recorded"),
    "OnlyPodsOfEvictionAreStopped": Text("Only pods of an eviction are stopped"),
    "OnlyReservationsAreDropped": Text("Only reservations are dropped"),
    "OnlyRunningWorkloadsGrowBack": Text("Only running workloads get preempted pods back"),
    "OnlyRunningWorkloadsAreScaledDown": Text("Only running workloads are scaled down"),
    "OnlyWhatRanSucceedsOrFails": Text("Only what ran succeeds or fails"),
    "OnlyWorkloadsWithQuotaAreAdmitted": Text("Only workloads with quota are admitted"),
    "OnlyWorkloadsWithQuotaAreEvicted": Text("Only workloads with quota are evicted"),
    "OnlyWorkloadsWithQuotaArePlaced": Text("Only workloads with quota are placed"),
    "OnlyWorkloadsWithQuotaEvictPods": Text("Only workloads with quota evict pods"),
    "OnlyWorkloadsWithoutQuotaAreRequeued": Text("Only workloads without quota are requeued"),
    "PodsGoToHostsThatTakePods": Text("Pods go to hosts that take pods"),
    "PositionsAreGapless": Text("Positions are gapless"),
    "QuotaComesFromClusterQueueThatExists": Text("Quota comes from a ClusterQueue that exists"),
    "QuotaIsReleasedOnce": Text("Quota is released once"),
    "QuotaIsReservedOnce": Text("Quota is reserved once"),
    "ReclaimedPodsChangeNoPlacement": Text("Reclaimed pods change no placement"),
    "StreamVersionsAreGapless": Text("Stream versions are gapless"),
    "UsageIsNeverNegative": Text("Usage is never negative"),
    "VictimsHoldQuota": Text("Victims hold quota"),
    "WhatStopsWasEvicted": Text("What stops was evicted"),
    "ErasedContentIsGone": Text("Erased content is gone"),
    "WhatWasWrittenIsKept": Text("What was written is kept"),
    "WorkloadsComeThroughLocalQueue": Text("Workloads come through a LocalQueue"),
}
