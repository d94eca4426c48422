"""How many rounds a ClusterQueue may start in a stretch of time (preemption.md §6.2)."""

from headgate.domain.cell import Cell
from headgate.domain.queues.specs import PreemptionRate
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.explanation import Blocker, Explanation

RATE_LIMITED = "PreemptionRateLimited"
MINUTE = 60 * MICROSECONDS_PER_SECOND


def next_round_at(cycle: CycleContext, cluster_queue: str) -> Instant | None:
    """When the queue may start its next round; None for now."""
    return rate_limited_until(cycle.cell, cluster_queue, cycle.at)


def rate_limited_until(cell: Cell, cluster_queue: str, at: Instant) -> Instant | None:
    """The same for a state and an instant."""
    rate = cell.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    if rate is None:
        return None
    started = sorted(
        found.committed_at for found in cell.rounds.values() if found.cluster_queue == cluster_queue
    )
    free_at = next_token_at(rate, started)
    return free_at if free_at > at else None


def rate_limited_reason(cell: Cell, cluster_queue: str) -> Explanation:
    """Why one waits for whom room could be made: its queue has started as many rounds as it may."""
    rate = cell.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    assert rate is not None, "only a rate holds rounds back"
    rounds = "round of preemption" if rate.per_minute == 1 else "rounds of preemption"
    burst = f", {rate.burst} of them at once" if rate.burst > 1 else ""
    limit = (
        f"ClusterQueue {cluster_queue} starts at most {rate.per_minute} {rounds} a minute{burst}"
    )
    sentence = f"Room could be made for it, but {limit}, and has started as many"
    return Explanation(
        dominant=RATE_LIMITED,
        sentence=sentence,
        blockers=(Blocker(type="Preemption", reason=RATE_LIMITED, message=sentence),),
        would_unblock=("the next round may start", f"a higher rate limit of {cluster_queue}"),
    )


def next_token_at(rate: PreemptionRate, started: list[Instant]) -> Instant:
    """When there is a token for one more round: one every minute / `per_minute`, `burst` at most.

    Counted by when the bucket would be full again, so that no fractions are kept.
    """
    each = MINUTE // rate.per_minute
    full_at = 0
    for at in started:
        full_at = max(full_at, at) + each
    return full_at - each * rate.burst + each if started else 0


def requeue_after_rate_limit(cycle: CycleContext) -> None:
    """Let queues look again whose next round has become due."""
    waits = cycle.partition.rate_limited_queues
    for queue in [name for name, due in sorted(waits.items()) if due <= cycle.at]:
        del waits[queue]
        cycle.partition.pending[queue].unpark()
