"""Texts of violations and rejections of configured objects: queues, flavors, topologies."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # Objects of every kind
    "ObjectExists": Text(
        "{kind} {name} already exists", "Update it instead, or choose another name."
    ),
    "ObjectInUse": Text("{kind} {name} is in use by {users:kind}", "Delete those first."),
    "ObjectInvalid": Text(
        "{name}: {errors:validation error}. [{pointer}: ]{first}",
        "Fix each entry of errors and send the object again.",
    ),
    "ObjectNotFound": Text("{kind}[ {name}] not found", "Check the name and the namespace."),
    "ObjectTerminating": Text(
        "{kind} {name} is being deleted", "Wait until it is gone, or choose another name."
    ),
    # Quotas of ClusterQueues and Cohorts
    "FlavorResourcesDiffer": Text(
        "A flavor must list the covered resources of its group in their order",
        "List [{resources:all} ]in this order.",
    ),
    "LendingLimitAboveQuota": Text(
        "lendingLimit {limit} exceeds nominalQuota {quota}",
        "Lower lendingLimit, or raise nominalQuota.",
    ),
    "LimitWithoutCohort": Text("{field} requires a cohort", "Remove {field}, or set the cohort."),
    "QuotaNotCountable": Text(
        "Quotas of all flavors total {total}; at most {maximum} can be counted",
        "Lower the quotas by {excess:number}.",
    ),
    # ClusterQueues
    "BorrowWithoutReclaimWithinCohort": Text(
        "borrowWithinCohort requires a reclaimWithinCohort other than Never",
        "Set reclaimWithinCohort to LowerPriority or Any, or this policy to Never.",
    ),
    "PreferenceWithoutTryNextFlavor": Text(
        "preference requires whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        "Set both to TryNextFlavor, or remove preference.",
    ),
    # Executors
    "ExecutorEpochMissing": Text(
        "The request names no epoch", "Send Headgate-Executor-Epoch as the claim answered it."
    ),
    "ExecutorInactive": Text(
        "Executor {name} is inactive: the older Executor {older} selects node {node} too",
        "Change nodeSelector or flavors so that no node is selected twice.",
    ),
    "ExecutorSuperseded": Text(
        "Executor {name} is at epoch {present_epoch}; this process has epoch {epoch}",
        "Stop this process. Claim the executor again only if no other process runs it.",
    ),
    "NodeNotSelected": Text(
        "Executor {name} does not select node {node}",
        "Register it with the labels that the Executor or its flavors select.",
    ),
    "NodeOfOtherExecutor": Text(
        "Node {node} belongs to Executor {executor}",
        "Remove it there first, or register it under another name.",
    ),
    # Configuration
    "ConfigurationNameInvalid": Text("The Configuration is named default", "Name it default."),
    "PodsNotTransformable": Text(
        "The resource pods cannot be transformed", "Use another resource name."
    ),
    "PrefixEmpty": Text(
        "An empty prefix excludes every resource", "Use a prefix such as example.com/."
    ),
    "PrefixesIgnored": Text(
        "Prefixes require quotaCheckStrategy: BlockUndeclared",
        "Remove the prefixes, or set quotaCheckStrategy to BlockUndeclared.",
    ),
    "StrategiesInvalid": Text(
        "Must be {choices:all}, one of them or both in this order",
        "List one of them, or both in this order.",
    ),
    # LimitRanges
    "LimitRangeDescending": Text(
        "{lower} must be at most {upper}, {bound}", "Lower {lower}, or raise {upper}."
    ),
    "PodLimitWithDefaults": Text(
        "Limits of type Pod have no {field}", "Remove {field}, or use type Container."
    ),
    "RatioBelowOne": Text("Must be at least 1", "Use 1 or more."),
    # ResourceFlavors and Topologies
    "HostLevelNotLast": Text("{label} can only be the last level", "Move it to the end."),
    "LevelsImmutable": Text(
        "Levels can change only if {label} is the last level before and after",
        "Keep {label} last, or create another Topology.",
    ),
    "NodeLabelsMissing": Text(
        "topologyName requires nodeLabels", "Add a label of the flavor's nodes."
    ),
}
