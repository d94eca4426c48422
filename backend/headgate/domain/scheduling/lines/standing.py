"""Whether queues take work and workloads may compete in them, and if not, why (queueing.md §6)."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.queues.activity import cohort_cycle
from headgate.domain.queues.specs import ClusterQueueSpec, LocalQueueSpec, WaitForPodsReady
from headgate.domain.scheduling.matching import matches_selector
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.pods.bounds import bound_violations
from headgate.domain.workloads.pods.defaults import bounds_of
from headgate.domain.workloads.state import Workload

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
EVERYTHING = LabelSelector()


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a queue or a workload out, as a CamelCase word and a sentence."""

    reason: str
    message: str


def local_queue_of(config: Config, workload: Workload) -> Configured[LocalQueueSpec] | None:
    """The LocalQueue it was submitted to, if there is one."""
    return config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")


def cluster_queue_of(config: Config, workload: Workload) -> str:
    """The ClusterQueue it is charged to or waits for; empty if there is none."""
    if workload.admission is not None and workload.finished_at is None:
        return workload.admission.cluster_queue
    local = local_queue_of(config, workload)
    return local.spec.cluster_queue if local else ""


def pods_ready_rules(config: Config, cluster_queue: str) -> WaitForPodsReady | None:
    """How long pods may take to become ready: the queue's own rules, or the installation's."""
    queue = config.cluster_queues.get(cluster_queue)
    own = queue.spec.wait_for_pods_ready if queue else None
    return own or config.configuration.wait_for_pods_ready


def effective_spec(config: Config, cluster_queue: str) -> ClusterQueueSpec:
    """A ClusterQueue's spec with what it leaves to the installation filled in."""
    spec = config.cluster_queues[cluster_queue].spec
    rules = pods_ready_rules(config, cluster_queue)
    return spec if rules is spec.wait_for_pods_ready else replace(spec, wait_for_pods_ready=rules)


def cluster_queue_obstacle(config: Config, name: str) -> Obstacle | None:
    """Why a ClusterQueue admits nothing now; first match of Kueue's inactiveReason."""
    queue = config.cluster_queues.get(name)
    if queue is None:
        return Obstacle("ClusterQueueDoesNotExist", f"ClusterQueue {name} does not exist")
    if queue.terminating_at is not None:
        return Obstacle("Terminating", f"ClusterQueue {name} is being deleted")
    if queue.spec.stop_policy != "None":
        return Obstacle("Stopped", f"ClusterQueue {name} is stopped{_stopped_by(queue.spec)}")
    return _broken_reference(config, name, queue.spec)


def local_queue_obstacle(config: Config, workload: Workload) -> Obstacle | None:
    """Why its LocalQueue lets it not through; a missing LocalQueue included."""
    name = workload.spec.queue_name
    if not name:
        where = f"namespace {workload.namespace}"
        return Obstacle("NoQueue", f"It names no queue, and {where} had no LocalQueue default")
    local = local_queue_of(config, workload)
    if local is None:
        where = f"in namespace {workload.namespace}"
        return Obstacle("LocalQueueDoesNotExist", f"LocalQueue {name} does not exist {where}")
    if local.terminating_at is not None:
        return Obstacle("LocalQueueTerminating", f"LocalQueue {name} is being deleted")
    if local.spec.stop_policy != "None":
        return Obstacle(
            "LocalQueueStopped", f"LocalQueue {name} is stopped{_stopped_by(local.spec)}"
        )
    return None


def queue_obstacle(config: Config, workload: Workload) -> Obstacle | None:
    """Why the queues of a workload keep it from competing."""
    found = local_queue_obstacle(config, workload)
    if found is not None:
        return found
    cluster_queue = cluster_queue_of(config, workload)
    return cluster_queue_obstacle(config, cluster_queue) or namespace_obstacle(
        config, workload, config.cluster_queues[cluster_queue].spec
    )


def namespace_obstacle(
    config: Config, workload: Workload, spec: ClusterQueueSpec
) -> Obstacle | None:
    """Why the ClusterQueue with this spec takes nothing from the namespace of a workload.

    Or why the namespace does not let it: its LimitRange became tighter after it was submitted.
    """
    selector = spec.namespace_selector
    if selector == EVERYTHING or matches_selector(
        namespace_labels(config, workload.namespace), selector
    ):
        return _limit_obstacle(config, workload) if config.limit_ranges else None
    queue = cluster_queue_of(config, workload)
    return Obstacle(
        "NamespaceMismatch",
        f"ClusterQueue {queue} does not take work from namespace {workload.namespace}",
    )


def expiring_stops(config: Config) -> Iterator[tuple[Instant, str, str]]:
    """When a stop runs out, of which queue (by stream), and the ClusterQueue it is or leads to."""
    for name, queue in sorted(config.cluster_queues.items()):
        if queue.spec.stop is not None and queue.spec.stop.expires_at is not None:
            yield queue.spec.stop.expires_at, f"clusterqueue/{name}", name
    for key, local in sorted(config.local_queues.items()):
        if local.spec.stop is not None and local.spec.stop.expires_at is not None:
            yield local.spec.stop.expires_at, f"localqueue/{key}", local.spec.cluster_queue


def namespace_labels(config: Config, namespace: str) -> dict[str, str]:
    """The labels of a namespace, its name among them as in Kubernetes."""
    found = config.namespaces.get(namespace)
    return {NAMESPACE_NAME_LABEL: namespace, **(found.labels if found else {})}


def _limit_obstacle(config: Config, workload: Workload) -> Obstacle | None:
    prefix = f"{workload.namespace}/"
    newer = any(
        found.generation > 1 or found.created_at >= workload.created_at
        for key, found in config.limit_ranges.items()
        if key.startswith(prefix)
    )
    if not newer:
        return None  # It was held to them when it was submitted.
    bounds = bounds_of(config.limit_ranges, workload.namespace)
    broken = bound_violations(workload.spec, bounds)
    return Obstacle("OutsideLimitRange", broken[0].rule.removesuffix(".")) if broken else None


def _broken_reference(config: Config, name: str, spec: ClusterQueueSpec) -> Obstacle | None:
    flavors = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
    for flavor in flavors:
        if flavor not in config.resource_flavors:
            return Obstacle("FlavorNotFound", f"ResourceFlavor {flavor} does not exist")
    for rule in spec.admission_checks:
        check = config.admission_checks.get(rule.name)
        if check is None:
            return Obstacle("AdmissionCheckNotFound", f"AdmissionCheck {rule.name} does not exist")
        if not check.spec.active:
            return Obstacle("AdmissionCheckInactive", f"AdmissionCheck {rule.name} is not active")
    for flavor in flavors:
        topology = config.resource_flavors[flavor].spec.topology_name
        if topology and topology not in config.topologies:
            return Obstacle("TopologyNotFound", f"Topology {topology} does not exist")
    if cohort_cycle(config, spec.cohort_name):
        return Obstacle("CohortCycle", f"The cohorts above ClusterQueue {name} form a circle")
    return None


def _stopped_by(spec: ClusterQueueSpec | LocalQueueSpec) -> str:
    if spec.stop is None:
        return ""
    because = f": {spec.stop.reason}" if spec.stop.reason else ""
    return f" by {spec.stop.owner}{because}"
