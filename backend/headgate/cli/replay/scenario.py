"""Scalability scenarios of Kueue: their files, converted to objects and arrivals."""

from itertools import product
from pathlib import Path

import msgspec

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.replay.arrivals import Arrival, Object, ReplayInput, named, pod_set, workload

HOSTNAME_LABEL = "kubernetes.io/hostname"
FLAVOR_LABEL = "headgate.dev/scenario"
PODS_ON_A_HOST = 1_000
MICROSECONDS_PER_MILLISECOND = 1_000


class TopologyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The topology request of a pod set."""

    mode: str
    level: str
    slice_size: int | None = None


class WorkloadSet(msgspec.Struct, frozen=True, kw_only=True):
    """`count` equal workloads for each queue, one every `create_every_ms`."""

    label: str = msgspec.field(name="class")
    count: int
    create_every_ms: int
    runtime_ms: int
    priority: int
    pods: int
    cpu_milli_per_pod: int
    topology: TopologyRequest | None = None


class ScenarioQueue(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of every ClusterQueue."""

    nominal_cpu_milli: int
    borrowing_limit_cpu_milli: int
    preemption: dict[str, str]
    workload_sets: list[WorkloadSet]


class Level(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One level of the topology; `count` is for each domain of the level above."""

    node_label: str
    count: int
    allocatable: dict[str, str] = {}


class ScenarioTopology(msgspec.Struct, frozen=True, kw_only=True):
    """The levels of the topology, widest first."""

    levels: list[Level]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a scenario file."""

    name: str
    cohorts: int
    queues_per_cohort: int
    queue: ScenarioQueue
    topology: ScenarioTopology | None = None
    published: dict[str, object] = {}

    def scaled(self, cohorts: int, queues: int) -> "Scenario":
        """Returns the scenario with other numbers of cohorts and queues per cohort; 0 keeps one."""
        return msgspec.structs.replace(
            self,
            cohorts=cohorts or self.cohorts,
            queues_per_cohort=queues or self.queues_per_cohort,
        )


def read_scenario(path: Path) -> Scenario:
    """Returns the scenario of a file; raises `CommandFailed` for an invalid one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scenario)
    except (OSError, msgspec.DecodeError) as failure:
        raise CommandFailed(
            f"{path} is not a scenario: {failure}", code=ExitCode.USAGE
        ) from failure


def scenario_replay(scenario: Scenario, run: str) -> ReplayInput:
    """Returns the objects and arrivals of a scenario, in the namespace of the run."""
    namespace = f"{scenario.name}-{run}"
    pairs = list(product(range(scenario.cohorts), range(scenario.queues_per_cohort)))
    queues = [f"{scenario.name}-{cohort}-{index}" for cohort, index in pairs]
    arrivals = [
        _arrival(scenario, wanted, queue, number, run)
        for queue in queues
        for wanted in scenario.queue.workload_sets
        for number in range(wanted.count)
    ]
    return ReplayInput(
        name=scenario.name,
        namespace=namespace,
        configuration=_configuration(scenario, namespace),
        arrivals=sorted(arrivals, key=lambda arrival: (arrival.at, arrival.key)),
        nominal={"cpu": scenario.queue.nominal_cpu_milli * len(queues)},
        reports_ready=False,
    )


def _configuration(scenario: Scenario, namespace: str) -> list[Object]:
    priorities = sorted({wanted.priority for wanted in scenario.queue.workload_sets})
    return [
        named("Namespace", namespace),
        *(named("WorkloadPriorityClass", _class_name(value), value=value) for value in priorities),
        *_topology(scenario),
        named("ResourceFlavor", scenario.name, spec=_flavor_spec(scenario)),
        *_queues(scenario, namespace),
    ]


def _flavor_spec(scenario: Scenario) -> Object:
    if scenario.topology is None:
        return {}
    return {"nodeLabels": {FLAVOR_LABEL: scenario.name}, "topologyName": scenario.name}


def _queues(scenario: Scenario, namespace: str) -> list[Object]:
    found: list[Object] = []
    for cohort in range(scenario.cohorts):
        found.append(named("Cohort", f"{scenario.name}-{cohort}", spec={}))
        for index in range(scenario.queues_per_cohort):
            name = f"{scenario.name}-{cohort}-{index}"
            found.append(named("ClusterQueue", name, spec=_queue_spec(scenario, cohort)))
            spec = {"clusterQueue": name}
            found.append(named("LocalQueue", name, namespace=namespace, spec=spec))
    return found


def _queue_spec(scenario: Scenario, cohort: int) -> Object:
    quota = {
        "name": "cpu",
        "nominalQuota": f"{scenario.queue.nominal_cpu_milli}m",
        "borrowingLimit": f"{scenario.queue.borrowing_limit_cpu_milli}m",
    }
    flavor = {"name": scenario.name, "resources": [quota]}
    return {
        "cohortName": f"{scenario.name}-{cohort}",
        "namespaceSelector": {},
        "preemption": scenario.queue.preemption,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }


def _topology(scenario: Scenario) -> list[Object]:
    if scenario.topology is None:
        return []
    levels = scenario.topology.levels
    labels = [{"nodeLabel": level.node_label} for level in levels]
    paths = product(*(range(level.count) for level in levels))
    return [
        named("Topology", scenario.name, spec={"levels": labels}),
        *(_node(scenario.name, levels, path) for path in paths),
    ]


def _node(scenario: str, levels: list[Level], path: tuple[int, ...]) -> Object:
    name = f"{scenario}-host-{'-'.join(str(step) for step in path)}"
    labels = {FLAVOR_LABEL: scenario, HOSTNAME_LABEL: name}
    for depth, level in enumerate(levels):
        if level.node_label != HOSTNAME_LABEL:
            labels[level.node_label] = "-".join(str(step) for step in path[: depth + 1])
    allocatable = {**levels[-1].allocatable, "pods": str(PODS_ON_A_HOST)}
    status = {
        "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return named("Node", name, labels=labels, spec={}, status=status)


def _arrival(scenario: Scenario, wanted: WorkloadSet, queue: str, number: int, run: str) -> Arrival:
    namespace = f"{scenario.name}-{run}"
    name = f"{queue}-{wanted.label}-{number}"
    manifest = workload(
        namespace=namespace,
        name=name,
        queue=queue,
        priority_class=_class_name(wanted.priority),
        pod_set=pod_set(
            {"cpu": f"{wanted.cpu_milli_per_pod}m"},
            count=wanted.pods,
            topology=topology_request(wanted.topology),
        ),
        run=run,
    )
    return Arrival(
        key=f"{namespace}/{name}",
        at=number * wanted.create_every_ms * MICROSECONDS_PER_MILLISECOND,
        run_length=wanted.runtime_ms * MICROSECONDS_PER_MILLISECOND,
        label=wanted.label,
        requests={"cpu": wanted.cpu_milli_per_pod * wanted.pods},
        manifest=manifest,
    )


def topology_request(request: TopologyRequest | None) -> Object | None:
    """Returns the topologyRequest; balanced placement is a preferred level with slices."""
    if request is None:
        return None
    if request.mode in {"required", "preferred"}:
        return {request.mode: request.level}
    return {
        "preferred": request.level,
        "balanced": True,
        "podSetSliceRequiredTopology": HOSTNAME_LABEL,
        "podSetSliceSize": request.slice_size or 1,
    }


def _class_name(priority: int) -> str:
    return f"scenario-{priority}"
