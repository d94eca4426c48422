"""Texts of rejected requests: time ranges, bulk actions, backtests, tokens, undo."""

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
    "StreamNotFound": Text("No history of {stream}", "Name it as kind/name."),
    # Others
    "BacktestsUnfinished": Text(
        "{maximum:backtest} are queued or running", "Wait until one has ended, or cancel one."
    ),
    "TokenOfAllNamespaces": Text(
        "A token of role {role} is for all namespaces", "Remove namespaces."
    ),
    "WorkloadNotStuck": Text(
        "Workload {workload} is not inactive, on hold or retrying",
        "See its explanation for why it is pending.",
    ),
}
