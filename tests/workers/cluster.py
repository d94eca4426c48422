"""A small cluster and its workload, recorded as an API would, on any adapters."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.application.commands.append_unit import unit_of
from headgate.application.ports import Appended, EventLog
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueCreated, ClusterQueueSpec
from headgate.domain.kinds.kubernetes_kinds import NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.recorded_event import DomainEvent, EventMetadata, stream_of, workload_stream
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import WorkloadOwner, WorkloadSubmitted
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import is_admitted

StreamEvent = tuple[str, DomainEvent]

NAMESPACE = "team"
FLAVOR = "default"


@dataclass(frozen=True, slots=True)
class _Decided:
    expected: dict[str, int]
    events: Sequence[StreamEvent]


def folded(log: EventLog) -> ClusterState:
    """The whole log as a cell."""
    cluster_state = ClusterState()
    for recorded in log.read_all():
        cluster_state.apply(recorded)
    return cluster_state


def record(log: EventLog, *facts: StreamEvent) -> int:
    """Append these facts as one unit; the last position."""
    cluster_state = folded(log)
    decided = _Decided({stream: cluster_state.version_of(stream) for stream, _ in facts}, facts)
    at = log.now()
    with cluster_state.overlay():
        for stream, event in facts:
            cluster_state.assume(stream, event, at)
        unit = unit_of(
            [decided],
            cluster_state.state_of,
            lambda stream, event: wakes_of(cluster_state, stream, event),
            at=at,
            metadata=EventMetadata(actor="user:ada"),
        )
    verdict = log.append([unit])[0]
    assert isinstance(verdict, Appended), verdict
    return verdict.last_position


def cluster(*queues: str, cpu_milli: int = 1_000_000) -> tuple[StreamEvent, ...]:
    """ClusterQueues that share nothing, each with a LocalQueue of its name in one namespace."""
    flavor = ResourceFlavorCreated(uid="flavor", name=FLAVOR, spec=ResourceFlavorSpec())
    namespace = NamespaceCreated(uid="namespace", name=NAMESPACE, spec=NamespaceSpec())
    facts: list[StreamEvent] = [
        (stream_of("resourceflavor", FLAVOR), flavor),
        (stream_of("namespace", NAMESPACE), namespace),
    ]
    for name in queues:
        facts.append((stream_of("clusterqueue", name), _cluster_queue(name, cpu_milli)))
        local = LocalQueueCreated(
            uid=f"local-{name}",
            name=name,
            namespace=NAMESPACE,
            spec=LocalQueueSpec(cluster_queue=name),
        )
        facts.append((stream_of("localqueue", name, NAMESPACE), local))
    return tuple(facts)


def submitted(name: str, queue: str, cpu_milli: int = 1_000) -> StreamEvent:
    """A workload of one pod for a LocalQueue."""
    pods = PodSet(scheduling=Scheduling(requests={"cpu": cpu_milli}))
    event = WorkloadSubmitted(
        uid=f"uid-{name}",
        namespace=NAMESPACE,
        name=name,
        spec=WorkloadSpec(pod_sets=(pods,), queue_name=queue),
        owner=WorkloadOwner(user="ada"),
    )
    return workload_stream(f"{NAMESPACE}/{name}"), event


def submitted_many(queue: str, count: int, prefix: str = "job") -> tuple[StreamEvent, ...]:
    """So many workloads for one queue."""
    return tuple(submitted(f"{prefix}-{queue}-{number}", queue) for number in range(count))


def admitted(log: EventLog) -> list[str]:
    """The keys of the workloads that have a place now, in order of name."""
    workloads = folded(log).workloads
    return sorted(key for key, workload in workloads.items() if is_admitted(workload))


def _cluster_queue(name: str, cpu_milli: int) -> ClusterQueueCreated:
    quota = ResourceQuota(name="cpu", nominal_quota=cpu_milli)
    group = ResourceGroup(
        covered_resources=("cpu",), flavors=(FlavorQuotas(name=FLAVOR, resources=(quota,)),)
    )
    spec = ClusterQueueSpec(resource_groups=(group,), namespace_selector=LabelSelector())
    return ClusterQueueCreated(uid=f"queue-{name}", name=name, spec=spec)
