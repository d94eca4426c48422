"""`/v1/preemptions`: preemption rounds newest first, their sums, one round, and its chain."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import msgspec
from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, answer, response
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import (
    Continue,
    Limit,
    after_token,
    collect_page,
    continue_token,
    instant_or_none,
)
from headgate.api.preemption_rounds import (
    PreemptionRound,
    PreemptionSummary,
    RoundChain,
    RoundPage,
    rendered_round,
    summary_of,
)
from headgate.api.problems import NOT_FOUND, ApiFailure
from headgate.application.access.redaction import NamespaceScope, shown_key
from headgate.application.application_services import ApplicationServices
from headgate.application.ports import Loaded
from headgate.application.projections.followers import (
    PreemptionQuery,
    PreemptionVictims,
    RoundFilter,
)
from headgate.application.queries.causes import chain_of
from headgate.application.queries.pods import catch_up_with
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import round_stream
from headgate.domain.rounds.state import Round
from headgate.domain.values.instants import Instant

LAST_NAME = "\uffff"


RoundKey: TypeAlias = tuple[Instant, str] | None
"""When a round was committed, and its id."""


def _belongs(wanted: RoundFilter, found: Round) -> bool:
    """Whether a round belongs into the list, as far as stored rows cannot tell."""
    queues = {victim.cluster_queue for victim in found.victims}
    cohorts = (found.cohort, *(victim.cohort for victim in found.victims))
    return (
        wanted.cluster_queue in ("", found.cluster_queue, *queues)
        and wanted.preemptor_queue in ("", found.cluster_queue)
        and wanted.victim_queue in ("", *queues)
        and wanted.cohort in ("", *cohorts)
        and wanted.rule in ("", *(victim.reason for victim in found.victims))
    )


def _queue_of_rows(wanted: RoundFilter) -> str:
    """The ClusterQueue by which stored rows are found; empty without one."""
    return wanted.cluster_queue or wanted.victim_queue or wanted.preemptor_queue


def _start_of(wanted: RoundFilter) -> RoundKey:
    """Where the newest round that may belong stands, in the order of the list."""
    return None if wanted.until is None else (wanted.until, LAST_NAME)


async def read(request: Caller, round_id: str) -> Answer:
    """One round."""
    services = services_of(request)
    found, stands_at = await _visible(request, round_id)
    position = max(stands_at, services.reader.position)
    scope = request.user.namespaces
    return answer(rendered_round(services, found, scope), position=position)


async def list_rounds(
    request: Caller, wanted: RoundFilter, *, limit: int, after: str | None
) -> Answer:
    """A page of rounds, newest first."""
    services = services_of(request)
    question = "rounds|" + "|".join(str(part) for part in msgspec.structs.astuple(wanted))
    start = after_token(after, question, tuple[int, str]) or _start_of(wanted)
    scope = request.user.namespaces
    position = services.reader.position
    found, more = await collect_page(
        _rows(services, wanted),
        lambda row: _concerns(row.state, scope) and _belongs(wanted, row.state),
        _key_of,
        start,
        limit,
    )
    body: dict[str, Any] = {
        "position": position,
        "items": [rendered_round(services, one.state, scope) for one in found],
    }
    if more:
        body["continue"] = continue_token(_key_of(found[-1]), question)
    return answer(body, position=position)


async def _visible(request: Caller, round_id: str) -> tuple[Round, int]:
    services = services_of(request)
    (loaded,) = await asyncio.to_thread(services.models.load, [round_stream(round_id)])
    if isinstance(loaded.state, Absent) or not _concerns(loaded.state, request.user.namespaces):
        remedy = "Find it in the ledger of preemptions."
        raise ApiFailure(NOT_FOUND, f"There is no preemption round {round_id}.", remedy=remedy)
    return loaded.state, loaded.position


def _rows(
    services: ApplicationServices, wanted: RoundFilter
) -> Callable[[RoundKey, int], list[Loaded]]:
    """Rounds from the newest on; fewer than asked for where those before `since` begin."""

    def read(after: RoundKey, limit: int) -> list[Loaded]:
        page = services.models.rounds(
            after=after,
            limit=limit,
            workload=wanted.workload,
            cluster_queue=_queue_of_rows(wanted),
        )
        return [row for row in page if not _is_before(wanted.since, row.state)]

    return read


def _key_of(row: Loaded) -> RoundKey:
    return row.state.committed_at, row.state.id


def _is_before(since: Instant | None, last: Round) -> bool:
    return since is not None and last.committed_at < since


def _concerns(found: Round, scope: NamespaceScope) -> bool:
    """Returns whether a round has a workload in the namespaces of `scope`."""
    if scope is None:
        return True
    names = (found.preemptor, *(victim.workload for victim in found.victims))
    return any(name.partition("/")[0] in scope for name in names)


Since = Annotated[
    str | None, QueryParameter(description="Only rounds decided at or after this time (RFC 3339)")
]
Until = Annotated[
    str | None, QueryParameter(description="Only rounds decided before or at this time (RFC 3339)")
]
RoundId = Annotated[str, PathParameter(description="The round's id", max_length=200)]


OfWorkload = Annotated[
    str, QueryParameter(name="workload", description="`namespace/name` of a preemptor or victim")
]
OfClusterQueue = Annotated[
    str, QueryParameter(name="clusterQueue", description="Of a preemptor or victim")
]
OfPreemptorQueue = Annotated[
    str, QueryParameter(name="preemptorQueue", description="The ClusterQueue of the preemptor")
]
OfVictimQueue = Annotated[
    str, QueryParameter(name="victimQueue", description="The ClusterQueue of a victim")
]
OfCohort = Annotated[str, QueryParameter(name="cohort", description="Of either side, then")]
OfRule = Annotated[
    str, QueryParameter(name="rule", description="Of a victim, such as `InCohortReclamation`")
]


class Preemptions(Controller):
    """Preemption rounds."""

    path = "/preemptions"
    tags = ["Preemptions"]
    opt = {"right": "read preemptions"}

    @get(
        operation_id="listPreemptions",
        summary="Preemption rounds, newest first",
        responses=response(RoundPage),
    )
    async def list_rounds(
        self,
        request: Caller,
        workload: OfWorkload = "",
        cluster_queue: OfClusterQueue = "",
        preemptor_queue: OfPreemptorQueue = "",
        victim_queue: OfVictimQueue = "",
        cohort: OfCohort = "",
        rule: OfRule = "",
        since: Since = None,
        until: Until = None,
        limit: Limit = 100,
        after: Continue = None,
    ) -> Answer:
        """`workload` selects the rounds with it as preemptor or as victim."""
        wanted = RoundFilter(
            workload=workload,
            cluster_queue=cluster_queue,
            preemptor_queue=preemptor_queue,
            victim_queue=victim_queue,
            cohort=cohort,
            rule=rule,
            since=instant_or_none(since, "/since"),
            until=instant_or_none(until, "/until"),
        )
        return await list_rounds(request, wanted, limit=limit, after=after)

    @get(
        "/summary",
        operation_id="summarizePreemptions",
        summary="What preemptions cost, by preemptor, pair of ClusterQueues, queue and rule",
        responses=response(PreemptionSummary),
    )
    async def summary(
        self,
        request: Caller,
        workload: OfWorkload = "",
        cluster_queue: OfClusterQueue = "",
        preemptor_queue: OfPreemptorQueue = "",
        victim_queue: OfVictimQueue = "",
        cohort: OfCohort = "",
        rule: OfRule = "",
        since: Since = None,
        until: Until = None,
    ) -> Answer:
        """Of all rounds that the list has with these filters, and of all their victims."""
        services, scope = services_of(request), request.user.namespaces
        wanted = PreemptionQuery(
            workload=workload,
            cluster_queue=cluster_queue,
            preemptor_queue=preemptor_queue,
            victim_queue=victim_queue,
            cohort=cohort,
            rule=rule,
            since=instant_or_none(since, "/since"),
            until=instant_or_none(until, "/until"),
            namespaces=scope,
        )
        await catch_up_with(services, PreemptionVictims.name)
        found = await asyncio.to_thread(services.followers.preemption_sums, wanted)
        return answer(summary_of(found, scope), position=found.position)

    @get(
        "/{round_id:str}",
        operation_id="getPreemption",
        summary="One preemption round",
        responses=response(PreemptionRound),
    )
    async def read(self, request: Caller, round_id: RoundId) -> Answer:
        """With the rule for each victim, and the protected candidates."""
        return await read(request, round_id)

    @get(
        "/{round_id:str}/chain",
        operation_id="readPreemptionChain",
        summary="The rounds that led to one, and those that followed from it",
        responses=response(RoundChain),
    )
    async def chain(self, request: Caller, round_id: RoundId) -> Answer:
        """A link is a victim of one round that is the preemptor of a later one."""
        services = services_of(request)
        found, stands_at = await _visible(request, round_id)
        scope = request.user.namespaces
        linked = await asyncio.to_thread(chain_of, services.models, found)
        position = max(stands_at, services.reader.position)
        body = {
            "position": position,
            "rounds": [
                rendered_round(services, one, scope)
                for one in linked.rounds
                if _concerns(one, scope)
            ],
            "links": [
                {
                    "from": link.earlier,
                    "to": link.later,
                    "workload": shown_key(link.workload, scope),
                }
                for link in linked.links
            ],
        }
        return answer(body, position=position)
