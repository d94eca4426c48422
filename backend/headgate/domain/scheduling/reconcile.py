"""Step 1 of a cycle: what follows from time and state alone, before anyone is admitted."""

from functools import partial

from headgate.domain.facts import DomainEvent
from headgate.domain.queues.events import ClusterQueueResumed, LocalQueueResumed
from headgate.domain.scheduling.block_admission import start_the_next
from headgate.domain.scheduling.cycle_context import CycleRun
from headgate.domain.scheduling.due.consequences import consequences
from headgate.domain.scheduling.due.finalization import finalized
from headgate.domain.scheduling.local_queue_ranking import ranks_at
from headgate.domain.scheduling.overcommitted_hosts import relieve_hosts
from headgate.domain.scheduling.partition.keys import INSTALLATION
from headgate.domain.scheduling.rounds.progress import advance_rounds
from headgate.domain.scheduling.rounds.rate_limits import waiting_is_over
from headgate.domain.streams import stream_of, workload_stream
from headgate.domain.topology.events import NodeFellSilent
from headgate.domain.values.instants import Instant, seconds_after

MOST_FIRED = 500
"""Timers fired in one cycle, so that draining a full queue does not become one huge transaction."""


def keep_house(run: CycleRun) -> None:
    """Resume queues whose stop ran out, fire workloads' timers, move rounds on, let objects go."""
    run.partition.ranks = partial(ranks_at, run.cell, at=run.at)
    if run.partition.shields.look_at(run.at):
        run.partition.unpark()
    _resume_queues(run)
    _fire_timers(run)
    start_the_next(run)
    relieve_hosts(run)
    advance_rounds(run)
    waiting_is_over(run)
    if run.key == INSTALLATION:
        for name in run.partition.leases.fired(run.at):
            run.decide((stream_of("node", name), NodeFellSilent()))
        for stream, event in finalized(run.cell.config, run.cell.workloads):
            run.decide((stream, event))


def next_due(run: CycleRun) -> Instant | None:
    """When this partition must be looked at next, if nothing else happens."""
    partition = run.partition
    dues = [
        partition.timers.next_due(),
        partition.leases.next_due(),
        partition.shields.next_due(),
        *(found.expires_at for found in partition.rounds.values()),
        *partition.rounds_wait_until.values(),
        *(due for due, _ in partition.stops),
        _next_look(run),
    ]
    return min((due for due in dues if due is not None), default=None)


def _next_look(run: CycleRun) -> Instant | None:
    """When past usage may have put another head before one that blocks a strict line."""
    rules = run.cell.usage_history.rules
    if rules is None or not any(q.is_contested() for q in run.partition.pending.values()):
        return None
    return seconds_after(run.at, rules.usage_sampling_interval_seconds)


def _resume_queues(run: CycleRun) -> None:
    for due, stream in run.partition.stops:
        if due <= run.at:
            is_local = stream.startswith("localqueue/")
            resumed = LocalQueueResumed if is_local else ClusterQueueResumed
            run.decide((stream, resumed(expired=True)))


def _fire_timers(run: CycleRun) -> None:
    left = MOST_FIRED
    while left and (due := run.partition.timers.fired(run.at)):
        for key in due[:left]:
            _fire(run, key)
        left -= len(due[:left])


def _fire(run: CycleRun, key: str) -> None:
    workload = run.cell.workloads[key]
    stream = workload_stream(key)
    events = consequences(run.cell.config, workload, run.at, run.new_id())
    if not events:
        events = run.partition.watch.what_follows(workload, run.at)
    if not events:
        run.cell.put_aside(stream, "It is due, and nothing follows from its state")
        return
    facts: list[tuple[str, DomainEvent]] = [(stream, event) for event in events]
    run.decide(*facts)
