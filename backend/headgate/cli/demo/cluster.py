"""The configuration of the demo: its hosts, queues, teams and priority classes."""

from itertools import product

from headgate.cli.replay.arrivals import Object, named

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
