"""Which partitions an event wakes, and whether it makes stale a plan that was made without it."""

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.nodes.events import NodeLeaseRenewed
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rounds.events import RoundCommitted
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.lifecycle.pods_ready import BLOCKING_EVENTS, UNBLOCKING_EVENTS
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadCancellationRequested,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadSpecChanged,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.preemption_events import PreemptionGateClosed, ProtectionChanged
from headgate.domain.workloads.state import Workload

ALL_PARTITIONS = ("*",)

GUARD_EVENTS = (
    WorkloadHeld,
    WorkloadDeactivated,
    WorkloadCancellationRequested,
    WorkloadDeletionRequested,
    WorkloadDeleted,
    WorkloadSpecChanged,
    ProtectionChanged,
    PreemptionGateClosed,
)
"""Events of a workload after which it must not be admitted as planned before."""

RELEASE_EVENTS = (WorkloadStopped, WorkloadFinished, WorkloadDeleted, ReservationDropped)
"""Events after which an object being deleted may have nothing left that refers to it."""


def wakes_of(
    cluster_state: ClusterState, stream: str, event: DomainEvent
) -> tuple[tuple[str, ...], bool]:
    """Return the partitions that an event wakes, and whether their guard moves.

    `cluster_state` may stand before or after the event.

    Configuration, stops and reports of nodes wake all partitions. Where admission is blocked until
    pods are ready, so do events that block or unblock it.
    """
    kind, key = kind_and_key(stream)
    if kind == "round":
        return (_of_round(cluster_state, key, event),), False
    if kind != "workload":
        is_lease = isinstance(event, NodeLeaseRenewed)
        return ((INSTALLATION,), False) if is_lease else (ALL_PARTITIONS, True)
    if cluster_state.config.configuration.block_admission and isinstance(
        event, (*BLOCKING_EVENTS, *UNBLOCKING_EVENTS)
    ):
        return ALL_PARTITIONS, isinstance(event, BLOCKING_EVENTS)
    woken = {_of_workload(cluster_state, key, event): None}
    if isinstance(event, WorkloadSpecChanged):
        woken.update(_moved_to(cluster_state, key, event))
    if cluster_state.layout.has_terminating and isinstance(event, RELEASE_EVENTS):
        woken[INSTALLATION] = None
    return tuple(woken), type(event) in GUARD_EVENTS


def _moved_to(cluster_state: ClusterState, key: str, event: WorkloadSpecChanged) -> dict[str, None]:
    """The partition of a workload after a change of its spec, which may name another queue."""
    known = cluster_state.workloads.get(key)
    if known is None:
        return {}
    return {cluster_state.layout.key_of(replace(known, spec=event.spec)): None}


def _of_round(cluster_state: ClusterState, key: str, event: DomainEvent) -> str:
    found = cluster_state.rounds.get(key)
    queue = found.cluster_queue if isinstance(found, Round) else ""
    if isinstance(event, RoundCommitted):
        queue = event.cluster_queue
    return cluster_state.layout.of_cluster_queue.get(queue, INSTALLATION)


def _of_workload(cluster_state: ClusterState, key: str, event: DomainEvent) -> str:
    if isinstance(event, WorkloadSubmitted):
        submitted = Workload(
            uid=event.uid,
            namespace=event.namespace,
            name=event.name,
            created_at=0,
            spec=event.spec,
        )
        return cluster_state.layout.key_of(submitted)
    known = cluster_state.workloads.get(key)
    return cluster_state.layout.key_of(known) if known else INSTALLATION
