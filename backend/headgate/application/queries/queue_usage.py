"""What a ClusterQueue used, borrowed and lent over time, and how many waited for it.

Nothing is kept for it: the past is folded once, passing every instant, so the figures are those
that the scheduler counted by, also of the time before somebody asked.
"""

from collections.abc import Iterator, Sequence

from headgate.application.installation import Installation
from headgate.application.past.moments import Moment, moment_at
from headgate.application.past.stretches import Stretch, instants_of
from headgate.application.queries.queue_figures import counts_of
from headgate.application.queries.queue_status import WAITING, weighted_share_of
from headgate.application.queries.queue_tree import lines_of
from headgate.application.queries.queue_views import UsageHistory, UsagePoint
from headgate.application.queries.views import timestamp
from headgate.domain.rejection import NotFound


async def usage_over_time(
    installation: Installation, cluster_queue: str, stretch: Stretch
) -> UsageHistory:
    """The queue at each instant of a stretch.

    Raises `NotFound`, `InvalidObject` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    if cluster_queue not in installation.reader.cell.config.cluster_queues:
        raise NotFound(f"There is no ClusterQueue {cluster_queue}.", remedy="List ClusterQueues.")
    instants = instants_of(installation, stretch)
    machine, late = installation.past, installation.past.is_late()
    moments = await machine.backstage.do(
        lambda: [moment_at(installation.log, instant) for instant in instants]
    )
    looks = _looks(installation, cluster_queue, moments)
    found: list[UsagePoint] = []
    # One instant at a time, so that others who look at the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await machine.backstage.do(lambda: next(looks)))
    return UsageHistory(
        position=installation.reader.position,
        at=timestamp(installation.clock.now()),
        cluster_queue=cluster_queue,
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    installation: Installation, cluster_queue: str, moments: Sequence[Moment]
) -> Iterator[UsagePoint]:
    node = f"clusterqueue/{cluster_queue}"
    cells = installation.past.cells.passing([moment.position for moment in moments])
    for moment, cell in zip(moments, cells, strict=True):
        yield UsagePoint(
            position=moment.position,
            at=timestamp(moment.at),
            lines=lines_of(cell, node),
            weighted_share=weighted_share_of(cell, node) or 0,
            pending=sum(counts_of(cell, node).get(phase, 0) for phase in WAITING),
        )
