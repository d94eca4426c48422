"""The demo's configuration: two blocks, four racks, sixteen hosts, three teams in one cohort."""

from itertools import product

from headgate.cli.replay.arrivals import Object, named

TOPOLOGY = "campus"
BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
HOSTNAME = "kubernetes.io/hostname"
FLAVOR = "gpu-a100"
FLAVOR_LABEL = "headgate.dev/gpu-model"
GPU = "nvidia.com/gpu"
COHORT = "research"

BLOCKS, RACKS_IN_A_BLOCK, HOSTS_IN_A_RACK = 2, 2, 4
GPUS_ON_A_HOST = 8
TEAMS = {"vision": 48, "language": 48, "robotics": 32}
"""Each team's GPUs; together as many as there are."""

PRIORITIES = {"production": 1_000, "research": 500, "scavenger": 100}
READY_TIMEOUT = "20s"


def configuration() -> list[Object]:
    """Every object of the demo, in an order in which each finds what it names."""
    levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOSTNAME)]
    flavor = {"nodeLabels": {FLAVOR_LABEL: "a100"}, "topologyName": TOPOLOGY}
    return [
        *(named("WorkloadPriorityClass", name, value=value) for name, value in PRIORITIES.items()),
        named("Topology", TOPOLOGY, spec={"levels": levels}),
        named("ResourceFlavor", FLAVOR, spec=flavor),
        *hosts(),
        named("Cohort", COHORT, spec={}),
        *(each for team, gpus in TEAMS.items() for each in _team(team, gpus)),
    ]


def hosts() -> list[Object]:
    """The hosts, named by their place."""
    places = product(range(BLOCKS), range(RACKS_IN_A_BLOCK), range(HOSTS_IN_A_RACK))
    return [_host(block, rack, host) for block, rack, host in places]


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


def _team(team: str, gpus: int) -> list[Object]:
    namespace = f"team-{team}"
    return [
        named("Namespace", namespace),
        named("ClusterQueue", team, spec=_queue(gpus)),
        named("LocalQueue", "main", namespace=namespace, spec={"clusterQueue": team}),
    ]


def _queue(gpus: int) -> Object:
    quotas = {"cpu": str(gpus * 12), "memory": f"{gpus * 96}Gi", GPU: str(gpus)}
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    return {
        "cohortName": COHORT,
        "namespaceSelector": {},
        "waitForPodsReady": {
            "timeout": READY_TIMEOUT,
            "requeuingStrategy": {
                "backoffLimitCount": 2,
                "backoffBaseSeconds": 5,
                "backoffMaxSeconds": 30,
            },
        },
        "preemption": {
            "reclaimWithinCohort": "Any",
            "withinClusterQueue": "LowerPriority",
        },
        "resourceGroups": [
            {
                "coveredResources": list(quotas),
                "flavors": [{"name": FLAVOR, "resources": resources}],
            }
        ],
    }
