"""The small cluster the page is tested with, and the work it is given."""

from typing import Any

Object = dict[str, Any]
API_VERSION = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
RACK = "example.com/rack"
HOSTNAME = "kubernetes.io/hostname"

NAMESPACE = "team-a"
QUEUE = "gpu"
LENDER = "lender"
HOSTS = ("host-1", "host-2")
FLAVOR = {"nodeLabels": {"gpu": "a100"}, "topologyName": "cluster"}


def configuration() -> list[Object]:
    """One cohort of two queues on a rack of two hosts with four GPUs each."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        named("Topology", "cluster", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]}),
        named("ResourceFlavor", "a100", {"nodeLabels": {"gpu": "a100"}, "topologyName": "cluster"}),
        *(_host(name) for name in HOSTS),
        named("Cohort", "everyone", {}),
        _cluster_queue(QUEUE, "4"),
        _cluster_queue(LENDER, "4"),
        {
            "apiVersion": API_VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": NAMESPACE},
            "spec": {"clusterQueue": QUEUE},
        },
    ]


def workload(name: str, *, gpus: int = 1) -> Object:
    """A workload of one pod."""
    requests = {"cpu": "1", GPU: str(gpus)}
    container = {"name": "main", "image": "train", "resources": {"requests": requests}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "queueName": "main",
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": template,
                    "topologyRequest": {"required": HOSTNAME},
                }
            ],
        },
    }


def named(kind: str, name: str, spec: Object) -> Object:
    """A configured object of Headgate."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _cluster_queue(name: str, gpus: str) -> Object:
    resources = [
        {"name": "cpu", "nominalQuota": "16"},
        {"name": GPU, "nominalQuota": gpus},
    ]
    spec = {
        "cohortName": "everyone",
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", GPU],
                "flavors": [{"name": "a100", "resources": resources}],
            }
        ],
    }
    return named("ClusterQueue", name, spec)


def _host(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gpu": "a100", RACK: "rack-1", HOSTNAME: name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "16", "memory": "64Gi", GPU: "4", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
