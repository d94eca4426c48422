"""A small honest history, and ways to change one event of it."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

from headgate.application.verify import Finding
from headgate.application.verify.verify import GRACE, History
from headgate.domain.kinds import cluster_queue as q
from headgate.domain.kinds import local_queue as lq
from headgate.domain.kinds import resource_flavor
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec, CohortSpec
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.nodes import state as t
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.recorded_event import EventMetadata, RecordedEvent
from headgate.domain.rounds import state as r
from headgate.domain.values.message import message
from headgate.domain.workloads import events as w
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec

START = 1_800_000_000_000_000
SECOND = 1_000_000
HOSTNAME = "kubernetes.io/hostname"
A, B = "workload/team/a", "workload/team/b"

StreamEvent = tuple[str, Any]


def queue(
    name: str, nominal: int, borrowing: int | None = None, lending: int | None = None
) -> StreamEvent:
    quota = ResourceQuota(
        name="cpu", nominal_quota=nominal, borrowing_limit=borrowing, lending_limit=lending
    )
    flavor = FlavorQuotas(name="plain", resources=(quota,))
    group = ResourceGroup(covered_resources=("cpu",), flavors=(flavor,))
    spec = ClusterQueueSpec(resource_groups=(group,), cohort_name="all")
    return f"clusterqueue/{name}", q.ClusterQueueCreated(uid=name, name=name, spec=spec)


def door(name: str, cluster_queue: str) -> StreamEvent:
    created = lq.LocalQueueCreated(
        uid=name, name=name, namespace="team", spec=LocalQueueSpec(cluster_queue=cluster_queue)
    )
    return f"localqueue/team/{name}", created


def settings() -> list[StreamEvent]:
    labels = {HOSTNAME: "h1", "kind": "plain"}
    host = NodeSpec(allocatable={"cpu": 8_000, "pods": 10})
    flavor = ResourceFlavorSpec(node_labels={"kind": "plain"}, topology_name="t")
    return [
        ("cohort/all", q.CohortCreated(uid="c", name="all", spec=CohortSpec())),
        (
            "resourceflavor/plain",
            resource_flavor.ResourceFlavorCreated(uid="f", name="plain", spec=flavor),
        ),
        ("node/h1", t.NodeCreated(uid="n", name="h1", labels=labels, spec=host)),
        queue("one", 4_000),
        queue("two", 4_000, lending=1_000),
        door("one", "one"),
        door("two", "two"),
    ]


def submitted(stream: str, cpu: int, through: str = "one") -> StreamEvent:
    pod_set = PodSet(scheduling=Scheduling(requests={"cpu": cpu}))
    _, namespace, name = stream.split("/")
    spec = WorkloadSpec(pod_sets=(pod_set,), queue_name=through)
    return stream, w.WorkloadSubmitted(uid=name, namespace=namespace, name=name, spec=spec)


def reserved(stream: str, cpu: int, cluster_queue: str = "one", host: str = "h1") -> StreamEvent:
    return stream, w.WorkloadQuotaReserved(admission=admission(cpu, cluster_queue, host))


def admission(cpu: int, cluster_queue: str = "one", host: str = "h1") -> Admission:
    place = TopologyAssignment(
        levels=(HOSTNAME,), domains=(TopologyDomain(values=(host,), count=1),)
    )
    assigned = PodSetAssignment(
        name="main",
        flavors={"cpu": "plain"},
        resource_usage={"cpu": cpu},
        count=1,
        topology_assignment=place,
    )
    return Admission(cluster_queue=cluster_queue, pod_set_assignments=(assigned,))


def admitted(stream: str) -> StreamEvent:
    return stream, w.WorkloadAdmitted(waited_seconds=0)


def evicted(
    stream: str, eviction: str = "r1", reason: w.EvictionReason = "Preempted"
) -> StreamEvent:
    return stream, w.WorkloadEvicted(eviction=eviction, reason=reason, message="must go")


def stopped(stream: str, eviction: str = "r1") -> StreamEvent:
    return stream, w.WorkloadStopped(eviction=eviction)


def finished(stream: str, reason: Literal["Succeeded", "Failed"] = "Succeeded") -> StreamEvent:
    return stream, w.WorkloadFinished(reason=reason)


def explained(stream: str) -> StreamEvent:
    why = Explanation(dominant="Quota", message=message("DoesNotFit"))
    return stream, w.WorkloadExplained(explanation=why)


def committed(preemptor: str, victim: str) -> StreamEvent:
    victim_of = r.RoundVictim(
        workload=victim,
        cluster_queue="one",
        reason="InClusterQueue",
        priority=0,
        pods=1,
        freed={"plain/cpu": 1_000},
        running_seconds=1,
    )
    return "round/r1", r.RoundCommitted(
        round_id="r1",
        preemptor=preemptor,
        preemptor_priority=1,
        cluster_queue="one",
        admission=admission(1_000),
        victims=(victim_of,),
        considered=1,
        basis_position=1,
    )


def preemption() -> list[StreamEvent]:
    """B comes, A goes, B gets the place, A waits with a reason."""
    return [
        submitted(A, 4_000),
        reserved(A, 4_000),
        admitted(A),
        submitted(B, 4_000),
        committed("team/b", "team/a"),
        evicted(A),
        stopped(A),
        ("round/r1", r.VictimReleased(workload="team/a", by="Eviction")),
        ("round/r1", r.RoundSatisfied()),
        (A, w.WorkloadRequeued(reason="Preempted")),
        reserved(B, 4_000),
        ("round/r1", r.RoundCompleted(waited_seconds=1)),
        admitted(B),
        explained(A),
        finished(B),
        reserved(A, 4_000),
        admitted(A),
        finished(A),
    ]


def recorded(facts: Sequence[StreamEvent]) -> list[RecordedEvent]:
    """The facts as the log would keep them, a second apart."""
    versions: dict[str, int] = {}
    found: list[RecordedEvent] = []
    for position, (stream, event) in enumerate(facts, start=1):
        versions[stream] = versions.get(stream, 0) + 1
        found.append(
            RecordedEvent(
                position=position,
                stream=stream,
                version=versions[stream],
                event=event,
                at=START + position * SECOND,
                metadata=EventMetadata(actor="scheduler"),
            )
        )
    return found


def findings_of(events: Sequence[RecordedEvent], *, later: int = 2 * GRACE) -> list[Finding]:
    """What is found in these events, looked at some time after the last."""
    history = History()
    for each in events:
        history.read(each)
    history.conclude(events[-1].at + later)
    return history.findings.found


def rules_broken(facts: Sequence[StreamEvent]) -> set[str]:
    """The rules that do not hold after the settings and these facts."""
    return {found.code for found in findings_of(recorded([*settings(), *facts]))}


def moved(found: RecordedEvent, **changes: Any) -> RecordedEvent:
    """The event with something else about it."""
    return replace(found, **changes)
