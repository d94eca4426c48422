"""A short history with queues, workloads and a preemption, for tests of what is read from it."""

from headgate.application.ports import AppendUnit, NewEvent
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.recorded_event import DomainEvent, EventMetadata
from headgate.domain.rounds.state import (
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundVictim,
    VictimReleased,
)
from headgate.domain.values.message import message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec

MINUTE = 60_000_000
START = 30_000_000 * MINUTE
QUEUE = Admission(cluster_queue="gpu", pod_set_assignments=())


class History:
    """Facts one after the other, each in a unit of its own."""

    def __init__(self) -> None:
        self.units: list[AppendUnit] = []
        self._versions: dict[str, int] = {}

    def continued(self) -> "History":
        """What comes after these facts, without them."""
        after = History()
        after._versions = dict(self._versions)
        return after

    def add(self, stream: str, event: DomainEvent, at: int = START) -> None:
        version = self._versions.get(stream, 0)
        self._versions[stream] = version + 1
        self.units.append(
            AppendUnit(
                at=at,
                metadata=EventMetadata(actor="scheduler"),
                expected={stream: version},
                events=(NewEvent(stream=stream, event=event),),
            )
        )


def submitted(name: str, queue: str = "door") -> WorkloadSubmitted:
    spec = WorkloadSpec(
        queue_name=queue, pod_sets=(PodSet(scheduling=Scheduling(requests={"cpu": 1000})),)
    )
    return WorkloadSubmitted(uid=f"uid-{name}", namespace="a", name=name, spec=spec)


def committed(round_id: str, preemptor: str, *victims: str) -> RoundCommitted:
    return RoundCommitted(
        round_id=round_id,
        preemptor=preemptor,
        preemptor_priority=100,
        cluster_queue="gpu",
        admission=QUEUE,
        victims=tuple(victim_of(name) for name in victims),
        considered=7,
        basis_position=3,
    )


def victim_of(name: str) -> RoundVictim:
    return RoundVictim(
        workload=name,
        cluster_queue="batch",
        reason="InCohortReclamation",
        priority=-5,
        pods=2,
        freed={"default/cpu": 2000},
        running_seconds=30,
    )


def a_history() -> list[AppendUnit]:
    """Two queues, three workloads, two rounds."""
    history = History()
    door = LocalQueueCreated(
        uid="u", name="door", namespace="a", spec=LocalQueueSpec(cluster_queue="gpu")
    )
    history.add("localqueue/a/door", door)
    for name in ("x", "y"):
        history.add(f"workload/a/{name}", submitted(name))
    history.add("workload/a/lost", submitted("lost", queue="nowhere"))
    history.add("workload/a/x", WorkloadQuotaReserved(admission=QUEUE), START + MINUTE)
    history.add("workload/a/x", WorkloadAdmitted(waited_seconds=60), START + MINUTE)
    history.add("round/r1", committed("r1", "a/y", "a/x", "b/z"), START + 2 * MINUTE)
    evicted = WorkloadEvicted(eviction="r1", reason="Preempted", message="for a/y")
    history.add("workload/a/x", evicted, START + 2 * MINUTE)
    released = VictimReleased(workload="a/x", by="Eviction")
    history.add("round/r1", released, START + 3 * MINUTE)
    history.add("round/r1", RoundCompleted(waited_seconds=80), START + 4 * MINUTE)
    history.add("round/r2", committed("r2", "a/y", "c/v"), START + 5 * MINUTE)
    history.add(
        "round/r2", RoundAborted(cause=message("PlacementNotAvailable")), START + 6 * MINUTE
    )
    history.add("workload/a/x", WorkloadFinished(reason="Succeeded"), START + 6 * MINUTE)
    history.add("workload/a/x", WorkloadDeleted(), START + 7 * MINUTE)
    return history.units
