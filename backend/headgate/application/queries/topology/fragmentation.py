"""How fragmented a topology was over time: what fitted at instants of the past, looked at anew.

Nothing is kept for it: the past is folded once, passing every instant, so the figures are those
that the scheduler placed by, of any kind of pod and also of the time before somebody asked.
"""

from collections.abc import Iterator

from headgate.application.application_services import ApplicationServices
from headgate.application.queries.topology.fits import expect_topology, fits_of
from headgate.application.queries.topology.views import FragmentationHistory, FragmentationPoint
from headgate.application.queries.views import timestamp
from headgate.application.time_travel.historical_ports import ResolvedPoint, point_at_instant
from headgate.application.time_travel.services_at import SampledPeriod, sample_instants
from headgate.domain.values.quantities import Requests


async def fragmentation_of(
    services: ApplicationServices, name: str, requests: Requests, stretch: SampledPeriod
) -> FragmentationHistory:
    """What fitted at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    expect_topology(services.reader.cell, name)
    instants = sample_instants(services, stretch)
    history, late = services.history, services.history.is_late()
    moments = await history.executor.do(
        lambda: [point_at_instant(services.log, instant) for instant in instants]
    )
    looks = _looks(services, name, requests, moments)
    found: list[FragmentationPoint] = []
    # One instant at a time, so that others who look at the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await history.executor.do(lambda: next(looks)))
    return FragmentationHistory(
        position=services.reader.position,
        at=timestamp(services.clock.now()),
        topology=name,
        requests=dict(requests),
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    services: ApplicationServices, name: str, requests: Requests, moments: list[ResolvedPoint]
) -> Iterator[FragmentationPoint]:
    cells = services.history.cells.passing([moment.position for moment in moments])
    for moment, cell in zip(moments, cells, strict=True):
        yield FragmentationPoint(
            position=moment.position,
            at=timestamp(moment.at),
            fits=fits_of(cell, name, requests),
        )
