"""The openb trace: its files of hosts and pods, converted to objects and arrivals."""

import csv
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.replay.arrivals import Arrival, Object, ReplayInput, named, pod_set, workload
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

WHOLE_GPU_MILLI = 1_000


SECONDS_BETWEEN_ARRIVALS = 10


MEAN_RUN_SECONDS = 6 * 3_600
"""For files without times: together the pods use about the capacity of the cluster."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One machine; `model` is empty where it has no GPU."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


class TracePod(msgspec.Struct, frozen=True, kw_only=True):
    """One task; times in seconds of the trace, `models` are the GPU models it may run on."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    models: tuple[str, ...]
    quality: str
    created_at: int
    run_seconds: int


def read_hosts(path: Path) -> list[Host]:
    """Returns the hosts in file order."""
    return [
        Host(
            name=row["sn"],
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            gpus=int(row["gpu"] or 0),
            model=row["model"],
        )
        for row in _rows(path, {"sn", "cpu_milli", "memory_mib", "gpu", "model"})
    ]


def read_pods(path: Path) -> list[TracePod]:
    """Returns the pods in order of creation, those of one second in file order."""
    needed = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
    rows = _rows(path, needed)
    if rows and "creation_time" not in rows[0]:
        rows = _timed(rows)
    return sorted((_pod(row) for row in rows), key=lambda pod: pod.created_at)


def gpu_share(num_gpu: int, gpu_milli: int) -> int:
    """Returns the GPUs of a pod in thousandths; only a single GPU can be shared."""
    if num_gpu == 1:
        return gpu_milli
    return num_gpu * WHOLE_GPU_MILLI


def _timed(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns rows without times with steady arrivals and seeded run times."""
    timed: list[dict[str, str]] = []
    for index, row in enumerate(rows):
        created_at = index * SECONDS_BETWEEN_ARRIVALS
        length = seeded(row["name"]).expovariate(1 / MEAN_RUN_SECONDS)
        told = {"creation_time": str(created_at), "deletion_time": str(created_at + int(length))}
        timed.append({**row, **told})
    return timed


def _pod(row: dict[str, str]) -> TracePod:
    created_at = _seconds(row["creation_time"])
    started_at = _seconds(row.get("scheduled_time", "")) or created_at
    deleted_at = _seconds(row.get("deletion_time", "")) or started_at
    return TracePod(
        name=row["name"],
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
        gpu_milli=gpu_share(int(row["num_gpu"] or 0), int(row["gpu_milli"] or 0)),
        models=tuple(dict.fromkeys(word for word in row.get("gpu_spec", "").split("|") if word)),
        quality=row.get("qos", "") or "BE",
        created_at=created_at,
        run_seconds=max(0, deleted_at - started_at),
    )


def _seconds(text: str) -> int:
    return int(float(text)) if text else 0


def _rows(path: Path, needed: set[str]) -> list[dict[str, str]]:
    if not path.is_file():
        raise CommandFailed(f"file not found: {path}", code=ExitCode.USAGE)
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = needed - set(reader.fieldnames or ())
        if missing:
            raise CommandFailed(
                f"{path}: missing columns {', '.join(sorted(missing))}", code=ExitCode.USAGE
            )
        return list(reader)


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


def openb_replay(hosts: list[Host], pods: list[TracePod], run: str) -> ReplayInput:
    """Returns the objects and arrivals of the trace, in the namespace of the run."""
    namespace = f"openb-{run}"
    return ReplayInput(
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
    """Returns the models in flavor order: no GPU first, then the least scarce model."""
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
    """Returns nodes; hosts of a model in file order, 16 to a rack and 16 racks to a block."""
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
