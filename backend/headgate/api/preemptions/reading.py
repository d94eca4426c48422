"""Reading the preemption ledger."""

import asyncio
from typing import Any

import msgspec

from headgate.adapters.manifests.rendering.workloads import rendered_admission
from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, installation_of
from headgate.api.paging import after_token, continue_token
from headgate.api.problems import NOT_FOUND, ApiFailure
from headgate.application.installation import Installation
from headgate.application.ports import Loaded
from headgate.application.queries.views import timestamp, timestamp_or_none
from headgate.application.visibility import Scope
from headgate.domain.configured import Absent
from headgate.domain.rounds.events import RoundVictim
from headgate.domain.rounds.state import Round
from headgate.domain.streams import round_stream


class Wanted(msgspec.Struct, frozen=True):
    """Filters; empty ones do not filter."""

    workload: str
    cluster_queue: str


async def read(request: Caller, round_id: str) -> Answer:
    """One round."""
    installation = installation_of(request)
    (loaded,) = await asyncio.to_thread(installation.models.load, [round_stream(round_id)])
    scope = request.user.namespaces
    if isinstance(loaded.state, Absent) or not _touches(loaded.state, scope):
        raise ApiFailure(NOT_FOUND, f"There is no preemption round {round_id}.")
    position = max(loaded.position, installation.reader.position)
    return answer(_round(installation, loaded.state, scope), position=position)


async def list_rounds(request: Caller, wanted: Wanted, *, limit: int, after: str | None) -> Answer:
    """A page of rounds, newest first."""
    installation = installation_of(request)
    question = f"rounds|{wanted.workload}|{wanted.cluster_queue}"
    start = after_token(after, question, tuple[int, str])
    scope = request.user.namespaces
    position = installation.reader.position
    found, more = await _collected(installation, wanted, scope, start, limit)
    body: dict[str, Any] = {
        "position": position,
        "items": [_round(installation, one.state, scope) for one in found],
    }
    if more:
        last = found[-1].state
        body["continue"] = continue_token((last.committed_at, last.id), question)
    return answer(body, position=position)


async def _collected(
    installation: Installation,
    wanted: Wanted,
    scope: Scope,
    start: tuple[int, str] | None,
    limit: int,
) -> tuple[list[Loaded], bool]:
    found: list[Loaded] = []
    while True:
        page = await asyncio.to_thread(
            installation.models.rounds,
            after=start,
            limit=limit + 1,
            workload=wanted.workload,
            cluster_queue=wanted.cluster_queue,
        )
        found += [loaded for loaded in page if _touches(loaded.state, scope)]
        if len(found) > limit or len(page) <= limit:
            return found[:limit], len(found) > limit
        start = (page[-1].state.committed_at, page[-1].state.id)


def _touches(found: Round, scope: Scope) -> bool:
    """Whether a round concerns someone's own workloads."""
    if scope is None:
        return True
    names = (found.preemptor, *(victim.workload for victim in found.victims))
    return any(name.partition("/")[0] in scope for name in names)


def _round(installation: Installation, found: Round, scope: Scope) -> dict[str, Any]:
    hide = installation.tenants.redacted
    return {
        "id": found.id,
        "stage": found.stage,
        "preemptor": hide(found.preemptor, scope),
        "preemptorPriority": found.preemptor_priority,
        "clusterQueue": found.cluster_queue,
        "admission": rendered_admission(found.admission),
        "victims": [_victim(installation, v, found, scope) for v in found.victims],
        "considered": found.considered,
        "refused": [
            {"workload": hide(refused.workload, scope), "rule": refused.rule}
            for refused in found.refused
        ],
        "basisPosition": found.basis_position,
        "committedAt": timestamp(found.committed_at),
        "endedAt": timestamp_or_none(found.ended_at),
        "expiresAt": timestamp_or_none(found.expires_at),
        "outcome": hide(found.outcome, scope),
    }


def _victim(
    installation: Installation, victim: RoundVictim, found: Round, scope: Scope
) -> dict[str, Any]:
    return {
        "workload": installation.tenants.redacted(victim.workload, scope),
        "clusterQueue": victim.cluster_queue,
        "reason": victim.reason,
        "priority": victim.priority,
        "pods": victim.pods,
        "freed": dict(victim.freed),
        "runningSeconds": victim.running_seconds,
        "released": victim.workload in found.released,
    }
