"""The openb trace as objects: hosts in racks, flavors by GPU model, pods as workloads."""

from collections.abc import Iterable

from headgate.cli.replay.arrivals import Arrival, Object, Play, named, pod_set, workload
from headgate.cli.replay.openb_trace import WHOLE_GPU_MILLI, Host, TracePod
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

MODEL_LABEL = "headgate.dev/gpu-model"
BLOCK_LABEL = "headgate.dev/block"
RACK_LABEL = "headgate.dev/rack"
HOSTNAME_LABEL = "kubernetes.io/hostname"
GPU_MILLI = "nvidia.com/gpu-milli"
NO_GPU = "none"
HOSTS_IN_A_RACK = 16
RACKS_IN_A_BLOCK = 16
PODS_ON_A_HOST = 1_000
QUEUE = "openb"

PRIORITIES = {"Guaranteed": 1_000, "LS": 1_000, "Burstable": 500, "BE": 100}
"""The trace's qos as priority: Guaranteed and LS above Burstable above BE."""


def openb_play(hosts: list[Host], pods: list[TracePod], run: str) -> Play:
    """All of it, in the namespace of this run."""
    namespace = f"openb-{run}"
    return Play(
        name="openb",
        namespace=namespace,
        configuration=_configuration(hosts, namespace),
        arrivals=[_arrival(pod, namespace, run) for pod in pods],
        nominal=_total(hosts),
    )


def _configuration(hosts: list[Host], namespace: str) -> list[Object]:
    levels = [{"nodeLabel": label} for label in (BLOCK_LABEL, RACK_LABEL, HOSTNAME_LABEL)]
    models = _models(hosts)
    return [
        named("Namespace", namespace),
        named("Topology", QUEUE, spec={"levels": levels}),
        *(named("WorkloadPriorityClass", _class_name(quality), value=value)
          for quality, value in PRIORITIES.items()),
        *(named("ResourceFlavor", _flavor(model), spec=_flavor_spec(model)) for model in models),
        *_nodes(hosts),
        named("ClusterQueue", QUEUE, spec=_queue_spec(hosts, models)),
        named("LocalQueue", QUEUE, namespace=namespace, spec={"clusterQueue": QUEUE}),
    ]  # fmt: skip


def _models(hosts: list[Host]) -> list[str]:
    """Models in order of preference: hosts without GPU first, then the least scarce model."""
    counts: dict[str, int] = {}
    for host in hosts:
        counts[host.model] = counts.get(host.model, 0) + max(host.gpus, 1)
    return sorted(counts, key=lambda model: (model != "", -counts[model], model))


def _flavor_spec(model: str) -> Object:
    return {"nodeLabels": {MODEL_LABEL: model or NO_GPU}, "topologyName": QUEUE}


def _queue_spec(hosts: list[Host], models: list[str]) -> Object:
    return {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", GPU_MILLI],
                "flavors": [_flavor_quotas(hosts, model) for model in models],
            }
        ],
    }


def _flavor_quotas(hosts: list[Host], model: str) -> Object:
    total = _total(host for host in hosts if host.model == model)
    quantities = {
        "cpu": f"{total['cpu']}m",
        "memory": f"{total['memory'] >> 20}Mi",
        GPU_MILLI: str(total[GPU_MILLI]),
    }
    resources = [{"name": name, "nominalQuota": value} for name, value in quantities.items()]
    return {"name": _flavor(model), "resources": resources}


def _total(hosts: Iterable[Host]) -> dict[str, int]:
    total = {"cpu": 0, "memory": 0, GPU_MILLI: 0}
    for host in hosts:
        total["cpu"] += host.cpu_milli
        total["memory"] += host.memory_mib << 20
        total[GPU_MILLI] += host.gpus * WHOLE_GPU_MILLI
    return total


def _nodes(hosts: list[Host]) -> list[Object]:
    """Hosts of one model, in file order, 16 to a rack and 16 racks to a block."""
    seen: dict[str, int] = {}
    found: list[Object] = []
    for host in hosts:
        index = seen.get(host.model, 0)
        seen[host.model] = index + 1
        found.append(_node(host, index // HOSTS_IN_A_RACK))
    return found


def _node(host: Host, rack: int) -> Object:
    place = _flavor(host.model)
    labels = {
        MODEL_LABEL: host.model or NO_GPU,
        BLOCK_LABEL: f"{place}-block-{rack // RACKS_IN_A_BLOCK}",
        RACK_LABEL: f"{place}-rack-{rack}",
        HOSTNAME_LABEL: host.name,
    }
    allocatable = {
        "cpu": f"{host.cpu_milli}m",
        "memory": f"{host.memory_mib}Mi",
        GPU_MILLI: str(host.gpus * WHOLE_GPU_MILLI),
        "pods": str(PODS_ON_A_HOST),
    }
    return named(
        "Node",
        host.name,
        labels=labels,
        spec={},
        status={
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )


def _arrival(pod: TracePod, namespace: str, run: str) -> Arrival:
    wanted = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    if pod.gpu_milli:
        wanted[GPU_MILLI] = str(pod.gpu_milli)
    manifest = workload(
        namespace=namespace,
        name=pod.name,
        queue=QUEUE,
        priority_class=_class_name(pod.quality),
        pod_set=pod_set(wanted, pod=_affinity(pod), topology={"unconstrained": True}),
        run=run,
    )
    return Arrival(
        key=f"{namespace}/{pod.name}",
        at=pod.created_at * MICROSECONDS_PER_SECOND,
        run_length=pod.run_seconds * MICROSECONDS_PER_SECOND,
        label=pod.quality,
        requests={"cpu": pod.cpu_milli, "memory": pod.memory_mib << 20, GPU_MILLI: pod.gpu_milli},
        manifest=manifest,
    )


def _affinity(pod: TracePod) -> Object:
    if not pod.models:
        return {}
    wish = {"key": MODEL_LABEL, "operator": "In", "values": list(pod.models)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _flavor(model: str) -> str:
    return f"openb-{(model or 'cpu').lower()}"


def _class_name(quality: str) -> str:
    return f"openb-{quality.lower()}"
