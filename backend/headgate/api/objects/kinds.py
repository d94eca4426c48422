"""The configured kinds as the API addresses them."""

from dataclasses import dataclass

from headgate.api.objects import (
    configuration_shapes,
    limit_shapes,
    place_shapes,
    policy_shapes,
    queue_shapes,
)

KUEUE = "kueue.x-k8s.io/v1beta2"
OURS = "headgate.dev/v1"


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """One kind: its name in manifests, its shapes, and whether it lives in a namespace."""

    name: str
    list_name: str
    api_version: str
    shape: type
    list_shape: type
    is_namespaced: bool = False

    @property
    def plural(self) -> str:
        """The kind as paths name it."""
        return self.list_name.lower()

    @property
    def stream_kind(self) -> str:
        """The kind as streams name it."""
        return self.name.lower()


KINDS: tuple[ObjectKind, ...] = (
    ObjectKind(
        "ClusterQueue", "ClusterQueues", KUEUE,
        queue_shapes.ClusterQueueObject, queue_shapes.ClusterQueueList,
    ),
    ObjectKind(
        "Configuration", "Configurations", OURS,
        configuration_shapes.ConfigurationObject, configuration_shapes.ConfigurationList,
    ),
    ObjectKind("Cohort", "Cohorts", KUEUE, queue_shapes.CohortObject, queue_shapes.CohortList),
    ObjectKind(
        "ResourceFlavor", "ResourceFlavors", KUEUE,
        place_shapes.ResourceFlavorObject, place_shapes.ResourceFlavorList,
    ),
    ObjectKind(
        "Topology", "Topologies", KUEUE, place_shapes.TopologyObject, place_shapes.TopologyList
    ),
    ObjectKind(
        "WorkloadPriorityClass", "WorkloadPriorityClasses", KUEUE,
        policy_shapes.WorkloadPriorityClassObject, policy_shapes.WorkloadPriorityClassList,
    ),
    ObjectKind(
        "AdmissionCheck", "AdmissionChecks", KUEUE,
        policy_shapes.AdmissionCheckObject, policy_shapes.AdmissionCheckList,
    ),
    ObjectKind("Node", "Nodes", "v1", place_shapes.NodeObject, place_shapes.NodeList),
    ObjectKind(
        "Namespace", "Namespaces", "v1", policy_shapes.NamespaceObject, policy_shapes.NamespaceList
    ),
    ObjectKind(
        "LocalQueue", "LocalQueues", KUEUE,
        queue_shapes.LocalQueueObject, queue_shapes.LocalQueueList, is_namespaced=True,
    ),
    ObjectKind(
        "DisruptionBudget", "DisruptionBudgets", OURS,
        policy_shapes.DisruptionBudgetObject, policy_shapes.DisruptionBudgetList,
        is_namespaced=True,
    ),
    ObjectKind(
        "LimitRange", "LimitRanges", "v1",
        limit_shapes.LimitRangeObject, limit_shapes.LimitRangeList, is_namespaced=True,
    ),
    ObjectKind(
        "RuntimeClass", "RuntimeClasses", "node.k8s.io/v1",
        limit_shapes.RuntimeClassObject, limit_shapes.RuntimeClassList,
    ),
)  # fmt: skip
