"""Kueue's defaults, feature gates and labels of metrics in a Configuration.

The table has every gate of Kueue 0.20.0 with its stage, its default there, and what holds here;
each is honoured or warned about. Labels of metrics are those that objects give (KEP 7066).
"""

from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema
from headgate.adapters.manifests.records import Record, field, listed, read_required_text
from headgate.domain.field_rules import shown
from headgate.domain.kinds.metric_labels import METRIC_LABEL_KINDS, MetricLabel, MetricRules
from headgate.messages.rendering import nearest

GateEffect = Literal[
    "On", "Off", "Field", "NoOutcome", "NoDevices", "NoOtherClusters", "OfKubernetes"
]
"""On and Off: always so here. Field: a field of ours says it. NoOutcome: no decision follows from
it. The others belong to what Headgate has not: devices, other clusters, Kubernetes."""


class FeatureGate(msgspec.Struct, frozen=True, array_like=True):
    """A gate of Kueue: its stage and default there, and its effect here."""

    name: str
    stage: Literal["Alpha", "Beta", "GA", "Deprecated"]
    default: bool
    effect: GateEffect


_TABLE = """
TopologyAwareScheduling Beta on On
TASFailedNodeReplacementFailFast Beta on Field
TASFailedNodeReplacement Beta on Field
TASHandleOverlappingFlavors Beta on On
TASLeaderPodSetFeasibility Beta on On
TASMultiLayerTopology Beta on On
TASRecomputeAssignmentWithinSchedulingCycle Beta on On
TASReplaceNodeOnNodeTaints Beta on On
TASReplaceNodeOnPodTermination Beta on On
TASValidateWorkloadSliceSize Beta on On
TASProfileMixed Beta on Field
TASRespectNodeAffinityPreferred Alpha off Field
TASReplaceNodeDueToNotReadyOverFixedTime Deprecated off Field
TASBalancedPlacement Alpha off Field
TASAssignmentsEncodingByHostnamePrefix Beta on NoOutcome
TASCacheNodeMatchResults Beta on NoOutcome
TASCacheTopologyTree Beta on NoOutcome
TASCachingRemainingResources Beta on NoOutcome
TASNodeFeasibilityForAllLevels Beta on Field
TASPartialSlices Beta on Field
TASGroupedPodSetSlicing Beta on Field
TASTopologySpreading Alpha off Off
TASReplaceMultipleFailedNodes Alpha off Off
TASRejectFalseUnconstrainedTopology Alpha off Off
AdmissionGatedBy Beta on On
FlavorFungibility Beta on On
PartialAdmission Beta on On
QuotaCheckStrategy Beta on On
ReclaimablePods Beta on On
SchedulingEquivalenceHashing Beta on On
SchedulingEquivalenceHashingIgnorePodSetName Beta on On
WorkloadPriorityClassDefaulting Beta on On
WorkloadValidateResourcesAreNonNegative Beta on On
WorkloadValidationForPodSetMetadata Beta on On
VectorizedResourceRequests Beta on NoOutcome
UnadmittedWorkloadsObservability Beta on On
FlavorFungibilityPreserveScanProgress Beta on On
PrioritySortingWithinCohort Beta on On
ConcurrentAdmission Alpha off Off
DynamicQuotaOrchestration Alpha off Off
RejectUpdatesToCQWithInvalidOnFlavors Beta on Off
ReservedResourceNameValidation Beta on On
SchedulerLibraryIntegration Alpha off OfKubernetes
UnadmittedWorkloadsExplicitStatus Alpha off Off
WorkloadRequestUseMergePatch Alpha off OfKubernetes
PodGroupSchedulingShapeOrdering Beta on Off
AdmissionFairSharing Beta on On
FairSharingPreemptWithinNominal Beta on On
FairSharingPrioritizeNonBorrowing Beta on On
RecomputeAssignmentUponPreemptionTargetsOverlap Beta on On
PriorityBoost Alpha off Field
AdmissionFairSharingAnchorAtQuotaReservation Beta on Field
FairSharingRefill Alpha off Off
FairSharingReevaluatePreemptionCandidates Alpha off Off
ConfigurablePreemptions Alpha off Off
PrioritizePreemptorWorkloads Alpha off Off
ElasticJobsViaWorkloadSlices Beta on On
ElasticJobsViaWorkloadSlicesWithTAS Alpha off On
FastQuotaReleaseInPodIntegration Alpha off Field
DisableWaitForPodsReady Alpha off Field
WaitForPodsReadyUnscheduledTimeout Alpha off Field
WorkloadLevelWaitForPodsReady Alpha off Field
WaitForPodsReadyMaxNotReady Alpha off Off
PodIntegrationCountSucceededPodsAsReady Beta on Off
ElasticJobsViaWorkloadSlicesFlavorChangeFromZero Alpha off Off
ElasticJobsViaWorkloadSlicesForProvisioningRequests Alpha off Off
ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp Alpha off Off
FailureRecoveryPolicy Alpha off Off
LocalQueueMetrics Beta on On
VisibilityOnDemand Beta on On
MetricsForCohorts Beta on On
CustomMetricLabels Alpha off On
MetricForWorkloadCreationLatency Beta on Off
KueueDRAIntegration Beta on NoDevices
KueueDRAIntegrationConsumableCapacity Alpha off NoDevices
KueueDRAIntegrationDeviceTaints Alpha off NoDevices
KueueDRAIntegrationExtendedResource Beta on NoDevices
KueueDRAIntegrationPartitionableDevices Beta on NoDevices
KueueDRAIntegrationPrioritizedList Alpha off NoDevices
KueueDRADeviceFeasibility Alpha off NoDevices
KueueDRARejectWorkloadsWhenDRADisabled Beta on On
MultiKueue Beta on NoOtherClusters
MultiKueueAdaptersForCustomJobs Beta on NoOtherClusters
MultiKueueBatchJobClearingTTLSecondsAfterFinishedOnWorkerCluster Alpha off NoOtherClusters
MultiKueueClusterProfile Alpha off NoOtherClusters
MultiKueueIncrementalDispatcherConfig Beta on NoOtherClusters
MultiKueueIncrementalDispatcherRespectConfigOrder Beta on NoOtherClusters
MultiKueueKubeConfigPathValidation Beta on NoOtherClusters
MultiKueueManagerQuotaAutomation Alpha off NoOtherClusters
MultiKueueOrchestratedPreemption Beta on NoOtherClusters
MultiKueueRayInTreeAutoscaling Alpha off NoOtherClusters
MultiKueueRemoteSpecSync Beta on NoOtherClusters
MultiKueueReuseClientConnectionConfigForWorkers Beta on NoOtherClusters
AssignQueueLabelsForPods Beta on OfKubernetes
CleanupProvisioningRequestsOnEviction Beta on OfKubernetes
DeferRayServiceFinalizationForRedisCleanup Deprecated off OfKubernetes
DeploymentJobUIDLabel Beta on OfKubernetes
EnforceProvisioningPodTemplateContents Beta on OfKubernetes
FinalizeTerminatingPodGroups Beta on OfKubernetes
FinishOrphanedWorkloads Beta on OfKubernetes
HighMaxParallelismWithinReconcile Beta on OfKubernetes
LWSImmutableGroupSize Beta on OfKubernetes
ManagedJobsNamespaceSelectorAlwaysRespected GA on OfKubernetes
PodIntegrationValidateGroupOwner Beta on OfKubernetes
RayServiceValidateUpgradeStrategy Beta on OfKubernetes
RemoveFinalizersWithStrictPatch Beta on OfKubernetes
ShortWorkloadNames Alpha off OfKubernetes
SkipAncestorCheckForDeletedWorkloads Beta on OfKubernetes
SkipChildJobSuspension Alpha off OfKubernetes
SkipReassignmentForPodOwnedWorkloads Beta on OfKubernetes
SparkApplicationIntegration Alpha off On
TLSOptions GA on OfKubernetes
ValidateRayAndSparkJobUpdates Beta on OfKubernetes
WorkloadIdentifierAnnotations Beta on OfKubernetes
"""

