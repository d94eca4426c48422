"""From a request to a backtest."""

import asyncio
from typing import NamedTuple

from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.manifests import with_written_pointers
from headgate.api.past import point_in_time
from headgate.api.problems import INVALID_REQUEST, ApiFailure
from headgate.api.simulations.trying import entries_of
from headgate.api.workloads.batch import Entry
from headgate.application.backtests import requests
from headgate.application.backtests.jobs import Backtest
from headgate.application.backtests.views import BacktestPage, view_of
from headgate.application.commands.apply_objects import change_to
from headgate.application.commands.requests import StreamCommand
from headgate.application.time_travel.services_at import PointInTime
from headgate.domain.rejection import Rejection
from headgate.domain.values.instants import Instant

NO_WORKLOADS = "What is configured otherwise is tried; workloads come from the log."


class Question(NamedTuple):
    """From where to where, and the manifests as they were sent."""

    body: bytes
    begin: str
    end: str | None


async def ask(request: Caller, question: Question) -> Backtest:
    """A new job; raises what is wrong with it."""
    services = services_of(request)
    entries = await entries_of(request, question.body)
    end = (
        point_in_time(question.end)
        if question.end
        else PointInTime(position=services.reader.position)
    )
    asked = requests.BacktestRequest(
        begin=point_in_time(question.begin),
        end=end,
        changes=[_change_of(request, entry) for entry in entries],
        documents=question.body.decode(errors="replace"),
        actor=origin_of(request).actor,
    )
    try:
        return await requests.request_backtest(services, asked)
    except Rejection as rejection:
        only = entries[0].desired if len(entries) == 1 else None
        raise with_written_pointers(rejection, only) if only else rejection from rejection


async def page(request: Caller, before: tuple[Instant, str] | None, limit: int) -> BacktestPage:
    """A page of jobs, newest first."""
    services = services_of(request)
    found = await asyncio.to_thread(services.backtests.page, before=before, limit=limit)
    last = found[-1] if len(found) == limit else None
    return BacktestPage(
        position=services.reader.position,
        items=[view_of(job, whole=False) for job in found],
        next=f"{last.created_at}:{last.id}" if last else None,
    )


def _change_of(request: Caller, entry: Entry) -> StreamCommand:
    assert entry.wanted is not None, "an entry without a failure says what is wanted"
    if entry.wanted.kind == "workload":
        raise ApiFailure(INVALID_REQUEST, NO_WORKLOADS, remedy="Leave the workloads out.")
    return change_to(services_of(request), origin_of(request).actor, entry.wanted)
