"""The demo's machines: two blocks, four racks, sixteen hosts of eight GPUs."""

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
    """The topology, the flavor on it, and every host."""
    levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOSTNAME)]
    flavor = {"nodeLabels": {FLAVOR_LABEL: "a100"}, "topologyName": TOPOLOGY}
    return [
        named("Topology", TOPOLOGY, spec={"levels": levels}),
        named("ResourceFlavor", FLAVOR, spec=flavor),
        *hosts(),
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
