"""Of which kind a manifest is, and what to write instead of the kinds of others."""

from difflib import get_close_matches

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.kinds import MANIFEST_KINDS, ManifestKind

_A_WORKLOAD = "Write a Workload with a pod set for each kind of its pods, or a Job or a JobSet."
_ITS_QUOTA = (
    "Write a ClusterQueue: nominalQuota is what it is sure of, borrowingLimit what is more."
)
_OF_A_CHECK = "Leave it out: it belongs to the controller of the AdmissionCheck that names it."

INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        (
            "AppWrapper",
            "DaemonSet",
            "Deployment",
            "JAXJob",
            "LeaderWorkerSet",
            "MPIJob",
            "PaddleJob",
            "Pod",
            "PyTorchJob",
            "RayCluster",
            "RayJob",
            "RayService",
            "ReplicaSet",
            "SparkApplication",
            "StatefulSet",
            "TFJob",
            "TrainJob",
            "XGBoostJob",
        ),
        _A_WORKLOAD,
    ),
    **dict.fromkeys(("ElasticQuota", "ElasticQuotaTree", "Queue"), _ITS_QUOTA),
    **dict.fromkeys(
        ("MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig"), _OF_A_CHECK
    ),
    "CronJob": "Send its jobTemplate as a Job each time it is due.",
    "PodGroup": "Write a Workload: its podSets are the pods of the group, and preemptibility, "
    "preemptionMode and priorityClassRef say of them what the group says.",
}
"""Kinds that come with manifests for Kueue, KAI and Koordinator, and what serves in their place."""


def read_kind(root: Fields) -> ManifestKind | None:
    """The kind; noted if there is none of that name, or not in that apiVersion."""
    name, version = root.text("kind"), root.text("apiVersion")
    kind = MANIFEST_KINDS.get(name)
    if kind is None:
        root.note("kind", f"There is no kind {name!r:.80} here.", _remedy(name, version))
        return None
    if not version:
        written = f"Write apiVersion: {kind.versions[0]}."
        root.note("apiVersion", f"A {name} says its apiVersion.", written)
    elif version not in kind.versions:
        accepted = ", ".join(kind.versions)
        rule = f"{name} is not known in apiVersion {version!r:.80}."
        root.note("apiVersion", rule, f"Use one of {accepted}.")
    return kind


def _remedy(name: str, version: str) -> str:
    if name in INSTEAD:
        return INSTEAD[name]
    # What is of a group that has nothing here was hardly misspelt.
    ours = {known for kind in MANIFEST_KINDS.values() for known in kind.versions}
    near = get_close_matches(name, MANIFEST_KINDS, 1) if not version or version in ours else []
    known = ", ".join(MANIFEST_KINDS)
    return f"Did you mean {near[0]}?" if near else f"Accepted are {known} and List."
