"""The registry of manifests: the codec of every kind, and the other kinds that are read."""

from headgate.adapters.manifests.admission_check import (
    ADMISSION_CHECK_CODEC,
    PROVISIONING_REQUEST_CONFIG_CODEC,
)
from headgate.adapters.manifests.cluster_queue import CLUSTER_QUEUE_CODEC, COHORT_CODEC
from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.configuration import CONFIGURATION_CODEC
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.job_kinds import JOB_KINDS
from headgate.adapters.manifests.job_templates import (
    CLUSTER_TRAINING_RUNTIME_CODEC,
    CRON_JOB_CODEC,
    TRAINING_RUNTIME_CODEC,
)
from headgate.adapters.manifests.kubernetes_kinds import (
    LIMIT_RANGE_CODEC,
    NAMESPACE_CODEC,
    RUNTIME_CLASS_CODEC,
)
from headgate.adapters.manifests.local_queue import LOCAL_QUEUE_CODEC
from headgate.adapters.manifests.metadata import ManifestKind
from headgate.adapters.manifests.node import EXECUTOR_CODEC, NODE_CODEC
from headgate.adapters.manifests.pods import POD_GROUP_VERSIONS
from headgate.adapters.manifests.priority_classes import (
    DISRUPTION_BUDGET_CODEC,
    WORKLOAD_PRIORITY_CLASS_CODEC,
)
from headgate.adapters.manifests.topology import RESOURCE_FLAVOR_CODEC, TOPOLOGY_CODEC
from headgate.adapters.manifests.webhook import ACKNOWLEDGMENT_CODEC, WEBHOOK_CODEC
from headgate.domain.field_rules import shown
from headgate.messages.rendering import nearest

CODECS: tuple[Codec, ...] = (
    CLUSTER_QUEUE_CODEC,
    CONFIGURATION_CODEC,
    COHORT_CODEC,
    RESOURCE_FLAVOR_CODEC,
    TOPOLOGY_CODEC,
    WORKLOAD_PRIORITY_CLASS_CODEC,
    ADMISSION_CHECK_CODEC,
    NODE_CODEC,
    NAMESPACE_CODEC,
    LOCAL_QUEUE_CODEC,
    DISRUPTION_BUDGET_CODEC,
    LIMIT_RANGE_CODEC,
    RUNTIME_CLASS_CODEC,
    EXECUTOR_CODEC,
    CRON_JOB_CODEC,
    TRAINING_RUNTIME_CODEC,
    CLUSTER_TRAINING_RUNTIME_CODEC,
    PROVISIONING_REQUEST_CONFIG_CODEC,
    WEBHOOK_CODEC,
    ACKNOWLEDGMENT_CODEC,
)

CODECS_BY_NAME: dict[str, Codec] = {codec.kind.name: codec for codec in CODECS}

_OTHER_KINDS = (
    ManifestKind(name="Workload", versions=(*KUEUE, OURS), becomes="Workload", namespaced=True),
    ManifestKind(
        name="PriorityClass",
        versions=("scheduling.k8s.io/v1",),
        becomes="WorkloadPriorityClass",
    ),
    ManifestKind(name="Job", versions=("batch/v1",), becomes="Workload", namespaced=True),
    ManifestKind(
        name="JobSet", versions=("jobset.x-k8s.io/v1alpha2",), becomes="Workload", namespaced=True
    ),
    ManifestKind(name="Pod", versions=("v1",), becomes="Workload", namespaced=True),
    ManifestKind(name="PodGroup", versions=POD_GROUP_VERSIONS, becomes="Workload", namespaced=True),
    *(kind.manifest for kind in JOB_KINDS),
)

MANIFEST_KINDS: dict[str, ManifestKind] = {
    **{
        codec.kind.name: ManifestKind(
            name=codec.kind.name,
            versions=codec.versions,
            becomes=codec.kind.name,
            namespaced=codec.kind.is_namespaced,
            only_name=codec.only_name,
        )
        for codec in CODECS
    },
    **{kind.name: kind for kind in _OTHER_KINDS},
}
"""Every kind of manifest that is read, by its name."""

KIND_OF_STREAM: dict[str, str] = {
    **{codec.kind.stream_kind: codec.kind.name for codec in CODECS},
    "workload": "Workload",
}
"""Kind in the name of a stream (`clusterqueue`) to kind in a manifest (`ClusterQueue`)."""


def version_written(kind: str) -> str:
    """The apiVersion that objects of a kind are rendered in."""
    return MANIFEST_KINDS[kind].versions[0]


INSTEAD: dict[str, str] = {
    **dict.fromkeys(("DaemonSet", "ReplicaSet"), "KindIsWorkload"),
    **dict.fromkeys(("ElasticQuota", "ElasticQuotaTree", "Queue"), "KindIsClusterQueue"),
    **dict.fromkeys(("MultiKueueCluster", "MultiKueueConfig"), "KindOfController"),
}
"""Kinds that come with manifests for Kueue, KAI and Koordinator, and the codes of what
serves in their place."""


def read_kind(root: Fields) -> ManifestKind | None:
    """The kind; noted if there is none of that name, or not in that apiVersion."""
    name, version = root.text("kind"), root.text("apiVersion")
    kind = MANIFEST_KINDS.get(name)
    if kind is None:
        near, known = _nearest_kind(name, version), tuple(MANIFEST_KINDS)
        others = () if near else known
        code = INSTEAD.get(name, "KindUnknown")
        root.note("kind", code, kind=shown(name), nearest=near, known=others)
        return None
    if not version:
        root.note("apiVersion", "ApiVersionMissing", version=kind.versions[0])
    elif version not in kind.versions:
        root.note("apiVersion", "NotOneOf", value=shown(version), choices=kind.versions)
    return kind


def _nearest_kind(name: str, version: str) -> str | None:
    # What is of a group that has nothing here was hardly misspelt.
    ours = {known for kind in MANIFEST_KINDS.values() for known in kind.versions}
    return nearest(name, MANIFEST_KINDS.keys()) if not version or version in ours else None
