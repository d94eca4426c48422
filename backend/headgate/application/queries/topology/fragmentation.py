"""How fragmented a topology was over time: what fitted at instants of the past, looked at anew.

Nothing is kept for it: the past is folded once, passing every instant, so the figures are those
that the scheduler placed by, of any kind of pod and also of the time before somebody asked.
"""

from collections.abc import Iterator

from headgate.application.application_services import ApplicationServices
from headgate.application.past.moments import Moment, moment_at
from headgate.application.past.stretches import Stretch, instants_of
from headgate.application.queries.topology.fits import expect_topology, fits_of
from headgate.application.queries.topology.views import FragmentationHistory, FragmentationPoint
from headgate.application.queries.views import timestamp
from headgate.domain.values.quantities import Requests


async def fragmentation_of(
    services: ApplicationServices, name: str, requests: Requests, stretch: Stretch
) -> FragmentationHistory:
    """What fitted at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    expect_topology(services.reader.cell, name)
    instants = instants_of(services, stretch)
    machine, late = services.past, services.past.is_late()
    moments = await machine.executor.do(
        lambda: [moment_at(services.log, instant) for instant in instants]
    )
    looks = _looks(services, name, requests, moments)
    found: list[FragmentationPoint] = []
    # One instant at a time, so that others who look at the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await machine.executor.do(lambda: next(looks)))
    return FragmentationHistory(
        position=services.reader.position,
        at=timestamp(services.clock.now()),
        topology=name,
        requests=dict(requests),
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    services: ApplicationServices, name: str, requests: Requests, moments: list[Moment]
) -> Iterator[FragmentationPoint]:
    cells = services.past.cells.passing([moment.position for moment in moments])
    for moment, cell in zip(moments, cells, strict=True):
        yield FragmentationPoint(
            position=moment.position,
            at=timestamp(moment.at),
            fits=fits_of(cell, name, requests),
        )
