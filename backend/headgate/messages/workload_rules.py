"""Texts of violations by workloads, and of commands and reports that their phase rejects."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # Commands and reports that the phase of the workload rejects
    "AttemptNotFound": Text(
        "No attempt {attempt}; the newest is {present_attempt}", "Use an attempt up to that one."
    ),
    "AttemptMissing": Text(
        "Workload {workload} is in attempt {present_attempt}, and the report names none",
        "Send attempt as the assignment gives it; stop the pods of earlier attempts.",
    ),
    "CheckNotAwaited": Text(
        "Workload {workload} is {phase} and does not wait for admission check {check}",
        "Report on the checks in the status of workloads with quota reserved.",
    ),
    "EarlierWorkload": Text(
        "The report is for an earlier workload {workload} with UID {uid}",
        "Stop its pods; the present UID is {present_uid:uid}.",
    ),
    "LogChunkTooLarge": Text(
        "The chunk has {length:byte}; at most {maximum} allowed", "Send it in parts."
    ),
    "UploadTooLarge": Text(
        "The upload has {length:byte}; at most {maximum} allowed",
        "Leave files out by .headgateignore, or use a shared file system.",
    ),
    "UploadDigestDiffers": Text(
        "The content has the SHA-256 {found}, not {expected}", "Send it again."
    ),
    "NotDigest": Text("{value} is not a SHA-256 in hexadecimal", "Write 64 digits 0-9 and a-f."),
    "UploadUnknown": Text(
        "Namespace {namespace} has no upload {digest}",
        "Send the directory again: headgate run --upload DIR.",
    ),
    "LogContentNotBase64": Text("The content is not base64", "Encode the bytes as in RFC 4648."),
    "PodNotRunning": Text(
        "Pod {pod_set}-{index} of workload {workload} is not running (phase {phase})",
        "Wait until it runs: headgate pods shows the states of pods.",
    ),
    "ExecutorHasNoSessions": Text(
        "Executor {name} has no sessions into pods",
        "Its program must have the capability exec, as headgate agent has.",
    ),
    "TooManySessions": Text(
        "Executor {name} has too many open sessions", "Close another session first."
    ),
    "SessionOfOtherUser": Text(
        "{user} did not submit workload {workload}",
        "Its owner and administrators of its namespace or queue may open sessions.",
    ),
    "LogOfUnknownPod": Text(
        "{workload} has no pod {index} of pod set {pod_set} in attempt {attempt}",
        "Forget the output of that pod.",
    ),
    "HandlerDiffers": Text(
        "The eviction of {workload} is for handler {expected}, not {handler}",
        "Acknowledge it as {expected}.",
    ),
    "DeactivatedByAdmin": Text("Deactivated by {owner}", "Ask an administrator to activate it."),
    "ExplicitPriorityNotGranted": Text(
        "The role {role} may not give a priority as a number (Configuration spec.submission)",
        "Name a WorkloadPriorityClass, or ask an administrator.",
    ),
    "NonPreemptibleNotGranted": Text(
        "The role {role} may not submit NonPreemptible workloads (Configuration spec.submission)",
        "Leave the setting out, or ask an administrator.",
    ),
    "PriorityAboveCeiling": Text(
        "Priority {priority} is above {maximum}, the most that the role {role} may use "
        "(Configuration spec.submission)",
        "Use at most {maximum}, or ask an administrator.",
    ),
    "PriorityClassNotGranted": Text(
        "The role {role} may not use the WorkloadPriorityClass {name} "
        "(Configuration spec.submission)",
        "[Use one of these: {granted:all}. ]Or ask an administrator.",
    ),
    "ProtectionAboveRule": Text(
        "Protection {protection} is more than {delta} above the priority {priority}, the most "
        "that the role {role} may use (Configuration spec.submission)",
        "Use at most {maximum}, or ask an administrator.",
    ),
    "HeldByAdmin": Text("On hold by {owner}: {reason}", "Ask an administrator to release it."),
    "NoPodsToReport": Text(
        "Workload {workload} is {phase} and has no pods to report",
        "Stop its pods, and start pods only for admitted workloads.",
    ),
    "PodOfOtherExecutor": Text(
        "Pod {pod_set}-{index} of {workload} is on node {node} of another executor",
        "Stop the pod if it runs here, and drop the report.",
    ),
    "PodSetUpdatesImmutable": Text(
        "podSetUpdates are immutable once the check was Ready or pods may have started",
        "Report the same updates, or report Retry first.",
    ),
    "PodSetWithoutTopology": Text(
        "Pod set {pod_set} of {workload} has no topology assignment",
        "Start its pods on any node of its flavors, or wait until the workload is admitted.",
    ),
    "ReportInvalid": Text("The report is invalid: {first}", "Drop the report."),
    "RequeueOfInactive": Text("Workload {workload} is inactive", "Activate it instead."),
    "StaleAttempt": Text(
        "The report is of attempt {attempt} of {workload}, which is in attempt {present_attempt}",
        "Stop the pods of that attempt and drop the report.",
    ),
    "StaleRun": Text(
        "The report is of run {run} of pod {pod_set}-{index} of {workload}, not {present_run}",
        "Stop that run and drop the report.",
    ),
    "UnknownPod": Text(
        "Workload {workload} has no pod {pod_set}-{index} in this attempt",
        "Stop the pod if it runs, and drop the report.",
    ),
    "WorkloadCancelling": Text(
        "Workload {workload} is being cancelled", "Submit it again when its pods have stopped."
    ),
    "WorkloadHasEnded": Text(
        "Workload {workload} is {phase}", "Submit it under another name, or delete it first."
    ),
    "WorkloadTerminating": Text(
        "Workload {workload} is being deleted", "Submit it again when its pods have stopped."
    ),
    # Changes
    "AdmissionGateAdded": Text(
        "Admission gate {value} cannot be added to an existing workload",
        "Remove it, and hold the workload to keep it from starting.",
    ),
    "ImmutableWhileAdmitted": Text(
        "Immutable while the workload is admitted",
        "Change it back, or requeue or deactivate the workload first.",
    ),
    "ImmutableWithQuota": Text(
        "Immutable while the workload has quota reserved",
        "Change it back, or requeue or deactivate the workload first.",
    ),
    "ManifestKindImmutable": Text(
        "{workload} was submitted as {before} and cannot become {after}", "Choose another name."
    ),
    # Pod sets and requests
    "AboveLimitRange": Text(
        "The LimitRange of the namespace allows at most {maximum} for each {scope}; got {amount}",
        "Request less, or ask to have the LimitRange changed.",
    ),
    "BelowLimitRange": Text(
        "The LimitRange of the namespace requires at least {minimum} for each {scope}; got"
        " {amount}",
        "Request more, or ask to have the LimitRange changed.",
    ),
    "LimitRequestRatioTooHigh": Text(
        "The LimitRange of the namespace allows a limit of {resource} of at most {maximum} times"
        " its request",
        "Lower the limit, or raise the request.",
    ),
    "MinCountMissing": Text(
        "SemiPreemptible requires minCount on a pod set",
        "Set minCount on a pod set, or use Preemptible or NonPreemptible.",
    ),
    "MinCountRepeated": Text(
        "At most one pod set of a workload may set minCount", "Keep minCount on one pod set."
    ),
    "PodsNotRequestable": Text(
        "The resource pods cannot be requested", "Remove pods from requests and limits."
    ),
    "RequestAboveDefaultLimit": Text(
        "Exceeds the default limit {limit} of the namespace's LimitRange",
        "Lower the request, or set a limit.",
    ),
    "RequestNegative": Text("Request of {resource} must not be negative", "Use 0 or more."),
    "RequestsNotCountable": Text(
        "All pods of a pod set may request at most {maximum}", "Lower the request or the count."
    ),
    "RuntimeClassSelectorDiffers": Text(
        "RuntimeClass {runtime_class} requires {key}={value}",
        "Remove {key} from nodeSelector, or change runtimeClassName.",
    ),
    # Annotations and gates
    "AdmissionGateInvalid": Text(
        "Admission gate {value} must be a domain, a slash and a name, at most {maximum} characters",
        "Use names like example.com/gate, separated by commas.",
    ),
    "ElasticMinCount": Text(
        "An elastic workload cannot set minCount", "Remove minCount, or the annotation."
    ),
    "HandlerMissing": Text("requireAck requires a handler", "Set handler, or remove requireAck."),
    "SliceOfNamespace": Text(
        "A workload slice must replace a workload of its own namespace",
        "Use a name like {namespace}/name.",
    ),
    "TimeoutsOfRunningWorkload": Text(
        "The pods-ready timeouts cannot change while the workload has a quota reservation",
        "Keep the annotation, or change it while the workload is pending.",
    ),
    "WorkloadTimeoutsInvalid": Text(
        "Must be JSON with timeoutSeconds and, if wanted, recoveryTimeoutSeconds",
        'Write for example {{"timeoutSeconds":30,"recoveryTimeoutSeconds":40}}.',
    ),
    # Priorities
    "BoostAboveDelta": Text(
        "Boost {boost} exceeds maxProtectionDelta {delta} of the priority class",
        "Use at most {delta}, or ask to have maxProtectionDelta raised.",
    ),
    "PodPriorityDiverges": Text(
        "Pods have priority {pod_priority} and policy {pod_policy}; the workload has {priority} and"
        " {policy}",
        "Use one priority class for the pods and the workload.",
    ),
    "PreemptionPriorityTooHigh": Text(
        "Preemption priority {protection} exceeds scheduling priority {priority} by more than"
        " maxProtectionDelta {delta}",
        "Use at most {maximum}, or ask to have maxProtectionDelta raised.",
    ),
    "PreemptionPriorityTooLow": Text(
        "Preemption priority {protection} is below scheduling priority {priority}",
        "Use a preemption priority of at least {priority}.",
    ),
    "PreemptionPriorityUnbounded": Text(
        "preemptionPriority requires a priority class with maxProtectionDelta",
        "Set preemptionPriorityClassName, or ask an administrator.",
    ),
    "PriorityClassNotFound": Text(
        "WorkloadPriorityClass {name} not found",
        "Use an existing class[ ({known})], or create it first.",
    ),
    # Retries and completions
    "ElasticCompletions": Text(
        "A workload slice can't have completions", "Remove completions, or the annotation."
    ),
    "LimitPerIndexMissing": Text(
        "Only allowed with retryPolicy.limitPerIndex", "Set limitPerIndex, or remove it."
    ),
    "NotIndexRanges": Text("{value} is not a list of index ranges", "Write it as 0-4,7."),
    "NotIntegers": Text("Must be a list of whole numbers", "Write it as [1, 137]."),
    "RetryRuleOfSeveralConditions": Text(
        "A rule has one of onExitCodes, onSignals and onReasons", "Write one rule for each."
    ),
    "SuccessRuleEmpty": Text(
        "The rule names no pods", "Set succeededIndexes, succeededCount or podSets."
    ),
    # Topology requests
    "BalancedWithoutPreferred": Text(
        "balanced requires preferred", "Set preferred, or remove balanced."
    ),
    "GroupLevelsDiffer": Text(
        "Pod sets of group {group} must request the same level", "Use the same level for both."
    ),
    "GroupNameInvalid": Text("Must not be empty or a number", "Choose a name with letters."),
    "GroupSizeInvalid": Text(
        "Group {group} must have {required:pod set} or more; got {count}",
        "Group a leader of one pod with its workers.",
    ),
    "GroupWithSlices": Text(
        "A pod set in a group cannot have slices", "Remove the slices, or leave the group."
    ),
    "GroupWithoutLeader": Text(
        "One pod set of group {group} must have exactly 1 pod; got {counts}",
        "Group a leader of one pod with its workers.",
    ),
    "GroupWithoutLevel": Text(
        "A pod set in a group requires a required or preferred level", "Set one of them."
    ),
    "SliceSizeAboveCount": Text(
        "Slice size {size} exceeds the count of the pod set, {count}", "Use a smaller size."
    ),
    "SliceSizeNotDivisor": Text(
        "Slice size {size} must divide the size of the enclosing layer, {outer}",
        "Use a divisor of {outer}.",
    ),
    "SliceSizeRemainder": Text(
        "Slices of {size:pod} leave {remainder} of {count:pod} unplaced",
        "Use a divisor of {count}.",
    ),
}
