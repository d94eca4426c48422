"""A cluster state with a clock, to which tests apply events and on which they run cycles."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.admission_check import AdmissionCheckCreated, AdmissionCheckSpec
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueSpec,
    CohortCreated,
    CohortSpec,
)
from headgate.domain.kinds.configuration import (
    ConfigurationChanged,
    ConfigurationCreated,
    ConfigurationSpec,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyCreated, TopologySpec
from headgate.domain.nodes.state import NodeCreated, NodeSpec
from headgate.domain.recorded_event import (
    DomainEvent,
    EventMetadata,
    RecordedEvent,
    evolve_state,
    kind_and_key,
    with_owner_of_actor,
    workload_stream,
)
from headgate.domain.rejection import InvalidObject
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.commands import (
    ReportCheckState,
    ReportReclaimable,
    ReportStopped,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.ended import deletion_of, expired_deletion
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from headgate.domain.workloads.state import Workload
from headgate.event_log.chain import LogPoint

ORIGIN = EventMetadata(actor="user:test")
LEVELS = ("block", "rack", HOSTNAME_LABEL)
MAX_CYCLES = 2_000

StreamEvent = tuple[str, DomainEvent]


def quotas(resource: str = "gpu", **flavors: int | tuple[int, int | None, int | None]) -> Any:
    """Returns a resource group: flavor to nominal, or nominal with borrowing and lending limits."""
    given = []
    for name, quota in flavors.items():
        nominal, borrowing, lending = quota if isinstance(quota, tuple) else (quota, None, None)
        line = ResourceQuota(
            name=resource,
            nominal_quota=nominal,
            borrowing_limit=borrowing,
            lending_limit=lending,
        )
        given.append(FlavorQuotas(name=name, resources=(line,)))
    return (ResourceGroup(covered_resources=(resource,), flavors=tuple(given)),)


class World:
    """A cluster state; `seconds` is its clock, `history` all recorded events.

    `rows` are the states of all workloads, as their rows have them.
    """

    def __init__(self, seconds: int = 1_000) -> None:
        self.cluster_state = ClusterState()
        self.seconds = seconds
        self.history: list[RecordedEvent] = []
        self.rows: dict[str, Workload] = {}
        self._versions = Counter[str]()
        self._cycles = 0

    @property
    def at(self) -> int:
        return self.seconds * MICROSECONDS_PER_SECOND

    def record(self, stream: str, event: DomainEvent) -> None:
        recorded = RecordedEvent(
            position=self.cluster_state.position + 1,
            stream=stream,
            version=self._next_version(stream),
            event=event,
            at=self.at,
            metadata=ORIGIN,
        )
        self.history.append(recorded)
        self.cluster_state.apply(recorded)
        self._write_row(recorded)

    def _next_version(self, stream: str) -> int:
        """The version of the next event; the cluster state has none of what has left it."""
        return max(self.cluster_state.version_of(stream), self._versions[stream]) + 1

    def _write_row(self, recorded: RecordedEvent) -> None:
        kind, key = kind_and_key(recorded.stream)
        self._versions[recorded.stream] = recorded.version
        if kind != "workload":
            return
        before, event = self.rows.get(key, Absent()), with_owner_of_actor(recorded)
        with suppress(Exception):
            after = evolve_state(kind, before, event, recorded.at)
            self.rows.pop(key, None)
            if isinstance(after, Workload):
                self.rows[key] = after

    @property
    def left(self) -> list[str]:
        """The ended workloads that have left the cluster state."""
        return [key for key in self.rows if key not in self.cluster_state.workloads]

    def deletion(self, key: str) -> WorkloadDeleted:
        """The event that deletes a workload."""
        return deletion_of(self.rows[key])

    def note_kept(self, made: Sequence[StreamEvent]) -> None:
        """Adds events to the history that the cluster state has assumed and kept, in order."""
        versions = Counter(recorded.stream for recorded in self.history)
        for stream, event in made:
            versions[stream] += 1
            recorded = RecordedEvent(
                position=len(self.history) + 1,
                stream=stream,
                version=versions[stream],
                event=event,
                at=self.at,
                metadata=ORIGIN,
            )
            self.history.append(recorded)
            self._write_row(recorded)

    def flavor(self, name: str = "default", **spec: Any) -> None:
        created = ResourceFlavorCreated(uid=name, name=name, spec=ResourceFlavorSpec(**spec))
        self.record(f"resourceflavor/{name}", created)

    def topology(self, levels: tuple[str, ...] = LEVELS, name: str = "tree") -> None:
        created = TopologyCreated(uid=name, name=name, spec=TopologySpec(levels=levels))
        self.record(f"topology/{name}", created)

    def node(self, path: str, labels: dict[str, str] | None = None, **spec: Any) -> None:
        """Adds a node at `block/rack/name`, in the flavor of pool `gpu` unless labelled."""
        block, rack, name = path.split("/")
        given = {"pool": "gpu", "block": block, "rack": rack, **(labels or {})}
        spec.setdefault("allocatable", {"gpu": 8, "pods": 110})
        created = NodeCreated(uid=name, name=name, labels=given, spec=NodeSpec(**spec))
        self.record(f"node/{name}", created)

    def hosts(self, capacity: dict[str, int], resource: str = "cpu") -> None:
        """Adds a topology flavor `tas` with these hosts: path to amount."""
        self.topology()
        self.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
        for path, amount in capacity.items():
            self.node(path, allocatable={resource: amount, "pods": 110})

    def admission_check(self, name: str) -> None:
        spec = AdmissionCheckSpec(controller_name="tests")
        created = AdmissionCheckCreated(uid=name, name=name, spec=spec)
        self.record(f"admissioncheck/{name}", created)

    def configure(self, **spec: Any) -> None:
        """Creates or changes the Configuration."""
        given = ConfigurationSpec(**spec)
        event: DomainEvent = ConfigurationCreated(uid="default", name="default", spec=given)
        if self.cluster_state.config.configurations:
            event = ConfigurationChanged(spec=given)
        self.record("configuration/default", event)

    def cohort(self, name: str, parent: str = "", groups: Any = ()) -> None:
        spec = CohortSpec(parent_name=parent, resource_groups=groups)
        self.record(f"cohort/{name}", CohortCreated(uid=name, name=name, spec=spec))

    def cluster_queue(self, name: str, groups: Any, **spec: Any) -> None:
        """Adds a ClusterQueue open to all namespaces, and a LocalQueue of its name in `team`."""
        spec.setdefault("namespace_selector", LabelSelector())
        given = ClusterQueueSpec(resource_groups=groups, **spec)
        self.record(f"clusterqueue/{name}", ClusterQueueCreated(uid=name, name=name, spec=given))
        self.local_queue(name, name)

    def change_cluster_queue(self, name: str, **spec: Any) -> None:
        known = self.cluster_state.config.cluster_queues[name].spec
        changed = ClusterQueueChanged(spec=replace(known, **spec))
        self.record(f"clusterqueue/{name}", changed)

    def local_queue(
        self, name: str, cluster_queue: str, namespace: str = "team", **spec: Any
    ) -> None:
        given = LocalQueueSpec(cluster_queue=cluster_queue, **spec)
        created = LocalQueueCreated(uid=name, name=name, namespace=namespace, spec=given)
        self.record(f"localqueue/{namespace}/{name}", created)

    def submit(
        self,
        name: str,
        queue: str,
        requests: dict[str, int] | None = None,
        *,
        count: int | tuple[int, int] = 1,
        topology: TopologyRequest | None = None,
        **spec: Any,
    ) -> str:
        """Submits one pod set of `count`, or (count, minCount), in `team`; returns the key."""
        pods, least = count if isinstance(count, tuple) else (count, None)
        pod_set = PodSet(
            count=pods,
            min_count=least,
            scheduling=Scheduling(requests=requests or {"gpu": 1}),
            topology_request=topology,
        )
        given = WorkloadSpec(queue_name=queue, pod_sets=(pod_set,), **spec)
        submitted = WorkloadSubmitted(uid=f"uid-{name}", namespace="team", name=name, spec=given)
        self.record(f"workload/team/{name}", submitted)
        return f"team/{name}"

    def submit_pod_sets(
        self,
        name: str,
        queue: str,
        *pod_sets: PodSet,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> str:
        """Submits a workload of these pod sets in `team`; returns the key."""
        submitted = WorkloadSubmitted(
            uid=f"uid-{name}",
            namespace="team",
            name=name,
            annotations=annotations or {},
            spec=WorkloadSpec(queue_name=queue, pod_sets=pod_sets, **spec),
        )
        self.record(f"workload/team/{name}", submitted)
        return f"team/{name}"

    def submit_selecting(
        self, name: str, queue: str, selector: dict[str, str], *, count: int = 1
    ) -> str:
        """Submits a workload with a node selector and a required rack; returns the key."""
        pod_set = PodSet(
            count=count,
            scheduling=Scheduling(requests={"cpu": 1}, node_selector=selector),
            topology_request=TopologyRequest(required="rack"),
        )
        given = WorkloadSpec(queue_name=queue, pod_sets=(pod_set,))
        submitted = WorkloadSubmitted(uid=f"uid-{name}", namespace="team", name=name, spec=given)
        self.record(f"workload/team/{name}", submitted)
        return f"team/{name}"

    def ready(self, key: str) -> None:
        self.record(f"workload/{key}", WorkloadPodsReady())

    def finish(self, key: str) -> None:
        self.record(f"workload/{key}", WorkloadFinished(reason="Succeeded"))

    def tell(self, key: str, command: WorkloadCommand) -> tuple[DomainEvent, ...]:
        """Decides a command or report on a workload, and records the events."""
        events = tuple(WORKLOAD.decide(self[key], command, self.at))
        for event in events:
            self.record(f"workload/{key}", event)
        return events

    def reclaim(self, key: str, pods: int) -> None:
        """Reports that a number of pods of the first pod set have ended."""
        name = self[key].spec.pod_sets[0].name
        command = ReportReclaimable(uid=self[key].uid, attempt=self[key].attempt, pods={name: pods})
        with suppress(InvalidObject):
            self.tell(key, command)

    def check(self, key: str, check: str, state: Any, wait: int | None = None) -> None:
        """Reports an admission check of a workload."""
        command = ReportCheckState(
            uid=self[key].uid,
            attempt=self[key].attempt,
            check=check,
            state=state,
            requeue_after_seconds=wait,
        )
        self.tell(key, command)

    def stop(self, key: str) -> None:
        """Reports that the pods of an evicted workload have stopped."""
        eviction = self[key].eviction
        assert eviction is not None, f"{key} is not being evicted"
        self.record(f"workload/{key}", WorkloadStopped(eviction=eviction.id))

    def give_up_pods(self, key: str, number: int = 0) -> None:
        """Reports that the pods of a partial eviction have stopped."""
        assert self[key].pod_evictions, f"{key} is to give up no pods"
        eviction = self[key].pod_evictions[number].eviction
        self.tell(
            key, ReportStopped(uid=self[key].uid, attempt=self[key].attempt, eviction=eviction.id)
        )

    def cycle(self, partition: str = "") -> list[StreamEvent]:
        """Runs one partition (the only one with queues by default) until it settles."""
        key = partition or next(
            k for k in self.cluster_state.partition_keys() if k != "installation"
        )
        made: list[StreamEvent] = []
        with self.cluster_state.overlay():
            while True:
                self._cycles += 1
                plan = plan_cycle(self.cluster_state, key, self.at, f"cycle-{self._cycles}")
                made.extend(fact for decision in plan.decisions for fact in decision.events)
                if not plan.decisions:
                    break
                assert len(made) < MAX_CYCLES, "it never settles"
        for stream, event in made:
            self.record(stream, event)
        return made

    def settle(self) -> list[StreamEvent]:
        """Runs every partition until no more decisions follow, and deletes what has expired."""
        made: list[StreamEvent] = []
        while more := [
            *self.expire(),
            *(fact for key in self.cluster_state.partition_keys() for fact in self.cycle(key)),
        ]:
            made.extend(more)
            assert len(made) < MAX_CYCLES, "it never settles"
        return made

    def expire(self) -> list[StreamEvent]:
        """Deletes finished workloads at their deadline, as the worker does by their rows."""
        retention = self.cluster_state.config.configuration.retention
        made: list[StreamEvent] = []
        for key, workload in tuple(self.rows.items()):
            event = expired_deletion(workload, retention.after_finished_seconds, self.at)
            if event is not None and workload_stream(key) not in self.cluster_state.quarantined:
                self.record(workload_stream(key), event)
                made.append((workload_stream(key), event))
        return made

    def wait(self, seconds: int) -> None:
        self.seconds += seconds

    def __getitem__(self, key: str) -> Workload:
        return self.cluster_state.workloads[key]

    def placed(self, key: str) -> dict[str, int]:
        """Returns host to pods of an admitted workload."""
        admission = self[key].admission
        assert admission is not None, f"{key} is not admitted"
        return {
            domain.values[-1]: domain.count
            for given in admission.pod_set_assignments
            if given.topology_assignment
            for domain in given.topology_assignment.domains
        }

    def admitted(self) -> list[str]:
        return sorted(
            key
            for key, found in self.cluster_state.workloads.items()
            if found.admission is not None and found.finished_at is None
        )


class HistoryLog:
    """What a store of snapshots asks of a log, answered from a history."""

    def __init__(self, history: Sequence[RecordedEvent]) -> None:
        self._history = history

    def point_at(self, position: int) -> LogPoint | None:
        return LogPoint(log_id="a history", position=position, chain=b"")

    def read_stream(self, stream: str) -> list[RecordedEvent]:
        return [recorded for recorded in self._history if recorded.stream == stream]


def names(facts: Iterable[StreamEvent]) -> list[str]:
    """Returns the kinds of events, in order."""
    return [type(event).__name__ for _, event in facts]
