"""What a ClusterQueue used, borrowed and lent over time, how many waited, and what became of them.

Nothing is kept for its use: the past is folded once, passing every instant, so the figures are
those that the scheduler counted by, also of the time before the first request. What happened
between two instants has been counted minute by minute as it happened.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from headgate.application.application_services import ApplicationServices
from headgate.application.projections.queue_history import QueueMinute
from headgate.application.queries.queues.status import WAITING, counts_of, weighted_share_of
from headgate.application.queries.queues.tree import lines_of
from headgate.application.queries.queues.views import UsageOverTime, UsagePoint
from headgate.application.queries.views import timestamp
from headgate.application.time_travel.historical_ports import ResolvedPoint, point_at_instant
from headgate.application.time_travel.services_at import SampledPeriod, sample_instants
from headgate.domain.rejection import NotFound
from headgate.domain.values.instants import Instant

COUNTED = ("submitted", "admitted", "evicted", "finished")
"""What is counted of workloads, minute by minute."""


async def usage_over_time(
    services: ApplicationServices, cluster_queue: str, period: SampledPeriod
) -> UsageOverTime:
    """The queue at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    if cluster_queue not in services.reader.cluster_state.config.cluster_queues:
        raise NotFound("ObjectNotFound", kind="ClusterQueue", name=cluster_queue)
    instants = sample_instants(services, period)
    history, late = services.history, services.history.is_late()
    moments = await history.executor.do(
        lambda: [point_at_instant(services.log, instant) for instant in instants]
    )
    counted = await asyncio.to_thread(
        services.followers.queue_history,
        since=instants[0],
        until=instants[-1],
        cluster_queue=cluster_queue,
    )
    happened = _between(instants, counted.minutes)
    looks = _looks(services, cluster_queue, moments, happened)
    found: list[UsagePoint] = []
    # One instant at a time, so that other reads of the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await history.executor.do(lambda: next(looks)))
    return UsageOverTime(
        position=services.reader.position,
        counted_position=counted.position,
        at=timestamp(services.clock.now()),
        cluster_queue=cluster_queue,
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    services: ApplicationServices,
    cluster_queue: str,
    moments: Sequence[ResolvedPoint],
    happened: Sequence[dict[str, int]],
) -> Iterator[UsagePoint]:
    node = f"clusterqueue/{cluster_queue}"
    states = services.history.states.passing([moment.position for moment in moments])
    for moment, cluster_state, counts in zip(moments, states, happened, strict=True):
        yield UsagePoint(
            position=moment.position,
            at=timestamp(moment.at),
            lines=lines_of(cluster_state, node),
            weighted_share=weighted_share_of(cluster_state, node) or 0,
            pending=sum(counts_of(cluster_state, node).get(phase, 0) for phase in WAITING),
            **counts,
        )


def _between(instants: Sequence[Instant], minutes: Iterable[QueueMinute]) -> list[dict[str, int]]:
    """How often each thing happened between each instant and the one before it."""
    found = [dict.fromkeys(COUNTED, 0) for _ in instants]
    for minute in minutes:
        # After all instants up to its beginning; the last one ends the stretch.
        place = bisect_right(instants, minute.minute)
        if 0 < place < len(found):
            for name in COUNTED:
                found[place][name] += getattr(minute, name)
    return found
