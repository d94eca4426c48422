"""Asking for a backtest: where it begins and ends, what is configured otherwise, and its bounds."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.backtests.jobs import UNFINISHED, Backtest, OverlayFact
from headgate.application.commands.decide import decide_on_state
from headgate.application.commands.requests import StreamCommand
from headgate.application.failures import LimitExceeded
from headgate.application.time_travel.historical_ports import ResolvedPoint
from headgate.application.time_travel.services_at import PointInTime, services_at
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rejection import IllegalNow, InvalidRequest, NotFound
from headgate.domain.values.instants import Instant
from headgate.event_log.codec import encode

MAX_EVENTS = 200_000
MAX_WORKLOADS = 50_000
MAX_UNFINISHED = 10
MAX_KEPT = 100


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """The time range, the changes with their documents, and the user of a backtest request."""

    begin: PointInTime
    end: PointInTime
    changes: Sequence[StreamCommand]
    documents: str
    actor: str


async def request_backtest(services: ApplicationServices, asked: BacktestRequest) -> Backtest:
    """A new job, to be worked off by some worker.

    Raises the `Rejection` of a change that is refused, of a stretch that has no end or of too many
    jobs, and `TooMuch` for what is larger than the bounds.
    """
    if await asyncio.to_thread(services.backtests.unfinished) >= MAX_UNFINISHED:
        raise IllegalNow("BacktestsUnfinished", maximum=MAX_UNFINISHED)
    begin, cluster_state = await _moment(services, asked.begin)
    end, _ = await _moment(services, asked.end)
    _refuse_bounds(begin, end, cluster_state)
    overlay = _overlay(cluster_state, asked.changes, begin.at)
    job = Backtest(
        id=services.ids.new(),
        created_at=services.clock.now(),
        created_by=asked.actor,
        from_position=begin.position,
        to_position=end.position,
        begin_at=begin.at,
        end_at=end.at,
        documents=asked.documents,
        overlay=tuple(_written(stream, event) for stream, event in overlay),
        steps=end.position - begin.position,
    )
    await asyncio.to_thread(services.backtests.forget, keep=MAX_KEPT)
    await asyncio.to_thread(services.backtests.add, job)
    return job


async def find(services: ApplicationServices, job_id: str) -> Backtest:
    """The job of that id; raises `NotFound`."""
    found = await asyncio.to_thread(services.backtests.find, job_id)
    if found is None:
        raise NotFound("ObjectNotFound", kind="Backtest", name=job_id)
    return found


async def cancel(services: ApplicationServices, job_id: str) -> Backtest:
    """Cancels a job; one that has ended is unchanged."""
    while (job := await find(services, job_id)).state in UNFINISHED:
        now = services.clock.now()
        ended = msgspec.structs.replace(job, state="Cancelled", finished_at=now)
        await asyncio.to_thread(services.backtests.save, ended, None)
    return job


async def _moment(
    services: ApplicationServices, wish: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    past = await services_at(services, wish)
    cluster_state = past.reader.cluster_state
    return ResolvedPoint(cluster_state.position, past.clock.now()), cluster_state


def _refuse_bounds(begin: ResolvedPoint, end: ResolvedPoint, cluster_state: ClusterState) -> None:
    events = end.position - begin.position
    if events <= 0 or end.at <= begin.at:
        raise InvalidRequest.at("/to", "TimeRangeEmpty")
    if events > MAX_EVENTS:
        raise LimitExceeded("TooManyEvents", count=events, maximum=MAX_EVENTS)
    workloads = len(cluster_state.workloads)
    if workloads > MAX_WORKLOADS:
        raise LimitExceeded("TooManyWorkloads", count=workloads, maximum=MAX_WORKLOADS)


def _overlay(
    cluster_state: ClusterState, changes: Sequence[StreamCommand], at: Instant
) -> list[tuple[str, DomainEvent]]:
    """Returns the events of all changes, each decided after those before it."""
    fork = cluster_state.fork()
    found: list[tuple[str, DomainEvent]] = []
    with fork.overlay():
        for change in changes:
            for stream, event in decide_on_state(fork, change, at).events:
                fork.assume(stream, event, at)
                found.append((stream, event))
    return found


def _written(stream: str, event: DomainEvent) -> OverlayFact:
    name, version, fields = encode(event)
    return OverlayFact(stream=stream, name=name, schema_version=version, fields=fields)