FEATURE_GATES: dict[str, FeatureGate] = {
    name: msgspec.convert((name, stage, default == "on", effect), FeatureGate, strict=True)
    for name, stage, default, effect in map(str.split, _TABLE.split("\n")[1:-1])
}

_HONOURED: dict[str, tuple[str, dict[bool, Any]]] = {
    "TASProfileMixed": ("topology.profile", {True: "Mixed", False: "BestFit"}),
    "TASRespectNodeAffinityPreferred": ("topology.respectPreferredAffinity", {}),
    "TASFailedNodeReplacement": ("topology.replaceFailedNodes", {}),
    "TASFailedNodeReplacementFailFast": ("topology.failFast", {}),
    "TASNodeFeasibilityForAllLevels": ("topology.nodeFeasibilityForAllLevels", {}),
    "TASPartialSlices": ("topology.partialSlices", {}),
    "TASGroupedPodSetSlicing": ("topology.groupedPodSetSlicing", {}),
    "TASReplaceNodeDueToNotReadyOverFixedTime": (
        "topology.notReadyTimeout",
        {True: "30s", False: "Never"},
    ),
    "PriorityBoost": ("preemption.priorityBoost", {}),
    "AdmissionFairSharingAnchorAtQuotaReservation": (
        "admissionFairSharing.usageAnchor",
        {True: "QuotaReserved", False: "Admitted"},
    ),
    "DisableWaitForPodsReady": ("waitForPodsReady.enable", {True: False, False: True}),
    "WorkloadLevelWaitForPodsReady": ("waitForPodsReady.workloadTimeouts", {}),
    "FastQuotaReleaseInPodIntegration": (
        "quotaRelease",
        {True: "OnTerminating", False: "OnStopped"},
    ),
}
"""The field that a gate sets where it is absent, and its value by that of the gate (else equal)."""

_SWITCHES = ("admissionFairSharing", "waitForPodsReady")
"""Sections that switch something on by being there: a gate sets a field of one that is there."""

_ELSEWHERE = {
    "TASBalancedPlacement": "balanced",
    "WaitForPodsReadyUnscheduledTimeout": "waitForPodsReady.unscheduledTimeout",
}
"""Gates that no field of the Configuration follows from, with the field that says it."""


