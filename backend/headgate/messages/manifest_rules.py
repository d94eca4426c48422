"""Texts of manifests and bodies that cannot be read, and of fields that are not supported."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
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
    "KindIsJob": Text("Kind {kind} is not supported", "Send its jobTemplate as a Job when due."),
    "KindIsPodSets": Text(
        "Kind {kind} is not supported",
        "Use a Workload: its podSets are the pods of the group; set preemptibility, preemptionMode"
        " and priorityClassRef on it.",
    ),
    "KindIsWorkload": Text(
        "Kind {kind} is not supported",
        "Use a Workload with a pod set for each kind of pod, or a Job or JobSet.",
    ),
    "KindOfRuntime": Text(
        "Kind {kind} is not supported: its pods stand in the training runtime that it names",
        "Send the JobSet that its controller makes.",
    ),
    "KindOfController": Text(
        "Kind {kind} is not supported",
        "Omit it: it belongs to the controller of the AdmissionCheck that names it.",
    ),
    "KindUnknown": Text(
        "Unknown kind[ {kind}]", "[Did you mean {nearest}?][Known kinds: {known:all}, List.]"
    ),
    # Kinds of jobs
    "GroupNameReserved": Text(
        "{group} is the name of the pod set of the head", "Choose another name."
    ),
    "JobWithoutPods": Text(
        "{kind} has no pods", "Add the specification of at least one of its pods."
    ),
    "JobsStartTogether": Text(
        "All jobs of a JobSet start together here", "Omit it, and submit later jobs by themselves."
    ),
    "NotJavaMemory": Text("Must be a size as Java writes it", "Write it like 512m or 2g."),
    "NothingAtPath": Text("Nothing at {path}", "Name the path of a pod template."),
    "PodGroupIncomplete": Text(
        "Group {group} has {count:pod} in the request[; {total} announced]",
        "Send all pods of the group at once, and set the annotation to their number.",
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
    "ConcurrentAdmissionUnsupported": Text(
        "Concurrent admission of variants is not supported",
        "Remove it; flavorFungibility chooses one variant.",
    ),
    "DeviceClassesUnsupported": Text(
        "Device classes are not supported", "Request a resource such as nvidia.com/gpu."
    ),
    "MultiKueueUnsupported": Text("MultiKueue is not supported", "Remove multiKueue."),
    "VictimDeletionUnsupported": Text(
        "How victims stop is set on ClusterQueues",
        "Set preemption.softEviction.default of the ClusterQueues to Immediate or Soft.",
    ),
}
