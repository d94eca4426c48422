"""What `kubectl get ... -o yaml` writes of a cluster with Kueue, of any size."""

from collections.abc import Iterator
from typing import Any

import yaml

Object = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
HOSTNAME = "kubernetes.io/hostname"
BEGIN = "2026-10-01T06:{:02}:{:02}Z"
CPU_OF_HOST = 8
CPU_OF_POD = 2
PODS_OF_HOST = CPU_OF_HOST // CPU_OF_POD


def time_of(number: int) -> str:
    """The time at which the object of a number was created: each a second after the one before."""
    return BEGIN.format(number // 60 % 60, number % 60)


def an_object(kind: str, name: str, version: str = KUEUE, **parts: Any) -> Object:
    """An object as the API server shows it."""
    metadata = {
        "name": name,
        "uid": f"uid-of-{kind.lower()}-{name}",
        "resourceVersion": "4711",
        "generation": 1,
        "creationTimestamp": time_of(0),
        "managedFields": [{"manager": "kubectl", "operation": "Update"}],
        **parts.pop("metadata", {}),
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


class KueueCluster:
    """A cluster with two ClusterQueues of one cohort; its name is part of all names."""

    def __init__(self, name: str, hosts: int, *, nominal_hosts: int | None = None) -> None:
        self.name = name
        self.hosts = [f"{name}-host-{number}" for number in range(hosts)]
        self.namespace = f"team-{name}"
        self.checks: list[str] = []
        self._nominal = hosts if nominal_hosts is None else nominal_hosts
        self.workloads: list[Object] = []

    def objects(self) -> list[Object]:
        """Everything, workloads first and the newest of them before the others."""
        return [*self.workloads[::-1], *self._configuration()]

    def admit(self, places: dict[str, int], queue: str = "first", **spec: Any) -> Object:
        """A workload of which the pods run on these hosts."""
        number = len(self.workloads)
        conditions = [
            condition(kind, number) for kind in ("QuotaReserved", "Admitted", "PodsReady")
        ]
        status = {"admission": self._admission(queue, places), "conditions": conditions}
        return self._workload(sum(places.values()), queue, status, spec)

    def submit(self, count: int = 1, queue: str = "first", **status: Any) -> Object:
        """A workload that is pending."""
        return self._workload(count, queue, {"conditions": [], **status}, {})

    def fill(self) -> None:
        """Fills the hosts with workloads of one and two pods, of both queues."""
        for first in range(0, len(self.hosts), 2):
            pair = self.hosts[first : first + 2]
            queue = "second" if first % 4 else "first"
            for _ in range(2):
                self.admit(dict.fromkeys(pair, 1), queue)
            for one in pair:
                for _ in range(PODS_OF_HOST - 2):
                    self.admit({one: 1}, queue)

    def _workload(self, count: int, queue: str, status: Object, spec: Object) -> Object:
        number = len(self.workloads)
        name = f"{self.name}-{number}"
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-of-{name}"}
        resources = {"requests": {"cpu": str(CPU_OF_POD)}}
        template = {
            "metadata": {"creationTimestamp": None},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "train:1", "resources": resources}],
            },
        }
        request = {"preferred": "rack"}
        pod_set = {"name": "main", "count": count, "template": template, "topologyRequest": request}
        metadata = {
            "namespace": self.namespace,
            "creationTimestamp": time_of(number),
            "ownerReferences": [{**owner, "controller": True}],
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        }
        queue_name = f"{self.name}-{queue}"
        told = {"active": True, "priority": 0, "queueName": queue_name, "podSets": [pod_set]}
        found = an_object("Workload", name, metadata=metadata, spec=told | spec, status=status)
        self.workloads.append(found)
        return found

    def _admission(self, queue: str, places: dict[str, int]) -> Object:
        """An admission as v1beta2 writes it."""
        hosts, counts = list(places), list(places.values())
        values = {"individual": {"roots": hosts}} if len(hosts) > 1 else {"universal": hosts[0]}
        counted = {"individual": counts} if len(counts) > 1 else {"universal": counts[0]}
        part = {"domainCount": len(hosts), "valuesPerLevel": [values], "podCounts": counted}
        assigned = {
            "name": "main",
            "flavors": {"cpu": self.name},
            "resourceUsage": {"cpu": str(CPU_OF_POD * sum(counts))},
            "count": sum(counts),
            "topologyAssignment": {"levels": [HOSTNAME], "slices": [part]},
        }
        return {"clusterQueue": f"{self.name}-{queue}", "podSetAssignments": [assigned]}

    def _configuration(self) -> Iterator[Object]:
        levels = [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]
        yield an_object("Topology", self.name, spec={"levels": levels})
        flavor = {"topologyName": self.name, "nodeLabels": {"tier": self.name}}
        yield an_object("ResourceFlavor", self.name, spec=flavor)
        yield an_object("Cohort", self.name, spec={})
        for check in self.checks:
            yield an_object("AdmissionCheck", check, spec={"controllerName": "example.com/checks"})
        for queue, hosts in (("first", self._nominal), ("second", 0)):
            yield self._cluster_queue(f"{self.name}-{queue}", hosts)
            yield an_object(
                "LocalQueue",
                f"{self.name}-{queue}",
                metadata={"namespace": self.namespace},
                spec={"clusterQueue": f"{self.name}-{queue}", "stopPolicy": "None"},
            )
        for number, name in enumerate(self.hosts):
            yield self._node(name, number)

    def _cluster_queue(self, name: str, hosts: int) -> Object:
        quota = {"name": "cpu", "nominalQuota": str(hosts * CPU_OF_HOST)}
        reserved = sum(
            CPU_OF_POD * given["podSetAssignments"][0]["count"]
            for each in self.workloads
            if (given := each["status"].get("admission")) and given["clusterQueue"] == name
        )
        total = {"name": "cpu", "total": str(reserved), "borrowed": "0"}
        flavors = [{"name": self.name, "resources": [quota]}]
        return an_object(
            "ClusterQueue",
            name,
            spec={
                "cohortName": self.name,
                "namespaceSelector": {},
                "queueingStrategy": "BestEffortFIFO",
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
                **self._checks_of_queues(),
            },
            status={"flavorsReservation": [{"name": self.name, "resources": [total]}]},
        )

    def _checks_of_queues(self) -> Object:
        named = [{"name": check} for check in self.checks]
        return {"admissionChecksStrategy": {"admissionChecks": named}} if named else {}

    def _node(self, name: str, number: int) -> Object:
        labels = {HOSTNAME: name, "rack": f"{self.name}-rack-{number // 8}", "tier": self.name}
        amounts = {"cpu": str(CPU_OF_HOST), "memory": "32Gi", "pods": "110"}
        status = {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
        }
        spec = {"podCIDR": "10.1.0.0/24"}
        return an_object("Node", name, "v1", metadata={"labels": labels}, spec=spec, status=status)


def condition(kind: str, number: int, status: str = "True", reason: str = "") -> Object:
    """A condition of the workload of a number, some seconds after it was created."""
    at = time_of(number + 5)
    return {"type": kind, "status": status, "reason": reason or kind, "lastTransitionTime": at}


def as_kubectl_writes(objects: list[Object]) -> str:
    """One List, as `kubectl get` writes several kinds."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump({"apiVersion": "v1", "kind": "List", "items": objects}, Dumper=dumper))