def set_kueue_defaults(spec: Fields) -> None:
    """What Kueue sets before it reads its Configuration (v1beta2: `SetDefaults_Configuration`).

    The other defaults of Kueue are those of the structs.
    """
    if not spec.has("waitForPodsReady"):
        spec.values = {**spec.values, "waitForPodsReady": {}}
    for section, name in (
        ("waitForPodsReady", "timeout"),
        ("admissionFairSharing", "usageSamplingInterval"),
    ):
        fields = spec.values.get(section)
        if isinstance(fields, dict) and fields.get(name) in ZERO_DURATIONS:
            kept = {key: value for key, value in fields.items() if key != name}
            spec.values = {**spec.values, section: kept}


ZERO_DURATIONS = ("0", "0s", "0m", "0h", "0m0s", "0h0m0s")
"""How Go writes no time at all: in these fields it means the default."""


def honour_feature_gates(spec: Fields) -> None:
    """Sets the fields that gates of a Configuration stand for, and warns of the other gates."""
    gates = spec.child("featureGates")
    if gates is None:
        return
    for name, value in gates.values.items():
        gate = FEATURE_GATES.get(name)
        if gate is None:
            near = nearest(name, FEATURE_GATES.keys())
            gates.note(name, "FeatureGateUnknown", gate=shown(name), nearest=near)
        elif not isinstance(value, bool):
            gates.note(name, "NotBoolean")
        elif name in _HONOURED:
            path, values = _HONOURED[name]
            section = path.partition(".")[0]
            if section not in _SWITCHES or spec.has(section):
                _set_if_absent(spec, path.split("."), values.get(value, value))
            elif value != gate.default:
                gates.warn(name, "FeatureGateIsField", gate=name, field=path)
        else:
            _warn_of(gates, gate, value=value)


def _set_if_absent(spec: Fields, path: list[str], value: Any) -> None:
    """Puts a value at a path of the spec, unless one was written there."""
    *above, name = path
    if not above:
        spec.values = {name: value, **spec.values}
        return
    (section,) = above
    given = spec.values.get(section)
    if given is None or isinstance(given, dict):
        spec.values = {**spec.values, section: {name: value, **(given or {})}}


def _warn_of(gates: Fields, gate: FeatureGate, *, value: bool) -> None:
    """Warns of a gate that is set to what does not hold here."""
    if gate.name in _ELSEWHERE:
        gates.warn(gate.name, "FeatureGateIsField", gate=gate.name, field=_ELSEWHERE[gate.name])
    elif gate.effect == "On" and not value:
        gates.warn(gate.name, "FeatureGateAlwaysOn", gate=gate.name)
    elif gate.effect in _WITHOUT_EFFECT and value:
        gates.warn(gate.name, _WITHOUT_EFFECT[gate.effect], gate=gate.name)


_WITHOUT_EFFECT = {
    "Off": "FeatureGateOff",
    "NoDevices": "FeatureGateNoDevices",
    "NoOtherClusters": "FeatureGateNoOtherClusters",
    "OfKubernetes": "FeatureGateOfKubernetes",
}


OF_WORKLOADS = "Workload"
"""Labels of this kind would part a figure of a queue; it is passed over with a warning."""


def _read_kinds(fields: Fields, name: str, _: object) -> tuple[str, ...]:
    found = fields.words(name, (*METRIC_LABEL_KINDS, OF_WORKLOADS))
    if OF_WORKLOADS in found:
        fields.warn(name, "FieldWithoutEffect", field=f"{name}: {OF_WORKLOADS}")
    named = fields.texts(name)
    return tuple(kind for kind in found if kind != OF_WORKLOADS) if named else METRIC_LABEL_KINDS


_METRICS = Record(
    MetricRules,
    listed(
        "customLabels",
        Record(
            MetricLabel,
            field("name", read=read_required_text),
            field("sourceLabelKey", omits_usual=True),
            field("sourceAnnotationKey", omits_usual=True),
            field("sourceKinds", read=_read_kinds),
        ),
    ),
    without_effect=("bindAddress", "enableClusterQueueResources", "localQueueMetrics"),
)


def read_metrics(spec: Fields, name: str, usual: MetricRules) -> MetricRules:
    """The labels of the section, and a warning for each field that says how Kueue serves."""
    fields = spec.child(name)
    return usual if fields is None else _METRICS.read_nested(fields)


def rendered_metrics(metrics: MetricRules) -> dict[str, Any]:
    """The section."""
    return _METRICS.render(metrics)


class MetricLabelSchema(ManifestSchema, kw_only=True, frozen=True):
    """A label of metrics from a label or annotation of the object that a metric is told by."""

    name: str
    source_label_key: str | None = None
    source_annotation_key: str | None = None
    source_kinds: list[Literal["Cohort", "LocalQueue", "ClusterQueue", "Workload"]] = []


class MetricsSchema(ManifestSchema, kw_only=True, frozen=True):
    """What metrics tell beside Kueue's labels."""

    custom_labels: list[MetricLabelSchema] = []
