"""Which kinds of manifests there are, in which versions, and what each becomes."""

from typing import Literal

import msgspec

KUEUE = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
KUEUE_ALPHA = "kueue.x-k8s.io/v1alpha1"
"""Where Topology and Cohort began, with the fields that they have now."""

OURS = "headgate.dev/v1"
KUEUE_CONFIGURATION = ("config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1")

ObjectKind = Literal[
    "ClusterQueue",
    "LocalQueue",
    "Cohort",
    "ResourceFlavor",
    "Topology",
    "Node",
    "WorkloadPriorityClass",
    "AdmissionCheck",
    "DisruptionBudget",
    "Namespace",
    "Configuration",
    "LimitRange",
    "RuntimeClass",
    "Workload",
]


class ManifestKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of manifest: the versions it is read in (the first is written), and our kind.

    `only_name` is the name of the one object of a kind of which there is one.
    """

    name: str
    versions: tuple[str, ...]
    becomes: ObjectKind
    namespaced: bool = False
    only_name: str = ""


_KINDS = (
    ManifestKind(name="ClusterQueue", versions=(*KUEUE, OURS), becomes="ClusterQueue"),
    ManifestKind(name="LocalQueue", versions=(*KUEUE, OURS), becomes="LocalQueue", namespaced=True),
    ManifestKind(name="Cohort", versions=(*KUEUE, KUEUE_ALPHA, OURS), becomes="Cohort"),
    ManifestKind(name="ResourceFlavor", versions=(*KUEUE, OURS), becomes="ResourceFlavor"),
    ManifestKind(name="Topology", versions=(*KUEUE, KUEUE_ALPHA, OURS), becomes="Topology"),
    ManifestKind(
        name="WorkloadPriorityClass", versions=(*KUEUE, OURS), becomes="WorkloadPriorityClass"
    ),
    ManifestKind(name="AdmissionCheck", versions=(*KUEUE, OURS), becomes="AdmissionCheck"),
    ManifestKind(name="Workload", versions=(*KUEUE, OURS), becomes="Workload", namespaced=True),
    ManifestKind(
        name="DisruptionBudget", versions=(OURS,), becomes="DisruptionBudget", namespaced=True
    ),
    ManifestKind(name="Node", versions=("v1", OURS), becomes="Node"),
    ManifestKind(name="Namespace", versions=("v1", OURS), becomes="Namespace"),
    ManifestKind(
        name="Configuration",
        versions=(OURS, *KUEUE_CONFIGURATION),
        becomes="Configuration",
        only_name="default",
    ),
    ManifestKind(name="LimitRange", versions=("v1", OURS), becomes="LimitRange", namespaced=True),
    ManifestKind(name="RuntimeClass", versions=("node.k8s.io/v1", OURS), becomes="RuntimeClass"),
    ManifestKind(
        name="PriorityClass",
        versions=("scheduling.k8s.io/v1",),
        becomes="WorkloadPriorityClass",
    ),
    ManifestKind(name="Job", versions=("batch/v1",), becomes="Workload", namespaced=True),
    ManifestKind(
        name="JobSet", versions=("jobset.x-k8s.io/v1alpha2",), becomes="Workload", namespaced=True
    ),
)

MANIFEST_KINDS = {kind.name: kind for kind in _KINDS}


def version_written(kind: str) -> str:
    """The apiVersion that objects of our `kind` are rendered in."""
    return MANIFEST_KINDS[kind].versions[0]
