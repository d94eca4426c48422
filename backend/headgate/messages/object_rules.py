"""Texts of violations and rejections of configured objects, and of single fields of any object.

Objects: queues, flavors, topologies. Fields: names, ranges, lengths.
"""

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


FIELD_TEXTS: Mapping[str, Text] = {
    # Numbers of entries, ranges, lengths
    "BelowMinimum": Text("Must be at least {minimum}; got {value}", "Use {minimum} or more."),
    "Duplicate": Text("Duplicate value {value}", "Remove one of them."),
    "LengthInvalid": Text(
        "Must have {minimum} to {maximum} characters; got {length}", "Use an allowed length."
    ),
    "NotInFuture": Text("Must be in the future", "Use a later time."),
    "NotInRange": Text(
        "Must be between {minimum} and {maximum}; got {value}", "Use a number in this range."
    ),
    "NotPod": Text(
        "{value} is no pod of the workload", "Use a rank, or a pod set and an index: main/0."
    ),
    "ReasonMissing": Text("A reason is required", "Say in a few words why."),
    "TooFew": Text("At least {minimum} {field} required", "Add one."),
    "TooMany": Text("At most {maximum} {field} allowed; got {count}", "Remove {excess}."),
    # Choices
    "FieldImmutable": Text("Immutable; the value is {value}", "Create another object instead."),
    "NotExactlyOne": Text("Exactly one of {fields:all} must be set", "Set one of them."),
    "NotOneOf": Text(
        "Must be one of {choices:all}; got {value}", "[Did you mean {nearest}? ]Use one of these."
    ),
    "NotTogether": Text("{fields:all} cannot be set together", "Keep one of them."),
    # Types
    "NotInteger": Text("Must be an integer", "Write it without quotes, point or unit."),
    "NotIntegerString": Text("Must be an integer in a string; got {value}", 'Write it like "100".'),
    "NotTimestamp": Text(
        "Must be an RFC 3339 time with its offset", "Write it like 2026-09-24T12:00:00Z."
    ),
    # Names and labels
    "LabelPrefixInvalid": Text(
        "The prefix before '/' must be a DNS name of at most 253 characters; got {value}",
        "Use a prefix like example.com/.",
    ),
    "NotDnsLabel": Text(
        "Must be 1 to 63 lowercase letters, digits or '-', starting and ending with a letter or"
        " digit[; got {value}]",
        "Choose another name.",
    ),
    "NotDnsSubdomain": Text(
        "Must be 1 to 253 lowercase letters, digits, '-' or '.', each part between dots starting"
        " and ending with a letter or digit[; got {value}]",
        "Choose another name.",
    ),
    "NotLabelKey": Text(
        "Must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or"
        " digit, with an optional prefix like example.com/[; got {value}]",
        "Choose another key.",
    ),
    "NotLabelValue": Text(
        "Must be empty or at most 63 letters, digits, '-', '_' or '.', starting and ending with a"
        " letter or digit; got {value}",
        "Choose another value.",
    ),
    "AnnotationsTooLong": Text(
        "Annotations together have at most {maximum} bytes; got {length}", "Shorten them."
    ),
    # Selectors, taints and tolerations
    "NodeFieldUnknown": Text(
        "Only the node field metadata.name can be matched; got {value}",
        "Use metadata.name, or match labels with matchExpressions.",
    ),
    "SelectorValueNotInteger": Text(
        "Operator {operator} requires exactly one integer value", "Set one integer."
    ),
    "SelectorValuesMissing": Text("Operator {operator} requires values", "Add a value."),
    "SelectorValuesNotAllowed": Text("Operator {operator} takes no values", "Remove the values."),
    "TolerationValueNotAllowed": Text(
        "A toleration with operator Exists has no value",
        "Remove the value, or set operator: Equal.",
    ),
    "TolerationWithoutKey": Text(
        "A toleration without a key must have operator Exists",
        "Set operator: Exists, or name a key.",
    ),
}
