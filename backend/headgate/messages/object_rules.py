"""Texts of violations and rejections of objects, of single fields, and of manifests.

Objects: queues, flavors, topologies. Fields: names, ranges, lengths. Manifests and bodies: what
cannot be read, and fields that are not supported.
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
    "ObjectNotFound": Text("{kind}[ {name}] not found", "Check the {kind:place}."),
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
    "OrphanIsBeingKilled": Text(
        "Orphaned pod {name} is already being killed", "Leave it out of the request."
    ),
    "ExecutorSuperseded": Text(
        "Executor {name} is at epoch {present_epoch}; this process has epoch {epoch}",
        "Stop this process. Claim the executor again only if no other process runs it.",
    ),
    "ExecutorOnOtherHost": Text(
        "Executor {name} is claimed from another host, or from this host before its restart,"
        " and its lease has not ended",
        "After a restart, claim it again once the lease has ended, {seconds} seconds after the"
        " restart at most. Otherwise give each host an Executor with a name of its own.",
    ),
    "NodeNotSelected": Text(
        "Executor {name} does not select node {node}",
        "Register it with the labels that the Executor or its flavors select.",
    ),
    "ExecutorHasNoNodes": Text(
        "Executor {name} has no nodes",
        "Drain the queues that it serves instead: headgate drain cq/NAME.",
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
    "MetricLabelInvalid": Text(
        "Not the name of a metric label: {value}",
        "Begin with a letter, and use letters, digits and _ alone, at most 63.",
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
    "CauseNotFound": Text(
        "No open cause {key}", "List the causes: headgate attention. It may have closed meanwhile."
    ),
    "NotWebhookAddress": Text(
        "Must be an HTTP or HTTPS URL with a host, without a user or fragment",
        "Write it like https://alerts.example.org/headgate.",
    ),
    "WebhookAddressNotAllowed": Text(
        "{host} is an address of a private network or of the server's own",
        "Use a public address, or name the network in HEADGATE_WEBHOOK_NETWORKS.",
    ),
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


MANIFEST_TEXTS: Mapping[str, Text] = {
    # Bodies
    "AliasUnknown": Text("Unknown alias {alias}"),
    "BodyTooLong": Text("Body has {length:byte}; at most {maximum} allowed"),
    "BodyUnreadable": Text(
        "Invalid body: [line {line}, column {column}: ]{problem:lower}",
        "Send YAML or JSON as for kubectl.",
    ),
    "CharacterInvalid": Text("Text contains U+0000 or half of a surrogate pair"),
    "IntegerTooLarge": Text("Integer {value} is too large"),
    "JsonInvalid": Text("{reason}"),
    "KeyNotString": Text("A key must be a string"),
    "KeyRepeated": Text("Duplicate key {key}"),
    "MergeInvalid": Text("The value of << must be a mapping or a list of mappings"),
    "NestedTooDeep": Text("Values may be nested at most {maximum} deep"),
    "NotUtf8": Text("Byte {offset} is not UTF-8"),
    "NumberNotFinite": Text("Not a finite number: {value}"),
    "TagUnknown": Text("Unknown tag {tag}"),
    "TooManyKeys": Text("A mapping has {count:key}; at most {maximum} allowed"),
    "TooManyValues": Text("At most {maximum:value} allowed, counting aliases"),
    "YamlInvalid": Text("{reason}"),
    # Objects of a body
    "KindDiffers": Text(
        "Expected kind {kind}; got {found}", "Send it to /v1/apply, or to the path of its kind."
    ),
    "NotManifest": Text("Must be a mapping with apiVersion and kind", "Add both."),
    "NotOneObject": Text(
        "Body has {count:object}; expected one {kind}", "Send one, or send all to /v1/apply."
    ),
    "NamespaceFull": Text(
        "Namespace {namespace} has {count:object}; at most {maximum} allowed",
        "Delete finished workloads, let objectRetentionPolicies do so, or raise"
        " limits.objectsPerNamespace of the Configuration.",
    ),
    "ObjectTooLarge": Text(
        "Object has {length:byte} as JSON; at most {maximum} allowed",
        "Keep large data elsewhere, and refer to it.",
    ),
    "TooManyObjects": Text(
        "Body has {count:object}; at most {maximum} allowed", "Send several requests."
    ),
    # Kinds
    "ApiVersionMissing": Text("apiVersion is required", "Write apiVersion: {version}."),
    "KindIsClusterQueue": Text(
        "Kind {kind} is not supported",
        "Use a ClusterQueue: nominalQuota is guaranteed, borrowingLimit is on top.",
    ),
    "KindIsWorkload": Text(
        "Kind {kind} is not supported",
        "Use a Workload with a pod set for each kind of pod, or a Job or JobSet.",
    ),
    "KindOfController": Text(
        "Kind {kind} is not supported",
        "Omit it: it belongs to the controller of the AdmissionCheck that names it.",
    ),
    "KindUnknown": Text(
        "Unknown kind[ {kind}]", "[Did you mean {nearest}?][Known kinds: {known:all}, List.]"
    ),
    # Kinds of jobs
    "CronJobNameTooLong": Text(
        "{value} has more than 52 characters", "Shorten it: the names of its jobs are longer."
    ),
    "NotCronSchedule": Text(
        "Must be a schedule of five fields or a macro",
        "Write minute, hour, day of month, month and day of week, as in 0 3 * * 1-5, or @daily.",
    ),
    "RuntimeUnknown": Text(
        "{kind} {runtime} does not exist", "Apply it first: the pods of a TrainJob stand in it."
    ),
    "SettingsOfController": Text(
        "Only the controller of the AdmissionChecks that name this {kind} reads it",
        "Connect a controller that reports on these checks, or workloads wait for them.",
    ),
    "TimeZoneUnknown": Text("Unknown time zone {zone}", "Name one like Europe/Berlin or Etc/UTC."),
    "GroupNameReserved": Text(
        "{group} is the name of the pod set of the head", "Choose another name."
    ),
    "JobWithoutPods": Text(
        "{kind} has no pods", "Add the specification of at least one of its pods."
    ),
    "FieldsOfController": Text("Left to the controller of {kind}: {fields:all}"),
    "JobsStartTogether": Text(
        "All jobs of a JobSet start together here", "Omit it, and submit later jobs separately."
    ),
    "NotJavaMemory": Text("Must be a size as Java writes it", "Write it like 512m or 2g."),
    "NothingAtPath": Text("Nothing at {path}", "Name the path of a pod template."),
    "PodGroupIncomplete": Text(
        "Group {group} has {count:pod} in the request[; {total} announced]",
        "Send all pods of the group at once, and set the annotation to their number.",
    ),
    "PodGroupStructure": Text(
        "Subgroups and topology constraints of a PodGroup are not supported",
        "Use a Workload: its podSets are the subgroups, each with its topologyRequest.",
    ),
    "PodGroupTooSmall": Text(
        "The request has {count:pod} of the group; minMember is {minimum}",
        "Send at least {minimum} pods with the PodGroup, or lower minMember.",
    ),
    "PodGroupWithoutPods": Text(
        "No pod of PodGroup {group} is in the request",
        "Send its pods in the same request, with the annotation pod-group-name: {group}.",
    ),
    "PodGroupQueues": Text(
        "Pods of group {group} go to several queues: {queues:all}", "Give all of them one queue."
    ),
    "RayAutoscaling": Text(
        "A workload with fixed pods must not be scaled by Ray",
        "Set it to false, or make the workload elastic.",
    ),
    "RayClusterSelected": Text(
        "The pods of an existing cluster cannot be queued again",
        "Omit it and describe the cluster in rayClusterSpec.",
    ),
    "RayJobKeepsCluster": Text(
        "The cluster must end with the job, else it keeps its quota", "Set it to true."
    ),
    "SparkDynamicAllocation": Text(
        "The number of executors must be fixed", "Set it to false, and set executor.instances."
    ),
    # Feature gates of a Configuration
    "FeatureGateAlwaysOn": Text("{gate} is always on here", "Omit it."),
    "FeatureGateIsField": Text("{gate} is said by {field} here", "Set that field instead."),
    "FeatureGateNoDevices": Text(
        "{gate} has no effect: device classes are not supported", "Omit it."
    ),
    "FeatureGateNoOtherClusters": Text(
        "{gate} has no effect: there are no other clusters to dispatch to", "Omit it."
    ),
    "FeatureGateOff": Text("{gate} is not supported; it stays off", "Omit it."),
    "FeatureGateOfKubernetes": Text(
        "{gate} has no effect: it belongs to Kueue's integration with Kubernetes", "Omit it."
    ),
    "FeatureGateUnknown": Text("Unknown feature gate {gate}", "Omit it[, or write {nearest}]."),
    "FieldWithoutEffect": Text("{field} has no effect here", "Omit it."),
    "RestartPolicyWithoutRetries": Text(
        "OnFailure has no effect without retryPolicy: the first failed pod fails the workload",
        "Set spec.retryPolicy, as in retryPolicy: {limit: 6}.",
    ),
    # Fields
    "FieldUnknown": Text(
        "Unknown field {field}", "[Did you mean {nearest}?][Known fields: {known:all}.]"
    ),
    "FieldsDiffer": Text("{fields:all} must not differ", "Set one of them."),
    "LayersNotJson": Text(
        "Must be a JSON array of layers", "Write an object with topology and size for each layer."
    ),
    "NamespaceNotAllowed": Text("Objects of this kind have no namespace", "Remove it."),
    "NotBoolean": Text("Must be true or false", "Write true or false without quotes."),
    "NotBooleanString": Text(
        'Must be "true" or "false"', 'Write "true" or "false" with the quotes.'
    ),
    "NotDuration": Text("Must be a duration", "Write it like 30m or 1h30m."),
    "NotList": Text("Must be a list", "Write each entry after a dash."),
    "NotMapping": Text("Must be a mapping", "Write its fields as key: value."),
    "NotQuantity": Text("Must be a quantity", "Write it like 2, 500m, 1.5, 1e3 or 4Gi."),
    "NotString": Text("Must be a string", "Put it in quotes."),
    "RequestAboveLimit": Text(
        "Request of {resource} exceeds its limit", "Lower the request, or raise the limit."
    ),
    "Required": Text("{field} is required", "Add {field}."),
    "WeightTooSmall": Text("Must be 0 or more than 1n", "Use 0 or a larger weight."),
    # Fields of Kueue that are not supported
    "BlockAdmissionOfQueue": Text(
        "blockAdmission applies to all ClusterQueues or none",
        "Set it in the Configuration named default.",
    ),
    "ConcurrentAdmissionOff": Text(
        "Workloads are admitted to one flavor at a time, as in Kueue without the gate"
        " ConcurrentAdmission: concurrentAdmissionPolicy has no effect",
        "Omit it; flavorFungibility says which flavor is taken.",
    ),
    "DeviceClassesUnsupported": Text(
        "Device classes are not supported", "Request a resource such as nvidia.com/gpu."
    ),
    "JobSchedulingUnsupported": Text(
        "scheduling of a Job belongs to kube-scheduler's pod groups",
        "Remove it; the workload is admitted as a gang, and its topology request places it.",
    ),
    "ResourceClaimsUnsupported": Text(
        "Resource claims are not supported", "Request a resource such as nvidia.com/gpu."
    ),
    "MultiKueueUnsupported": Text("MultiKueue is not supported", "Remove multiKueue."),
}
