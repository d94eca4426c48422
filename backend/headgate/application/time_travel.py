"""Time travel: from a wish to see the past to the installation as it was then."""

from dataclasses import dataclass, replace

from headgate.application.application_services import ApplicationServices
from headgate.application.historical_ports import (
    FixedClock,
    FixedReader,
    HistoricalFollowers,
    HistoricalLog,
    HistoricalReadModels,
    ResolvedPoint,
    point_at_instant,
    point_at_position,
)
from headgate.application.historical_states import (
    HistoricalStates,
    archived_gaps_reported,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rejection import InvalidRequest
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A position, or an instant; exactly one is given."""

    position: int | None = None
    at: Instant | None = None


async def services_at(services: ApplicationServices, requested: PointInTime) -> ApplicationServices:
    """The installation at a past moment; reads of it answer as they would have answered then.

    Raises `InvalidRequest` for what lies in the future, `Archived` for what was taken away,
    `Overloaded` when too many ask.
    """
    history = services.history
    point, cluster_state = await history.executor.do(
        lambda: _tell(services, history.states, requested)
    )
    log = HistoricalLog(services.log, point, cluster_state.version_of)
    return replace(
        services,
        log=log,
        models=HistoricalReadModels(cluster_state, point, services.log, services.models),
        followers=HistoricalFollowers(services.followers, point, log),
        clock=FixedClock(point.at),
        reader=FixedReader(cluster_state),
        # Leases are rows beside the log: of the past none is known.
        known_leases={},
    )


def _tell(
    services: ApplicationServices, states: HistoricalStates, requested: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    with archived_gaps_reported(services.log):
        return _go(services, states, requested)


def _go(
    services: ApplicationServices, states: HistoricalStates, requested: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    head = services.log.head()
    if requested.position is not None:
        if requested.position > head:
            raise InvalidRequest.at("/at", "PositionInFuture", head=head)
        point = point_at_position(services.log, requested.position)
    else:
        assert requested.at is not None, "a wish names a position or an instant"
        if requested.at > services.log.now():
            raise InvalidRequest.at("/at", "TimeInFuture")
        point = point_at_instant(services.log, requested.at)
    return point, states.at(point.position)


DAY = 86_400 * MICROSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class SampledPeriod:
    """From when to when, at how many instants, two at least; until now, and a day, without."""

    since: Instant | None
    until: Instant | None
    points: int


def bounds_of(services: ApplicationServices, period: SampledPeriod) -> tuple[Instant, Instant]:
    """The first and the last instant of a stretch.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future.
    """
    now = services.log.now()
    until = now if period.until is None else period.until
    since = until - DAY if period.since is None else period.since
    if until > now:
        raise InvalidRequest.at("/until", "TimeInFuture")
    if since >= until:
        raise InvalidRequest.at("/since", "TimeRangeEmpty")
    return since, until


def sample_instants(services: ApplicationServices, period: SampledPeriod) -> list[Instant]:
    """The instants, at equal distances, with both ends.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future.
    """
    since, until = bounds_of(services, period)
    steps = period.points - 1
    return [since + (until - since) * step // steps for step in range(period.points)]
