"""The objects of the demo: hosts, queues, teams and classes, workloads, and staged incidents."""

from itertools import product
from typing import Any

import msgspec

from headgate.adapters.system.clocks_and_randomness import RandomSource, wall_clock
from headgate.cli.executor.behavior import FAILS, NEVER_READY, RUN_SECONDS, SAVE_SECONDS
from headgate.cli.replay.arrivals import Object, named, pod_set, workload
from headgate.cli.units import instant_of, timestamp_of
from headgate.client.client import HeadgateClient
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.specs import ELASTIC, REPLACES

TOPOLOGY = "campus"
BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
HOSTNAME = "kubernetes.io/hostname"
FLAVOR = "gpu-a100"
FLAVOR_LABEL = "headgate.dev/gpu-model"
GPU = "nvidia.com/gpu"
BLOCKS, RACKS_IN_A_BLOCK, HOSTS_IN_A_RACK = 2, 2, 4
GPUS_ON_A_HOST = 8


def machines() -> list[Object]:
    """Returns the topology, its flavor, and every host."""
    levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOSTNAME)]
    flavor = {"nodeLabels": {FLAVOR_LABEL: "a100"}, "topologyName": TOPOLOGY}
    return [
        named("Topology", TOPOLOGY, spec={"levels": levels}),
        named("ResourceFlavor", FLAVOR, spec=flavor),
        *hosts(),
    ]


def hosts() -> list[Object]:
    """Returns the hosts, named by block, rack and number."""
    paths = product(range(BLOCKS), range(RACKS_IN_A_BLOCK), range(HOSTS_IN_A_RACK))
    return [_host(block, rack, host) for block, rack, host in paths]


def _host(block: int, rack: int, host: int) -> Object:
    name = f"gpu-{block + 1}-{rack + 1}-{host + 1}"
    labels = {
        FLAVOR_LABEL: "a100",
        BLOCK: f"block-{block + 1}",
        RACK: f"rack-{block + 1}-{rack + 1}",
        HOSTNAME: name,
    }
    allocatable = {"cpu": "96", "memory": "768Gi", GPU: str(GPUS_ON_A_HOST), "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": allocatable, "conditions": [ready]}
    return named("Node", name, labels=labels, spec={}, status=status)


CAMPUS = "campus"
READY_TIMEOUT = "20s"
CHECK = "safety-review"
HANDLER = "checkpointer"
MAX_GRACE_SECONDS = 120

TEAMS: dict[str, tuple[str, int, int]] = {
    "vision": ("research", 48, 2),
    "language": ("research", 48, 1),
    "robotics": (CAMPUS, 32, 1),
}
"""The cohort, nominal GPUs and weight of each team; the GPUs add up to those of all hosts."""


LOCAL_QUEUES = {
    "vision": ("main", "interns"),
    "language": ("main", "students"),
    "robotics": ("main",),
}
"""The LocalQueues of each team; two of one team share by usage."""


CLASSES: tuple[Object, ...] = (
    {"name": "production", "value": 1_000},
    {"name": "research", "value": 500, "globalDefault": True, "maxProtectionDelta": 300},
    {"name": "patient", "value": 400, "preemptionPolicy": "Never"},
    {"name": "checkpointing", "value": 700},
    {"name": "scavenger", "value": 100, "preemptionPolicy": "Never"},
)
"""`checkpointing` is the preemption priority of workloads that save a checkpoint."""


def configuration() -> list[Object]:
    """Returns every object of the demo, each after those it references."""
    return [
        named("Configuration", "default", spec=_installation()),
        *(named("WorkloadPriorityClass", **found) for found in CLASSES),
        *machines(),
        named("AdmissionCheck", CHECK, spec={"controllerName": "example.com/safety-office"}),
        named("Cohort", CAMPUS, spec={}),
        named("Cohort", "research", spec={"parentName": CAMPUS, "fairSharing": {"weight": 2}}),
        *(each for team in TEAMS for each in _team(team)),
    ]


def _installation() -> Object:
    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    return {
        "fairSharing": {"preemptionStrategies": strategies},
        "admissionFairSharing": {
            "usageHalfLifeTime": "5m",
            "usageSamplingInterval": "30s",
            "resourceWeights": {GPU: 1, "cpu": 0, "memory": 0},
        },
    }


def _team(team: str) -> list[Object]:
    namespace = f"team-{team}"
    to = {"clusterQueue": team}
    budget = {"selector": {"matchLabels": {"sort": "serve"}}, "minAvailable": 1}
    return [
        named("Namespace", namespace),
        named("ClusterQueue", team, spec=_queue(team)),
        *(named("LocalQueue", queue, namespace=namespace, spec=to) for queue in LOCAL_QUEUES[team]),
        named("DisruptionBudget", "services", namespace=namespace, spec=budget),
    ]


