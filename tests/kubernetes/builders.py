"""Builders of pods and executors for tests over the double of the API server."""

from pathlib import Path
from typing import Any

from headgate.executor.substrates.kubernetes.access import find_access
from headgate.executor.substrates.kubernetes.cluster import KubernetesCluster, KubernetesSettings
from headgate.executor.substrates.kubernetes.pod_manifest import ManifestRules
from tests.executors.pods import eventually
from tests.kubernetes.kubelet import Cluster

EXECUTOR = "kube"


def podded(
    *, exit_code: int = 0, lasts: bool = False, output: str = "", fault: str = "", **spec: Any
) -> Any:
    """A template of pods that do what their annotations say."""
    annotations = {"test/exit-code": str(exit_code), "test/output": output, "test/fault": fault}
    if lasts:
        annotations["test/lasts"] = "true"
    container = {"name": "main", "image": "registry.example.com/train", "command": ["train"]}
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [container], **spec}}


def cluster_of(cluster: Cluster, directory: Path, **settings: Any) -> KubernetesCluster:
    """An executor's view of the double, once it knows its pods and nodes."""
    usual = {
        "notice_seconds": 0.05,
        "output_seconds": 5.0,
        "removal_seconds": 0.0,
        "follow_after_seconds": 0.0,
        "rules": ManifestRules(executor=EXECUTOR),
    }
    access = find_access(str(cluster.api.kubeconfig(directory / "kubeconfig")))
    made = KubernetesCluster(KubernetesSettings(**{**usual, **settings}), access)
    eventually(made.is_known)
    return made
