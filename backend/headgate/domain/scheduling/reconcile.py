"""Step 1 of a cycle: what follows from time and state alone, before any entry is nominated."""

from collections.abc import Iterator
from functools import partial

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueResumed
from headgate.domain.kinds.executor import awaited_executors
from headgate.domain.kinds.local_queue import LocalQueueResumed
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.nodes.state import NodeFellSilent
from headgate.domain.object_set import referrers_of, terminating_objects
from headgate.domain.recorded_event import DomainEvent, kind_and_key, stream_of, workload_stream
from headgate.domain.scheduling.admission import admit_unblocked
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks
from headgate.domain.scheduling.lifecycle.host_watch import TOO_SMALL
from headgate.domain.scheduling.lifecycle.transitions import due_events
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.scheduling.placement.host_table import PODS
from headgate.domain.scheduling.rounds.progress import advance_rounds
from headgate.domain.scheduling.rounds.start import requeue_after_rate_limit
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.message import message
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.events import (
    WorkloadHostsFailed,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition

MAX_FIRED = 500
"""Timers fired in one cycle at most: draining a ClusterQueue must not be one huge append."""


def reconcile_partition(cycle: CycleContext) -> None:
    """Fire what is due in a partition: stops, timers, host failures, rounds and deletions."""
    cycle.partition.ranks = partial(local_queue_ranks, cycle.cluster_state, at=cycle.at)
    if cycle.partition.minimum_runtime.advance(cycle.at):
        cycle.partition.requeue_inadmissible()
    _resume_queues(cycle)
    _fire_timers(cycle)
    if not executors_to_report(cycle.cluster_state, cycle.at):
        admit_unblocked(cycle)
    fail_overcommitted_hosts(cycle)
    advance_rounds(cycle)
    requeue_after_rate_limit(cycle)
    if cycle.key == INSTALLATION:
        _end_leases(cycle)
        _check_predictions(cycle)
        for stream, event in finalized_objects(cycle.cluster_state):
            cycle.decide((stream, event))


def executors_to_report(cluster_state: ClusterState, at: Instant) -> dict[str, Instant]:
    """The Executors of which a report is awaited before anything starts, each with the wait's end.

    After the log has lost events, a workload that it has as pending may be running: its Executor
    tells. Until then, at most for its lease, no workload is admitted anywhere.
    """
    history = cluster_state.log_history
    if history is None:
        return {}
    found = awaited_executors(cluster_state.config.executors, history.count, history.at)
    return {name: until for name, until in found.items() if at < until}


def next_due(cycle: CycleContext) -> Instant | None:
    """The next instant at which time alone makes something due in the partition."""
    partition = cycle.partition
    dues = [
        partition.timers.next_due(),
        partition.leases.next_due(),
        partition.minimum_runtime.next_due(),
        *(found.expires_at for found in partition.rounds.values()),
        *partition.rate_limited_queues.values(),
        *(due for due, _ in partition.stops),
        *executors_to_report(cycle.cluster_state, cycle.at).values(),
        _next_ranking_change(cycle),
        cycle.cluster_state.recent_starts.next_due() if cycle.key == INSTALLATION else None,
    ]
    return min((due for due in dues if due is not None), default=None)


def _next_ranking_change(cycle: CycleContext) -> Instant | None:
    """The next instant at which consumed usage may have changed the head of a strict queue."""
    rules = cycle.cluster_state.usage_history.rules
    if rules is None or not any(q.may_change_head() for q in cycle.partition.pending.values()):
        return None
    return seconds_after(cycle.at, rules.usage_sampling_interval_seconds)


def _resume_queues(cycle: CycleContext) -> None:
    for due, stream in cycle.partition.stops:
        if due <= cycle.at:
            is_local = stream.startswith("localqueue/")
            resumed = LocalQueueResumed if is_local else ClusterQueueResumed
            cycle.decide((stream, resumed(expired=True)))


def _end_leases(cycle: CycleContext) -> None:
    """Record that each node with an ended lease is silent."""
    for name in cycle.partition.leases.fired(cycle.at):
        cycle.decide((stream_of("node", name), NodeFellSilent()))


def _check_predictions(cycle: CycleContext) -> None:
    """Record what became of each prediction that is due."""
    state, config = cycle.cluster_state, cycle.cluster_state.config
    generations = {name: queue.generation for name, queue in config.cluster_queues.items()}
    pending = (
        (name, state.workloads[key])
        for partition in cycle.partitions.partitions.values()
        for name, queue in partition.pending.items()
        for key in queue.in_order()
    )
    for key, checked in state.recent_starts.due_checks(cycle.at, generations, pending):
        cycle.decide((stream_of("prediction", key), checked))


def _fire_timers(cycle: CycleContext) -> None:
    left = MAX_FIRED
    while left and (due := cycle.partition.timers.fired(cycle.at)):
        for key in due[:left]:
            _fire(cycle, key)
        left -= len(due[:left])


def _fire(cycle: CycleContext, key: str) -> None:
    stream, workload = workload_stream(key), cycle.cluster_state.workloads.get(key)
    assert workload is not None, "the timer of a deleted workload is removed"
    events = due_events(cycle.cluster_state.config, workload, cycle.at, cycle.new_id())
    if not events:
        events = cycle.partition.watch.host_events(workload, cycle.at)
    if not events:
        cycle.cluster_state.quarantine(stream, message("NoTransitionWhenDue"))
        return
    stream_events: list[tuple[str, DomainEvent]] = [(stream, event) for event in events]
    cycle.decide(*stream_events)


def finalized_objects(cluster_state: ClusterState) -> Iterator[tuple[str, DomainEvent]]:
    """Terminating objects without references, each with its stream and last event (§1.1)."""
    for kind, key in terminating_objects(cluster_state.config):
        if kind == "namespace":
            is_referred_to = cluster_state.objects_in(key) > 0
        else:
            is_referred_to = bool(known_referrers(cluster_state, kind, key))
        if not is_referred_to:
            yield f"{kind}/{key}", KINDS_BY_STREAM[kind].deleted()


def known_referrers(cluster_state: ClusterState, kind: str, key: str) -> tuple[str, ...]:
    """The objects that keep one from going, as `referrers_of` finds them, by indices of the fold.

    Only of a Namespace in which something lives are all workloads gone through, to name those; for
    the ended ones that have left the fold stands one name, as `ended_in` gives it.
    """
    state = cluster_state
    if kind == "clusterqueue":
        holders = map(workload_stream, quota_holders(state, key))
        return (*referrers_of(state.config, {}, kind, key), *holders)
    if kind == "namespace" and not state.objects_in(key):
        return ()
    found = referrers_of(state.config, state.workloads, kind, key)
    is_complete = kind != "namespace" or len(found) >= state.objects_in(key)
    return found if is_complete else (*found, ended_in(key))


def ended_in(namespace: str) -> str:
    """What stands for the ended workloads of a namespace that a fold cannot name."""
    return workload_stream(f"{namespace}/*")


def quota_holders(cluster_state: ClusterState, cluster_queue: str) -> list[str]:
    """The workloads that have quota reserved in a ClusterQueue, sorted."""
    index = cluster_state.partition_index
    home = index.of_cluster_queue.get(cluster_queue, INSTALLATION)
    charged = index.partitions[home].charges.holding.get(cluster_queue, {})
    # What could not be indexed is charged nowhere.
    skipped = (kind_and_key(stream)[1] for stream in cluster_state.quarantined)
    others = (key for key in skipped if _holds_quota(cluster_state, key, cluster_queue))
    return sorted({*charged, *others})


def _holds_quota(cluster_state: ClusterState, key: str, cluster_queue: str) -> bool:
    workload = cluster_state.workloads.get(key)
    if workload is None or not has_quota_reservation(workload):
        return False
    return workload.admission is not None and workload.admission.cluster_queue == cluster_queue


def fail_overcommitted_hosts(cycle: CycleContext) -> None:
    """Fail each overcommitted host for so many of its workloads that the rest fits.

    A host is overcommitted if it has fewer allocatable resources than its workloads request. It is
    failed for the lowest priority first, then for the latest admission. Usage by other pods keeps
    new pods away from a host and fails it for none.
    """
    watch = cycle.partition.watch
    if not watch.may_be_overcommitted:
        return
    watch.may_be_overcommitted = False
    for host in tuple(watch.overcommitted_hosts()):
        for workload in tuple(_workloads_to_move(cycle, host)):
            hosts = {**workload.unhealthy_nodes, host: TOO_SMALL}
            failed = WorkloadHostsFailed(hosts=dict(sorted(hosts.items())))
            cycle.decide((workload_stream(workload.key), failed))


def _workloads_to_move(cycle: CycleContext, host: str) -> Iterator[Workload]:
    """The workloads to move from `host` until the rest fits; those that lost it already count."""
    partition = cycle.partition
    row = partition.hosts.row_of[host,]
    there = partition.watch.workloads_on(host)
    held = {each.key: _usage_at(partition.charges.held_by(each), row) for each in there}
    missing: Requests = {}
    for staying in (each for each in there if host not in each.unhealthy_nodes):
        missing = _sum(missing, held[staying.key])
    missing = _less(missing, partition.watch.allocatable_at((host,)))
    for workload in sorted(there, key=_removal_order):
        if not missing:
            return
        if host not in workload.unhealthy_nodes and missing.keys() & held[workload.key].keys():
            missing = _less(missing, held[workload.key])
            yield workload


def _usage_at(charge: Charge, row: int) -> Requests:
    held: dict[str, int] = {}
    for rows, counts, requests in charge.pods:
        pods = int(counts[rows == row].sum())
        for resource, amount in {PODS: 1, **requests}.items():
            if amount * pods:
                held[resource] = held.get(resource, 0) + amount * pods
    return held


def _sum(left: Requests, right: Requests) -> Requests:
    return {each: left.get(each, 0) + right.get(each, 0) for each in (*left, *right)}


def _less(missing: Requests, freed: Requests) -> Requests:
    left = {resource: amount - freed.get(resource, 0) for resource, amount in missing.items()}
    return {resource: amount for resource, amount in left.items() if amount > 0}


def _removal_order(workload: Workload) -> tuple[int, int, str]:
    admitted = condition(workload, "Admitted")
    since = admitted.last_transition_at if admitted is not None else workload.created_at
    return workload.spec.priority, -since, workload.key
