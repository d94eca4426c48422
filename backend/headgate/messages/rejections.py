"""Texts of rejected requests: bodies, parameters, time ranges, bulk actions, backtests, tokens."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # Times and ranges
    "PositionInFuture": Text("The log ends at position {head}", "Use an earlier position."),
    "TimeInFuture": Text("Must not be in the future", "Use an earlier time."),
    "TimeRangeEmpty": Text("The time range has no events", "Choose a longer time range."),
    # Bulk actions and their undo
    "BatchWorkloadChanged": Text("Changed since the bulk action"),
    "BatchWorkloadEnded": Text("The workload has ended"),
    "CancellationNotReversible": Text(
        "Cancellation cannot be undone", "Submit the workloads again."
    ),
    "NotReversible": Text("{verb} cannot be undone", "Act on the workloads of the batch."),
    "NothingToChange": Text("Nothing to change"),
    "NotSimulated": Text("Not simulated; only the first {maximum:workload} are"),
    "ReleaseNotReversible": Text(
        "Release cannot be undone: workloads may have started", "Hold the workloads again."
    ),
    "RequeueNotReversible": Text(
        "Requeueing cannot be undone: pods have stopped", "Hold the workloads to keep them pending."
    ),
    "TooManyMatches": Text(
        "{count:workload} match; a bulk action has at most {maximum}",
        "Narrow the query, or act on one part after the other.",
    ),
    "WorkloadReplaced": Text(
        "Workload {workload} was submitted again since the preview", "Preview the action again."
    ),
    # Imports from another queue manager
    "ImportNotSimulated": Text(
        "An import cannot be simulated: what is admitted stays", "Use dryRun=All."
    ),
    "ImportedAssignmentUnreadable": Text(
        "The topology assignment cannot be read: {reason}", "Export the Workloads again."
    ),
    "ImportedConditionIgnored": Text("The condition {condition} is not taken over"),
    "ImportedEvicting": Text(
        "It is being evicted ({reason}); its pods are about to stop",
        "Import it again when the eviction is over: it is pending then.",
    ),
    "ImportedFinished": Text("It has finished; there is nothing to take over", "Leave it out."),
    "ImportedFromNowhere": Text(
        "metadata.uid and metadata.creationTimestamp are required",
        "Import what kubectl get workloads -o yaml writes.",
    ),
    "ImportedPodSetsDiffer": Text(
        "It is admitted with the pod sets {found:all}, and has {expected:all}",
        "Export the Workloads again.",
    ),
    "ImportedPodsDiffer": Text(
        "{placed:pod} have a place, of {expected}", "Export the Workloads again."
    ),
    "ImportedReferenceMissing": Text(
        "{kind} {name} does not exist", "Import it too, before the Workloads."
    ),
    # Adoption of orphaned pods
    "OrphansAreNotAllPods": Text(
        "{found} of its {expected:pod} run as orphans",
        "Kill the orphans, wait until headgate orphans list shows none of them, and submit the"
        " workload again.",
    ),
    "OrphansOfNoFlavor": Text(
        "ClusterQueue {queue} has no flavor with the resources and the nodes of its orphans",
        "Wait until the executor has registered its nodes, or name a queue that has quota there.",
    ),
    "OrphansOfOtherWorkload": Text(
        "A later workload is named {name}", "Delete it first, then adopt the orphans."
    ),
    "OrphansOfSeveralAttempts": Text(
        "Its orphans are of several attempts", "Kill those of the older attempts first."
    ),
    "OrphansOutrun": Text(
        "Workload {name} has begun attempt {attempt} since its pods became orphans",
        "Kill the orphans: their work runs again, or has ended.",
    ),
    "OrphansWereMoved": Text(
        "An orphan was retried or moved to another node before it became one",
        "Kill the orphans, wait until headgate orphans list shows none of them, and submit the"
        " workload again.",
    ),
    "OrphansWithoutUid": Text(
        "The executor does not tell the uid of its orphans", "Update the executor to this release."
    ),
    "WorkloadHasNoOrphans": Text(
        "Workload {name} has no orphaned pods", "headgate orphans list shows those there are."
    ),
    # Records of the past
    "CycleNotCommitted": Text(
        "Cycle {cycle} was rejected: {reason}", "Rerun a cycle that was committed."
    ),
    "CycleNotRecorded": Text(
        "No record of cycle {cycle}; only the newest are kept",
        "Find its events in the log by their correlation.",
    ),
    "NodeNotRevertible": Text(
        "What a node reports cannot be rolled back", "Apply the node, or uncordon it."
    ),
    "WrittenContentInEvents": Text(
        "The pod templates of {stream} are in their events, from before they stood beside the log",
        "They cannot be erased; archive and drop that part of the log.",
    ),
    "WrittenContentInUse": Text(
        "{count:object} refer to this content: {objects}",
        "Wait until the workloads have ended, or erase it in spite of that (force).",
    ),
    "WrittenContentNotKept": Text("Nothing is kept of {wanted}", "Name a digest or an object."),
    "StreamNotFound": Text("No history of {stream}", "Name it as kind/name."),
    # Roles and service accounts
    "ClusterQueueNotGranted": Text(
        "{user} may {verb} {resource}, but not those of ClusterQueue {queue}",
        "Ask an admin for a role that names this ClusterQueue.",
    ),
    "ExecutorNotGranted": Text(
        "{user} is bound to Executor {bound:all}, not to {executor}",
        "Use the token of that Executor.",
    ),
    "NamespaceNotGranted": Text(
        "{user} may {verb} {resource}, but not in namespace {namespace}",
        "Ask an admin for a role that names this namespace.",
    ),
    "StoppedByAdmin": Text("Stopped by {owner}", "Ask an administrator to resume the queue."),
    "RightMissing": Text(
        "{user} may not {verb} {resource}", "Ask an admin for one of the roles: {roles:all}."
    ),
    # Concurrent changes and repeated requests
    "ChangedSincePreview": Text("Changed since position {position}", "Preview the action again."),
    "ConcurrentModifications": Text("Modified concurrently on every attempt"),
    "EtagUnknown": Text("{etag} is not an ETag of this object"),
    "IdempotencyKeyReused": Text("Idempotency-Key {key} was used for another request"),
    "ResourceVersionDiffers": Text("resourceVersion is {present}, not {expected}"),
    "VersionDiffers": Text("Version is {present}, not {expected}"),
    # Limits of one request and of the server
    "EventsArchived": Text("The event log begins at position {first}; older events are archived"),
    "HistoryOverloaded": Text("Too many requests for past states or simulations"),
    "PositionAhead": Text("The event log is at position {head}, not yet at {position}"),
    "ReadsOverloaded": Text("Too many long reads"),
    "RequestRateExceeded": Text("This token may make {maximum:request} a second"),
    "TooManyRequestsAtOnce": Text("This token has {maximum:request} open already"),
    "TooManyStreams": Text("This token may have {maximum:event stream} open at once"),
    "SimulationTooLong": Text("The simulation takes too long"),
    "TooManyChanges": Text("A simulation has at most {maximum:change}"),
    "SimulationNotRecorded": Text(
        "Manifests of more than {maximum:byte} are not recorded", "Simulate them without a record."
    ),
    "TooManyEvents": Text("The time range has {count:event}; at most {maximum} allowed"),
    "TooManyWorkloads": Text("The time range has {count:workload}; at most {maximum} allowed"),
    "WritesOverloaded": Text("Too many pending writes"),
    # Others
    "BacktestsUnfinished": Text(
        "{maximum:backtest} are queued or running", "Wait until one has ended, or cancel one."
    ),
    "BacktestWithoutResult": Text("The backtest has no result", "Wait until it is done."),
    "NothingPredicted": Text(
        "The backtest predicts no wait of a ClusterQueue that exists",
        "Choose a time range in which workloads start.",
    ),
    "PredictionsUnchecked": Text(
        "{maximum:prediction} are not checked yet", "Wait until one has been checked."
    ),
    "ScopeOfAnotherRole": Text("The role {role} has no {field}", "Leave the field out."),
    "TokenLivesTooLong": Text(
        "Expires in {days:day}; at most {maximum} allowed", "Use an earlier time."
    ),
    "TokenOfAllNamespaces": Text(
        "The role {role} is not confined to namespaces", "Leave namespaces out."
    ),
    "WorkloadNotStuck": Text(
        "Workload {workload} is not inactive, on hold or retrying",
        "See its explanation for why it is pending.",
    ),
    # Requests that cannot be read
    "RequestInvalid": Text(
        "{errors:validation error}. [{pointer}: ]{first}",
        "Fix each entry of errors and send the request again.",
    ),
    # Bodies
    "AddressDiffers": Text("Must be {value}, as in the URL", "Make body and URL agree."),
    "BodyMissing": Text("A body is required", "Send one."),
    "FieldInvalid": Text("{reason}", "Fix the value."),
    "ItemsMissing": Text("A batch must be an object with a list of items", "Send items."),
    "TypeDiffers": Text("Must be of type {expected:all}; got {found}", "Use a listed type."),
    "ValueEmpty": Text("Must not be empty", "Say it in a few words."),
    "ValueInvalid": Text("Invalid value {value}", "See the API reference for allowed values."),
    # Query parameters
    "LabelSelectorInvalid": Text(
        "Invalid label selector requirement[ {value}]",
        "Write it like a=b, a!=b, a in (b,c), a notin (b,c), a or !a.",
    ),
    "NotPosition": Text("Must be a position in the event log", "Use an integer of at least 0."),
    "NotStreamName": Text("Must be kind/name; got {value}", "Write it like node/host-1."),
    "ParameterUnknown": Text(
        "Unknown query parameter[ {name}]", "[Did you mean {nearest}? ]Known are {known:all}."
    ),
    "PriorityChangeUnreadable": Text(
        "Must be namespace/name:number; got {value}", "Write it like team-a/train-3:100."
    ),
    "RequestsUnreadable": Text(
        "Must be resource=quantity, at least 0[; got {value}]",
        "Write the requests of one pod, such as cpu=4,memory=8Gi.",
    ),
    # Reads of the past
    "PastNotWritable": Text("Only reads take `at`; the past cannot be changed", "Remove `at`."),
    "ReadOfPresentOnly": Text("Only the present state can be read", "Remove `at`."),
    "StreamWithoutPast": Text("A stream has no past state", "Read /v1/events with `at`."),
}
