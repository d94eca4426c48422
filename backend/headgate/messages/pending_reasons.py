"""Texts of reasons why a workload is pending, of its blockers and of what would unblock it."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

FLAVORS: Mapping[str, Text] = {
    "FlavorDoesNotExist": Text(
        "Flavor {flavor} not eligible: it does not exist", "Create ResourceFlavor {flavor}"
    ),
    "FlavorNotAllowed": Text(
        "Flavor {flavor} not eligible: the workload does not allow it",
        "Allow flavor {flavor} in the workload",
    ),
    "PinnedToOtherFlavor": Text("Flavor {flavor} not eligible: pinned to flavor {other}"),
    "FlavorWithoutCapacity": Text("Flavor {flavor} not eligible: no capacity on its hosts"),
    "FlavorWithoutVictims": Text(
        "Flavor {flavor} not eligible: no preemptible workloads on its hosts"
    ),
    "FlavorTaintNotTolerated": Text(
        "Flavor {flavor} not eligible: untolerated taint {taint}",
        "Tolerate taint {taint} in pod set {pod_set} (flavor {flavor})",
    ),
    "FlavorOutsideNodeSelector": Text(
        "Flavor {flavor} not eligible: node selector {key}={value}",
        "Change node selector {key} of pod set {pod_set} to match flavor {flavor}",
    ),
    "FlavorOutsideNodeAffinity": Text(
        "Flavor {flavor} not eligible: node affinity",
        "Change node affinity of pod set {pod_set} to match flavor {flavor}",
    ),
    "ExecutorLacksCapability": Text(
        "Flavor {flavor} not eligible: no executor of it ({executors:all}) honours"
        " {capabilities:all} of the pod template",
        "Remove {capabilities:all} from pod set {pod_set}, or run an executor that honours it",
    ),
    "ExecutorLacksController": Text(
        "Flavor {flavor} not eligible: no executor of it ({executors:all}) runs {kind}s",
        "Use a flavor of nodes without an Executor, where the controller of {kind} runs them, or an"
        " executor with the capability controller.{kind}",
    ),
    "FlavorWithoutTopology": Text(
        "Flavor {flavor} not eligible: it has no topology",
        "Set topologyName of flavor {flavor}, or remove the topology request of pod set {pod_set}",
    ),
    "FlavorRequiresTopologyRequest": Text(
        "Flavor {flavor} not eligible: it takes only pods with a topology request",
        "Add a topology request to pod set {pod_set} (flavor {flavor})",
    ),
    "FlavorTopologyDoesNotExist": Text(
        "Flavor {flavor} not eligible: Topology {topology} does not exist",
        "Create Topology {topology}",
    ),
    "FlavorOfOtherHosts": Text(
        "Flavor {flavor} not eligible: the pods are assigned to hosts of flavor {other}"
    ),
    "FlavorLacksLevel": Text(
        "Flavor {flavor} not eligible: Topology {topology} has no level {missing}",
        "Request another level than {missing} in pod set {pod_set}: {levels:all}",
    ),
    "FlavorNotTried": Text("Flavor {flavor} not tried (flavorFungibility stopped at {last})"),
    "NoQuotaForResource": Text(
        "No quota for {resource} in the ClusterQueue",
        "Add {resource} quota to the ClusterQueue, or remove the request",
    ),
    "NoFlavorWithTopology": Text(
        "Topology request of pod set {pod_set}, but none of its flavors has a topology"
    ),
}
"""Why flavors were not assigned. Beside its arguments a text has the fields of its blocker."""

QUOTA: Mapping[str, Text] = {
    "InsufficientQuota": Text(
        "Insufficient quota: {need} ({flavor}) requested, {have:number} available in ClusterQueue"
        " {cluster_queue} (nominal {nominal:number}[, {borrowable:number} more by borrowing])",
        "Free up {missing} of {flavor}[ (in use by {held_by})]",
    ),
    "InsufficientNonPreemptibleQuota": Text(
        "Insufficient quota: {need} ({flavor}) requested, {have:number} of nominal {nominal:number}"
        " left for non-preemptible workloads in ClusterQueue {cluster_queue}",
        "Raise nominalQuota by {missing} (flavor {flavor})[, or stop {held_by}]",
    ),
    "QuotaWithheld": Text(
        "Insufficient quota: {need} ({flavor}) requested, {have:number} available in ClusterQueue"
        " {cluster_queue} besides what it withholds for pending non-preemptible workloads"
        " (nominal {nominal:number}[, {borrowable:number} more by borrowing])",
        "Raise borrowingLimit by {missing} (flavor {flavor})[, or stop {held_by}]",
    ),
    "QuotaOfQueueWithheld": Text(
        "Insufficient quota: {need} ({flavor}) requested, {have:number} available in ClusterQueue"
        " {cluster_queue} besides what it withholds for pending non-preemptible workloads"
        " (nominal {nominal:number}[, {borrowable:number} more by borrowing])",
        "Set reserveForPendingNonPreemptible of ClusterQueue {cluster_queue} to false[, or stop"
        " {held_by}]",
    ),
    "RequestExceedsMaximum": Text(
        "Request exceeds the maximum: {need} ({flavor}) requested, ClusterQueue {cluster_queue} can"
        " use at most {have:number}[, {borrowable:number} borrowed][ ({free:number} free now)]",
        "Raise nominalQuota by {short_by} (flavor {flavor})[, or request at most {at_most}]",
    ),
    "RequestExceedsBorrowing": Text(
        "Request exceeds the maximum: {need} ({flavor}) requested, ClusterQueue {cluster_queue} can"
        " use at most {have:number}[, {borrowable:number} borrowed][ ({free:number} free now)]",
        "Raise nominalQuota or borrowingLimit by {short_by} (flavor {flavor})"
        "[, or request at most {at_most}]",
    ),
    "RequestExceedsNominalQuota": Text(
        "Request exceeds the maximum: {need} ({flavor}) requested, ClusterQueue {cluster_queue} has"
        " nominal quota {nominal:number} for non-preemptible workloads",
        "Raise nominalQuota by {short_by} (flavor {flavor})[, or request at most {at_most}]",
    ),
    "QuotaTakenInCycle": Text(
        "Quota in ClusterQueue {cluster_queue} was taken by a workload ahead in the queue"
    ),
}
"""Shortages of quota. Beside its arguments a text has the fields of its blocker."""

TOPOLOGY: Mapping[str, Text] = {
    "PodsExceedDomain": Text(
        "Topology: {need:pod} must share one {level:label}[ with {running} running]; best fit is"
        " {domain:label} with space for {have}[ (slices: {layers:all})]",
        "Free up space for {short_by:more pod} in one {level:label}",
    ),
    "SlicesExceedDomain": Text(
        "Topology: {need:slice} must share one {level:label}[ with {running} running]; best fit is"
        " {domain:label} with space for {have}[ (slices: {layers:all})]",
        "Free up space for {short_by:more slice} in one {level:label}",
    ),
    "PodsExceedHosts": Text(
        "Topology: {need:pod} requested[ beside {running} running]; {hosts:host} of flavor {flavor}"
        " have space for {have}[ (slices: {layers:all})]",
        "Free up space for {short_by:more pod} on hosts of flavor {flavor}",
    ),
    "SlicesExceedHosts": Text(
        "Topology: {need:slice} requested[ beside {running} running]; {hosts:host} of flavor"
        " {flavor} have space for {have}[ (slices: {layers:all})]",
        "Free up space for {short_by:more slice} on hosts of flavor {flavor}",
    ),
    "NoHostFitsPod": Text(
        "No host of flavor {flavor} fits a pod[: of {hosts:host}, {excluded_hosts:all}]",
        "Free up space for {short_by:more pod} on hosts of flavor {flavor}",
    ),
    "NoHostFitsSlice": Text(
        "No hosts of flavor {flavor} fit a slice[: of {hosts:host}, {excluded_hosts:all}]",
        "Free up space for {short_by:more slice} on hosts of flavor {flavor}",
    ),
    "NoHostInDomainFitsLeader": Text(
        "No host fits the group leader's pod together with its workers in one {level:label}",
        "Free up a host for the leader's pod in one {level:label} with its workers",
    ),
    "NoHostFitsLeader": Text(
        "No host of flavor {flavor} fits the group leader's pod",
        "Free up a host of flavor {flavor} for the leader's pod",
    ),
    "PodsExceedLargestDomain": Text(
        "Topology: {need:pod} must share one {level:label}[ with {running} running]; the largest is"
        " {domain:label} with space for {have}[ ({free} free now)][ (slices: {layers:all})]",
        "Request at most {have:pod}, or add hosts to one {level:label}",
    ),
    "SlicesExceedLargestDomain": Text(
        "Topology: {need:slice} must share one {level:label}[ with {running} running]; the largest"
        " is {domain:label} with space for {have}[ ({free} free now)][ (slices: {layers:all})]",
        "Request at most {have:slice}, or add hosts to one {level:label}",
    ),
    "PodsExceedAllHosts": Text(
        "Topology: {need:pod} requested[ beside {running} running]; {hosts:host} of flavor {flavor}"
        " have space for {have} in all[ ({free} free now)][ (slices: {layers:all})]",
        "Request at most {have:pod}, or add hosts to flavor {flavor}",
    ),
    "SlicesExceedAllHosts": Text(
        "Topology: {need:slice} requested[ beside {running} running]; {hosts:host} of flavor"
        " {flavor} have space for {have} in all[ ({free} free now)][ (slices: {layers:all})]",
        "Request at most {have:slice}, or add hosts to flavor {flavor}",
    ),
    "PodExceedsLargestHost": Text(
        "One pod of pod set {pod_set} requests {need}; the largest host of flavor {flavor} has"
        " {have:number} ({free:number} free now)",
        "Request at most {have} for each pod, or add larger hosts to flavor {flavor}",
    ),
    "NoHostHoldsPod": Text(
        "No host of flavor {flavor} fits a pod, even without other pods"
        "[: of {hosts:host}, {excluded_hosts:all}]",
        "Add hosts to flavor {flavor} that fit a pod of pod set {pod_set}",
    ),
    "NoHostHoldsSlice": Text(
        "No hosts of flavor {flavor} fit a slice, even without other pods"
        "[: of {hosts:host}, {excluded_hosts:all}]",
        "Request smaller slices, or add hosts to flavor {flavor}",
    ),
    "NoDomainHoldsLeader": Text(
        "No host fits the group leader's pod together with its workers in one {level:label}, even"
        " without other pods",
        "Request fewer workers, or add hosts to one {level:label}",
    ),
    "NoHostHoldsLeader": Text(
        "No host of flavor {flavor} fits the group leader's pod, even without other pods",
        "Add hosts to flavor {flavor} that fit the leader's pod",
    ),
    "FlavorHasNoHosts": Text("Flavor {flavor} has no hosts", "Add hosts to flavor {flavor}"),
    "PlacementFailed": Text("Placement failed: {why:lower}"),
    "SlicesOfLayer": Text("{fits} of {needs} by {slice_level:label}"),
    "HostsExcludedByResource": Text("{hosts} lack {detail:resource}"),
    "HostsExcludedByTaint": Text("{hosts} with taint {detail}"),
    "HostsExcludedByNodeSelector": Text("{hosts} outside the node selector"),
    "HostsExcludedByAffinity": Text("{hosts} outside the node affinity"),
    "HostsExcludedByPodAffinity": Text("{hosts} without the pods required in one {detail}"),
    "HostsExcludedByPodAntiAffinity": Text("{hosts} with excluded pods in one {detail}"),
    "HostsExcludedByTopologySpread": Text("{hosts} beyond the skew by {detail}"),
    "HostsExcludedByTopologyDomain": Text("{hosts} outside the domain"),
    "HostsExcludedByUnusable": Text("{hosts} not ready or cordoned"),
    "HostsExcludedByRecorded": Text("{hosts} by {detail}"),
    "TopologyLacksLevel": Text("The topology has no level {missing}"),
    "SliceLevelTooWide": Text(
        "Slices of level {slice_level} are wider than the requested level {requested}"
    ),
    "PodsNotDivisible": Text("{pods:pod} cannot be divided into slices of {size}"),
    "SliceLevelNotBelow": Text("Slice level {slice_level} is not below {above}"),
    "SlicesNotDivisible": Text("Slices of {outer} cannot be divided into slices of {size}"),
    "TopologyWithoutHosts": Text("Hosts can be replaced only where the topology ends at hosts"),
    "NoHostForLeader": Text("No host can take the leader beside the pods of others"),
    "SpreadWithSlices": Text("Pods in topology slices cannot be spread"),
    "NoSpaceForSlice": Text("No space for a slice in its domain"),
    "DomainDoesNotExist": Text("Domain {path} is no longer in the topology"),
    "SlicesBrokenInSeveralDomains": Text("Slices are broken in several domains"),
    "NoPreferredLevel": Text("No level is preferred"),
    "FlavorLostTopology": Text("The flavor has no topology any more"),
    "HostReplacementDisabled": Text("Replacement of failed hosts is disabled"),
}
"""Placements that failed. Beside its arguments a text has the fields of its blocker."""

PREEMPTION: Mapping[str, Text] = {
    "NoLowerPriorityCandidates": Text("Preemption: no preemptible workloads with lower priority"),
    "TooFewCandidates": Text("Preemption: not enough preemptible workloads"),
    "PreemptionLoop": Text(
        "Preemption would cause a loop: {chain:all}, each preempted by the next"
    ),
    "PreemptionDisabled": Text(
        "Preemption is disabled for this workload (preemptionPolicy: Never)"
    ),
    "PreemptionGatesClosed": Text(
        "Can preempt, but preemption gates are closed: {gates:all}",
        "Open preemption gates {gates:all}",
    ),
    "PreemptionRateLimited": Text(
        "Preemption rate limit reached (ClusterQueue {cluster_queue} starts at most {rounds:round}"
        " per minute, {burst} at once)[; next round in {next_in:duration}]",
        "Wait for the next round, or raise rateLimit of ClusterQueue {cluster_queue}",
    ),
    "PreemptionBlockedByCycleGuard": Text(
        "Would cause a preemption loop: {chain:all}, each preempted by the next"
    ),
    "NotLowerPriority": Text("Priority {priority} is not lower than {preemptor_priority}"),
    "SamePriorityNotNewer": Text("Same priority {priority} and not newer"),
    "NotPreemptible": Text("{preemptibility}"),
    "PodsNotPreemptible": Text("{preemptibility}: {pods:pod} must stay"),
    "WithinMinimumRuntime": Text("Has not run for minRuntime {minimum:duration} of {kind} {name}"),
    "ProtectedByBudget": Text("Protected by DisruptionBudget {budget}"),
    "WithinNominalQuota": Text("Its ClusterQueue is within its nominal quota"),
    "NoLargerShare": Text("Its dominant resource share would not stay the larger"),
    "WaitingForEvictions": Text(
        "Waiting for {evictions:eviction} to finish: {victims:all}[ and {more} more]"
    ),
    "WaitingForAnyEvictions": Text("Waiting for evictions to finish"),
    "PodsOfWorkload": Text("{pods:pod} of {workload}"),
    "RoundDraining": Text("Not evaluated yet; preemption in progress for {preemptor}"),
    "PreemptorPlacedElsewhere": Text("{preemptor} was placed elsewhere"),
    "PreemptorStartedBefore": Text("{preemptor} started before this eviction had begun"),
    "PreemptorDeleted": Text("{preemptor} was deleted"),
    "PreemptorFinished": Text("{preemptor} has finished"),
    "PreemptorChanged": Text("{preemptor} was changed"),
    "PreemptorNotNominated": Text("{preemptor} is no longer nominated"),
    "PreemptorNotAdmissible": Text("{preemptor} cannot be admitted now"),
    "RoundAborted": Text("Round {round} was aborted: {why:lower}"),
    "PlacementNotAvailable": Text("Placement no longer available"),
    "PreemptorStarted": Text("Started after {waited:duration}"),
    "VictimsStillRunning": Text("Still running: {victims:all}"),
    "RoundReplaced": Text("Replaced by round {round}"),
    "PlacedElsewhere": Text("Placed elsewhere"),
    "NominationLost": Text("Reserved placement was lost; rescheduling"),
}
"""Searches for victims, rules that protect candidates, and how rounds end."""

QUEUES: Mapping[str, Text] = {
    "LiteralSecret": Text(
        "{name} has a literal value and is named like a secret",
        "Write a reference: valueFrom.secretKeyRef. headgate erase removes what was written.",
    ),
    "PlacementFieldIgnored": Text(
        "{field} is ignored when hosts are chosen",
        "Use node affinity, node labels or a topology request, or remove the field.",
    ),
    "PendingUntilChanged": Text("{found}. {count:workload} pending until that changes"),
    "QueueMissing": Text(
        "{kind} {name} does not exist[ in namespace {namespace}]",
        "Create {kind} {name}, or name another queue.",
    ),
    "QueueTerminating": Text("{kind} {name} is being deleted", "Name another queue."),
    "QueueStopped": Text(
        "{kind} {name} is stopped[ by {owner:user}][: {why}]", "Resume {kind} {name}."
    ),
    "ReferencedObjectMissing": Text(
        "{kind} {name} does not exist", "Create {kind} {name}, or remove it from {referrer}."
    ),
    "InactiveAdmissionCheck": Text(
        "AdmissionCheck {check} is not active",
        "Activate AdmissionCheck {check}, or remove it from {referrer}.",
    ),
    "ConflictingAdmissionChecks": Text("{conflict}", "Remove what cannot be combined."),
    "CohortCycle": Text(
        "The cohorts above ClusterQueue {cluster_queue} form a cycle",
        "Remove the parent of Cohort {cohort}.",
    ),
    "NoQueue": Text(
        "No queue named, and namespace {namespace} has no LocalQueue default", "Name a queue."
    ),
    "NamespaceNotSelected": Text(
        "ClusterQueue {cluster_queue} does not select namespace {namespace}",
        "Select the namespace in namespaceSelector of ClusterQueue {cluster_queue}, or name another"
        " queue.",
    ),
    "OutsideLimitRange": Text(
        "{rule}",
        "Widen the LimitRange of the namespace, or submit the workload again within the range.",
    ),
    "RunsAsOrphans": Text(
        "{pods:pod} of {workload} already running on {nodes:all}, without an admission in the log",
        "Adopt them: headgate orphans adopt {workload}. Or kill them: headgate orphans list.",
    ),
}
"""Queues that admit nothing, with what ends it."""

STATES: Mapping[str, Text] = {
    "Unschedulable": Text("Unschedulable: {found:lower}"),
    "DoesNotFit": Text("Does not fit"),
    "FitsNow": Text("Fits now; waiting for its turn in the queue"),
    "CanPreemptNow": Text("Can preempt now; waiting for its turn in the queue"),
    "AboutToBeRequeued": Text("Requeueing"),
    "Terminating": Text("Terminating"),
    "WaitingForAssignment": Text("Quota reserved and checks passed; waiting for hosts"),
    "ChecksPassed": Text("All admission checks passed; admitting"),
    "WaitingForChecks": Text("Quota reserved; waiting for admission checks: {checks:all}"),
    "CheckReport": Text("{check}[ ({report})]"),
    "SkippedAfterError": Text(
        "Scheduler error; workload skipped[: {error}]", "Change or resubmit the workload"
    ),
    "OnHold": Text("On hold by {owner:user}[ until {until:time}][: {why}]", "Release the hold"),
    "WaitingForAdmissionGates": Text(
        "Waiting for admission gates: {gates:all}", "Remove admission gates {gates:all}"
    ),
    "Deactivated": Text("Deactivated[: {why}]", "Activate the workload"),
    "CheckRetry": Text(
        "Admission check asked to retry; next attempt in {wait:duration}", "Requeue the workload"
    ),
    "RetryAfterBackoff": Text(
        "Retry {attempt}[ of {limit}] in {wait:duration} (backoff)", "Requeue the workload"
    ),
    "BehindHead": Text("Blocked by head of StrictFIFO queue: {head}[ ({why:lower})]"),
    "SameRequest": Text("{found} (same request as {workload})"),
    "NotEvaluatedYet": Text("Not evaluated yet[ ({ahead:workload} ahead)]"),
    "WaitingForExecutors": Text(
        "The log lost events; waiting at most {wait:duration} for reports of running pods from"
        " {executors:all}"
    ),
    "AdmissionBlocked": Text(
        "Blocked by waitForPodsReady: pods of {blocking:workload} not ready[: {held_by}]"
    ),
    "PhaseStarting": Text("Admitted; starting pods"),
    "NoRendezvousPort": Text(
        "Admitted; waiting for a rendezvous port of Executor {executor}: all from {first} to {last}"
        " are in use",
        "Widen rendezvousPorts of the Executor, or wait until another gang of it ends",
    ),
    "PhaseRunning": Text("Running; all pods ready"),
    "PhaseEvicting": Text("Evicting; waiting for pods to stop"),
    "PhaseSucceeded": Text("Succeeded"),
    "PhaseFailed": Text("Failed[: {why}]"),
    "PhaseCancelled": Text("Cancelled[: {why}]"),
    "ReplacingFailedHosts": Text("Running; replacing failed hosts: {hosts:all}"),
    "FailedHost": Text("{host} ({why})"),
    "PodsMoved": Text("Pods on {lost} moved to {new}"),
    "EvictingSomePods": Text("Running; some pods are being evicted: {evicting:all}"),
    "LostPodsComeBack": Text("Running; preempted pods start again once there is room: {pods:all}"),
    "PodsOfPodSet": Text("{pods} of {pod_set}[ (indices {indices})]"),
    "StopsFirst": Text("Stops first; the rest follows afterwards"),
    "KeepsStarting": Text("Keeps starting"),
    "KeepsRunning": Text("Keeps running"),
    "HasEnded": Text("Has ended"),
    "EndsAsCancelled": Text("Ends as cancelled"),
    "WorkloadDeleted": Text("Deleted"),
    "Queued": Text("Queued"),
    "StartsNext": Text(
        "Fits in ClusterQueue {cluster_queue}; starts next"
        "[; pods must be ready within {ready_within:duration}][, {retries:retry} left]"
    ),
    "WouldPreempt": Text("Would preempt {victims:lower-priority workload} and start"),
}
"""States in which no evaluation is needed."""

BLOCKERS: Mapping[str, Text] = {**FLAVORS, **QUOTA, **TOPOLOGY, **PREEMPTION, **QUEUES, **STATES}
TEXTS: Mapping[str, Text] = BLOCKERS
