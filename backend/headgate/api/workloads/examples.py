"""A workload as the documentation shows one."""

WORKLOAD = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "train-7", "namespace": "team-a", "labels": {"project": "vision"}},
    "spec": {
        "queueName": "training",
        "priorityClassRef": {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "high",
        },
        "podSets": [
            {
                "name": "main",
                "count": 4,
                "topologyRequest": {"required": "cloud.provider.com/topology-rack"},
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "trainer",
                                "resources": {"requests": {"cpu": "8", "nvidia.com/gpu": "8"}},
                            }
                        ]
                    }
                },
            }
        ],
    },
}