def _queue(team: str) -> Object:
    cohort, gpus, weight = TEAMS[team]
    quotas = {"cpu": str(gpus * 12), "memory": f"{gpus * 96}Gi", GPU: str(gpus)}
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    group = {
        "coveredResources": list(quotas),
        "flavors": [{"name": FLAVOR, "resources": resources}],
    }
    found: Object = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "fairSharing": {"weight": weight},
        "waitForPodsReady": _readiness(),
        "preemption": _preemption(),
        "resourceGroups": [group],
    }
    if len(LOCAL_QUEUES[team]) > 1:
        found["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    if team == "robotics":
        found["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
    return found


def _readiness() -> Object:
    """Returns the readiness rules: evicted after a timeout, requeued with growing backoff."""
    backoff = {"backoffLimitCount": 2, "backoffBaseSeconds": 5, "backoffMaxSeconds": 30}
    return {"timeout": READY_TIMEOUT, "requeuingStrategy": backoff}


def _preemption() -> Object:
    return {
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "LowerPriority",
        "softEviction": {"maxGraceSeconds": MAX_GRACE_SECONDS},
    }


LABEL = "headgate.dev/demo"
GATE = "data-is-loaded"


class WorkloadTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A template of demo workloads: possible sizes, run time and relative frequency.

    `saves` is the seconds that a checkpoint takes before an eviction; None without checkpoints.
    """

    name: str
    pods: tuple[int, ...]
    gpus: tuple[int, ...]
    seconds: tuple[int, int]
    weight: int
    topology: Object | None = None
    saves: tuple[int, int] | None = None
    classes: tuple[str, ...] = ("production", "research", "research", "patient", "scavenger")
    spec: dict[str, Any] = {}
    annotations: dict[str, str] = {}


TEMPLATES = (
    WorkloadTemplate(name="train", pods=(4, 4, 8), gpus=(4, 8), seconds=(60, 150), weight=3,
         topology={"required": RACK}, saves=(6, 20)),
    WorkloadTemplate(name="pretrain", pods=(6, 8), gpus=(8,), seconds=(60, 120), weight=1,
         topology={"preferred": BLOCK}, saves=(10, 40)),
    WorkloadTemplate(name="sweep", pods=(2, 4), gpus=(1, 2), seconds=(20, 60), weight=4,
         topology={"unconstrained": True}, classes=("research", "scavenger", "scavenger")),
    WorkloadTemplate(name="notebook", pods=(1,), gpus=(1,), seconds=(30, 90), weight=3,
         topology={"unconstrained": True}),
    WorkloadTemplate(name="serve", pods=(2,), gpus=(1, 2), seconds=(120, 240), weight=1,
         topology={"unconstrained": True}, classes=("research",)),
    WorkloadTemplate(name="simulate", pods=(2, 3), gpus=(1,), seconds=(60, 120), weight=1,
         classes=("scavenger", "research"), annotations={ELASTIC: "true"}),
    WorkloadTemplate(name="release", pods=(1,), gpus=(2,), seconds=(40, 80), weight=1,
         classes=("production",), spec={"preemptibility": "NonPreemptible"}),
)  # fmt: skip

FAILURE_RATE = 0.06
NEVER_READY_RATE = 0.04
TOO_LARGE_RATE = 0.02
GATED_RATE = 0.3
WAIT_ON_DEADLINE_RATE = 0.2


def next_workload(chance: RandomSource, serial: str) -> Object:
    """Returns the next workload to submit."""
    team = chance.choice(sorted(TEAMS))
    sort = chance.choices(TEMPLATES, weights=[each.weight for each in TEMPLATES])[0]
    gpus = chance.choice(sort.gpus)
    if chance.random() < TOO_LARGE_RATE:
        gpus = GPUS_ON_A_HOST + 1
    requests = {"cpu": str(gpus * 10), "memory": f"{gpus * 80}Gi", GPU: str(gpus)}
    manifest = workload(
        namespace=f"team-{team}",
        name=f"{sort.name}-{serial}",
        queue=chance.choice(LOCAL_QUEUES[team]),
        priority_class=chance.choice(sort.classes),
        pod_set=pod_set(requests, count=chance.choice(sort.pods), topology=sort.topology),
        run="demo",
    )
    metadata = manifest["metadata"]
    metadata["labels"] = {LABEL: "true", "sort": sort.name}
    metadata["annotations"] = {**_behavior(chance, sort), **sort.annotations}
    manifest["spec"] |= {**sort.spec, **_eviction_policy(chance, sort), **_gates(chance, manifest)}
    return manifest


def grown(manifest: Object, serial: str) -> Object:
    """Returns an elastic workload with one more pod, which replaces the workload slice."""
    metadata, spec = manifest["metadata"], manifest["spec"]
    (pods,) = spec["podSets"]
    asked = {name: spec[name] for name in ("queueName", "priorityClassRef") if name in spec}
    replaced = f"{metadata['namespace']}/{metadata['name']}"
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": "Workload",
        "metadata": {
            "name": f"simulate-{serial}",
            "namespace": metadata["namespace"],
            "labels": metadata["labels"],
            "annotations": {**metadata["annotations"], REPLACES: replaced},
        },
        "spec": {**asked, "podSets": [{**pods, "count": pods["count"] + 1}]},
    }


def _behavior(chance: RandomSource, sort: WorkloadTemplate) -> dict[str, str]:
    annotations = {RUN_SECONDS: str(chance.randint(*sort.seconds))}
    if sort.saves is not None:
        annotations[SAVE_SECONDS] = str(chance.randint(*sort.saves))
    draw = chance.random()
    if draw < FAILURE_RATE:
        annotations[FAILS] = "true"
    elif draw < FAILURE_RATE + NEVER_READY_RATE:
        annotations[NEVER_READY] = "true"
    return annotations


def _eviction_policy(chance: RandomSource, sort: WorkloadTemplate) -> Object:
    """Returns soft eviction for training; the checkpoint can take longer than the grace period."""
    if sort.saves is None:
        return {}
    on_deadline = "Wait" if chance.random() < WAIT_ON_DEADLINE_RATE else "Force"
    policy = {"mode": "Soft", "gracePeriodSeconds": 30, "handler": HANDLER}
    return {"evictionPolicy": {**policy, "onDeadline": on_deadline}}


def _gates(chance: RandomSource, manifest: Object) -> Object:
    """Returns a preemption gate for some of the production workloads."""
    is_urgent = manifest["spec"]["priorityClassName"] == "production"
    if is_urgent and chance.random() < GATED_RATE:
        return {"preemptionGates": [{"name": GATE}]}
    return {}


HELD_SECONDS = 45
GATED_SECONDS = 20
DEMO_WORKLOADS = {"labelSelector": f"{LABEL}=true"}
MAINTENANCE_DONE = {"reason": "maintenance finished"}


class Incidents:
    """Stages one incident at a time; the incident after a cordon is its uncordon."""

    def __init__(self, client: HeadgateClient, chance: RandomSource) -> None:
        self._client = client
        self._chance = chance
        self._cordoned = ""

    def stage_next(self) -> None:
        """Stages the next incident."""
        if self._cordoned:
            path, self._cordoned = f"/v1/nodes/{self._cordoned}/uncordon", ""
            self._client.act(path, MAINTENANCE_DONE)
            return
        self._chance.choice((self._cordon, self._hold_a_workload, self._stop_a_local_queue))()

    def release_leftovers(self) -> None:
        """Uncordons nodes that an earlier run left cordoned."""
        ours = {each["metadata"]["name"] for each in hosts()}
        for node in self._client.items("/v1/nodes"):
            name = node["metadata"]["name"]
            if name in ours and node.get("spec", {}).get("unschedulable"):
                self._client.act(f"/v1/nodes/{name}/uncordon", MAINTENANCE_DONE)

    def open_gates(self) -> None:
        """Opens the preemption gates of workloads that have been pending for a while."""
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **DEMO_WORKLOADS}):
            if seconds_since_submission(found) > GATED_SECONDS and _is_gated(found):
                opened = {"name": GATE, "position": "Open"}
                self._client.act(f"{path_of(found)}/preemption-gates", opened)

    def _cordon(self) -> None:
        name = self._chance.choice(hosts())["metadata"]["name"]
        self._client.act(f"/v1/nodes/{name}/cordon", {"reason": "fan maintenance"})
        self._cordoned = name

    def _hold_a_workload(self) -> None:
        pending = {"phase": "Pending", "limit": "1", **DEMO_WORKLOADS}
        for found in self._client.read("/v1/workloads", pending)["items"]:
            self._client.act(f"{path_of(found)}/hold", _for_a_while("data set under review"))

    def _stop_a_local_queue(self) -> None:
        team = self._chance.choice(
            sorted(team for team, queues in LOCAL_QUEUES.items() if len(queues) > 1)
        )
        path = f"/v1/namespaces/team-{team}/localqueues/{LOCAL_QUEUES[team][1]}/stop"
        self._client.act(path, _for_a_while("exam week"))


def seconds_since_submission(found: Object) -> int:
    """Returns the seconds since a workload was submitted."""
    since = wall_clock() - instant_of(found["metadata"]["creationTimestamp"])
    return since // MICROSECONDS_PER_SECOND


def path_of(found: Object) -> str:
    """Returns the API path of a workload."""
    metadata = found["metadata"]
    return f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"


def _for_a_while(reason: str) -> Object:
    ends_at = wall_clock() + HELD_SECONDS * MICROSECONDS_PER_SECOND
    return {"reason": reason, "expiresAt": timestamp_of(ends_at)}


def _is_gated(found: Object) -> bool:
    return any(gate["position"] == "Closed" for gate in found["status"].get("preemptionGates", ()))
