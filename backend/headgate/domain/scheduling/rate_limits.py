"""How many rounds a ClusterQueue may start in a stretch of time (preemption.md §6.2)."""

from headgate.domain.queues.specs import PreemptionRate
from headgate.domain.scheduling.run import CycleRun
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

MINUTE = 60 * MICROSECONDS_PER_SECOND


def next_round_at(run: CycleRun, cluster_queue: str) -> Instant | None:
    """When the queue may start its next round; None for now."""
    rate = run.cell.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    if rate is None:
        return None
    started = sorted(
        found.committed_at
        for found in run.cell.rounds.values()
        if found.cluster_queue == cluster_queue
    )
    free_at = when_free(rate, started)
    return free_at if free_at > run.at else None


def when_free(rate: PreemptionRate, started: list[Instant]) -> Instant:
    """When there is a token for one more round: one every minute / `per_minute`, `burst` at most.

    Counted by when the bucket would be full again, so that no fractions are kept.
    """
    each = MINUTE // rate.per_minute
    full_at = 0
    for at in started:
        full_at = max(full_at, at) + each
    return full_at - each * rate.burst + each if started else 0


def waiting_is_over(run: CycleRun) -> None:
    """Let queues look again whose next round has become due."""
    waits = run.partition.rounds_wait_until
    for queue in [name for name, due in sorted(waits.items()) if due <= run.at]:
        del waits[queue]
        run.partition.pending[queue].unpark()
