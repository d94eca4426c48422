"""Preemption rounds as the API shows them: schemas, and their content from state and sums."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.preemption_settings import stage_of
from headgate.adapters.manifests.workload import rendered_admission
from headgate.api.bodies import Position, Schema, Timestamp
from headgate.api.workloads.schemas import Admission
from headgate.application.access.redaction import (
    NamespaceScope,
    shown_key,
    shown_references,
    visible_to,
)
from headgate.application.application_services import ApplicationServices
from headgate.application.projections.followers import PreemptionSum, PreemptionSums
from headgate.application.queries.views import (
    RefusedView,
    message_text,
    refused_view,
    timestamp,
    timestamp_or_none,
)
from headgate.domain.rounds.state import (
    QuotaFigures,
    Round,
    RoundVictim,
    is_open,
    reclaims_nominal_quota,
)
from headgate.domain.values.index_ranges import text_of_ranges
from headgate.domain.workloads.state import Phase, Workload, condition, phase_of
from headgate.domain.workloads.transitions.preemption import find_eviction

VictimStage = Literal[
    "Requested", "Acknowledged", "Stalled", "Forced", "Stopping",
    "Released", "Cancelled", "LeftLater",
]  # fmt: skip


class RoundQuota(Schema, kw_only=True, frozen=True):
    """One flavor's resource in one ClusterQueue at that moment, in base units."""

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    used: int
    wanted: int
    available: int


class Victim(Schema, kw_only=True, frozen=True):
    """One victim; `freed` is in base units by `flavor/resource`.

    `lost` is that times the seconds it had run; `violates` names budgets that its going breaks.
    With `shrinks_to` only `pods` of it go, so many of each of these pod sets stay, and it goes on.
    `indices` names the pods that go by pod set, like `0-4,7`. `phase` is that of the workload now,
    None once it is ended or deleted, or where it may not be seen.
    """

    workload: str
    cluster_queue: str
    reason: str
    priority: int
    pods: int
    freed: dict[str, int]
    running_seconds: int
    released: bool
    cohort: str = ""
    protection: int = 0
    lost: dict[str, int] = {}
    shrinks_to: dict[str, int] = {}
    indices: dict[str, str] = {}
    violates: list[str] = []
    stage: VictimStage
    mode: Literal["Immediate", "Soft"]
    deadline_at: Timestamp | None = None
    handler: str = ""
    note: str = ""
    phase: Phase | None = None


class PreemptionRound(Schema, kw_only=True, frozen=True):
    """One preemption from decision to end."""

    id: str
    stage: str
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: list[Victim]
    considered: int
    refused: list[RefusedView] = []
    cohort: str = ""
    guaranteeing: bool
    budget_violations: int
    figures: list[RoundQuota] = []
    invalidated_by: str = ""
    started_at: Timestamp | None = None
    basis_position: Position
    committed_at: Timestamp
    ended_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    outcome: str = ""
    outcome_code: str = ""


class ChainLink(Schema, kw_only=True, frozen=True):
    """`workload` was a victim of round `from` and the preemptor of round `to`."""

    from_: str = msgspec.field(name="from")
    to: str
    workload: str


class RoundChain(Schema, kw_only=True, frozen=True):
    """The rounds that hang together with one, oldest first."""

    position: Position
    rounds: list[PreemptionRound]
    links: list[ChainLink]


class RoundPage(Schema, kw_only=True, frozen=True):
    """Rounds, newest first."""

    position: Position
    items: list[PreemptionRound]
    continue_: str | None = msgspec.field(default=None, name="continue")


class PreemptorCost(Schema, kw_only=True, frozen=True):
    """What one workload preempted; `gpuSeconds` are the GPUs of victims times how long they ran."""

    preemptor: str
    cluster_queue: str
    priority: int
    rules: list[str]
    rounds: int
    victims: int
    gpu_seconds: int
    last_at: Timestamp


class QueuePairCost(Schema, kw_only=True, frozen=True):
    """What workloads of one ClusterQueue preempted of another, or of their own."""

    preemptor: str
    victim: str
    rounds: int
    victims: int
    gpu_seconds: int


class QueueCost(Schema, kw_only=True, frozen=True):
    """What workloads of one ClusterQueue preempted, and what they lost by preemption."""

    cluster_queue: str
    rounds: int
    victims: int
    gpu_seconds: int
    victims_lost: int
    gpu_seconds_lost: int


class RuleCost(Schema, kw_only=True, frozen=True):
    """What was preempted by one rule."""

    rule: str
    rounds: int
    victims: int
    gpu_seconds: int


class RepeatedPreemption(Schema, kw_only=True, frozen=True):
    """Two workloads of which one preempted the other three times or more, whichever did."""

    workloads: list[str]
    rounds: int
    rules: list[str]
    first_at: Timestamp
    last_at: Timestamp


class PreemptionSummary(Schema, kw_only=True, frozen=True):
    """Sums over all rounds that match, most GPU-seconds first.

    Of preemptors, pairs, queues and repeated preemptions the first 500.
    """

    position: Position
    rounds: int
    victims: int
    gpu_seconds: int
    preemptors: list[PreemptorCost]
    pairs: list[QueuePairCost]
    queues: list[QueueCost]
    rules: list[RuleCost]
    repeated: list[RepeatedPreemption]


def summary_of(found: PreemptionSums, scope: NamespaceScope) -> PreemptionSummary:
    """Sums as they are answered; workloads of namespaces outside `scope` are redacted."""
    return PreemptionSummary(
        position=found.position,
        rounds=found.total.rounds,
        victims=found.total.victims,
        gpu_seconds=found.total.gpu_seconds,
        preemptors=[
            PreemptorCost(
                preemptor=shown_key(each.names[0], scope),
                cluster_queue=each.cluster_queue,
                priority=each.priority,
                rules=list(each.rules),
                rounds=each.rounds,
                victims=each.victims,
                gpu_seconds=each.gpu_seconds,
                last_at=timestamp(each.last_at),
            )
            for each in found.preemptors
        ],
        pairs=[
            QueuePairCost(
                preemptor=each.names[0],
                victim=each.names[1],
                rounds=each.rounds,
                victims=each.victims,
                gpu_seconds=each.gpu_seconds,
            )
            for each in found.pairs
        ],
        queues=_queue_costs(found.queues, found.pairs),
        rules=[
            RuleCost(
                rule=each.names[0],
                rounds=each.rounds,
                victims=each.victims,
                gpu_seconds=each.gpu_seconds,
            )
            for each in found.rules
        ],
        repeated=[
            RepeatedPreemption(
                workloads=[shown_key(name, scope) for name in each.names],
                rounds=each.rounds,
                rules=list(each.rules),
                first_at=timestamp(each.first_at),
                last_at=timestamp(each.last_at),
            )
            for each in found.repeated
        ],
    )


def _queue_costs(
    queues: Iterable[PreemptionSum], pairs: Iterable[PreemptionSum]
) -> list[QueueCost]:
    lost: dict[str, tuple[int, int]] = {}
    for each in pairs:
        victims, gpu_seconds = lost.get(each.names[1], (0, 0))
        lost[each.names[1]] = victims + each.victims, gpu_seconds + each.gpu_seconds
    caused = {each.names[0]: each for each in queues}
    return [
        QueueCost(
            cluster_queue=queue,
            rounds=each.rounds,
            victims=each.victims,
            gpu_seconds=each.gpu_seconds,
            victims_lost=lost.get(queue, (0, 0))[0],
            gpu_seconds_lost=lost.get(queue, (0, 0))[1],
        )
        for queue in dict.fromkeys([*caused, *lost])
        for each in [caused.get(queue, PreemptionSum())]
    ]


def rendered_round(
    services: ApplicationServices, found: Round, scope: NamespaceScope
) -> dict[str, Any]:
    """Returns a round as JSON; workloads of namespaces outside `scope` are redacted."""
    return {
        "id": found.id,
        "stage": found.stage,
        "preemptor": shown_key(found.preemptor, scope),
        "preemptorPriority": found.preemptor_priority,
        "clusterQueue": found.cluster_queue,
        "cohort": found.cohort,
        "admission": rendered_admission(found.admission),
        "victims": [_victim(services, v, found, scope) for v in found.victims],
        "guaranteeing": reclaims_nominal_quota(found),
        "considered": found.considered,
        "refused": [refused_view(refused, scope) for refused in found.refused],
        "budgetViolations": sum(bool(victim.violates) for victim in found.victims),
        "figures": [_figures(figures) for figures in found.figures],
        "basisPosition": found.basis_position,
        "committedAt": timestamp(found.committed_at),
        "startedAt": timestamp_or_none(found.started_at),
        "endedAt": timestamp_or_none(found.ended_at),
        "expiresAt": timestamp_or_none(found.expires_at),
        "invalidatedBy": found.invalidated_by,
        "outcome": message_text(found.outcome, scope) if found.outcome else "",
        "outcomeCode": found.outcome.code if found.outcome else "",
    }


def _victim(
    services: ApplicationServices, victim: RoundVictim, found: Round, scope: NamespaceScope
) -> dict[str, Any]:
    workload = services.reader.cluster_state.workloads.get(victim.workload)
    leaves = find_eviction(workload, found.id) if workload else None
    stage = stage_of(leaves) if leaves else _stage_without(victim, found, workload)
    soft = leaves.soft if leaves else None
    is_seen = shown_key(victim.workload, scope) == victim.workload
    return {
        "workload": shown_key(victim.workload, scope),
        "clusterQueue": victim.cluster_queue,
        "cohort": victim.cohort,
        "reason": victim.reason,
        "priority": victim.priority,
        "protection": victim.protection,
        "pods": victim.pods,
        "shrinksTo": dict(victim.shrinks_to),
        "indices": {name: text_of_ranges(found) for name, found in victim.indices.items()},
        "freed": dict(victim.freed),
        "lost": {name: amount * victim.running_seconds for name, amount in victim.freed.items()},
        "runningSeconds": victim.running_seconds,
        "violates": shown_references(victim.violates, "disruptionbudget", visible_to(scope)),
        "released": stage == "Released",
        "stage": stage,
        "mode": victim.mode,
        "deadlineAt": timestamp_or_none(soft.deadline_at if soft else victim.deadline_at),
        "handler": leaves.handler if leaves else "",
        "note": leaves.note if leaves else "",
        "phase": phase_of(workload) if workload and is_seen else None,
    }


def _stage_without(victim: RoundVictim, found: Round, workload: Workload | None) -> str:
    """Called back, gone, or gone only when the round was over already.

    An open round records a released victim with its next step. If a later round of the same
    preemptor cancelled the eviction of a victim, the victim was running when this round began.
    """
    if victim.workload in found.called_back:
        return "Cancelled"
    if is_open(found) or victim.workload in found.released:
        return "Released"
    return "Cancelled" if _runs_on(victim, found, workload) else "LeftLater"


def _runs_on(victim: RoundVictim, found: Round, workload: Workload | None) -> bool:
    if workload is None or workload.finished_at is not None or victim.shrinks_to:
        return False
    admitted = condition(workload, "Admitted")
    return (
        admitted is not None
        and admitted.status
        and admitted.last_transition_at <= found.committed_at
    )


def _figures(figures: QuotaFigures) -> dict[str, Any]:
    return {
        "clusterQueue": figures.cluster_queue,
        "flavor": figures.flavor,
        "resource": figures.resource,
        "nominal": figures.nominal,
        "used": figures.used,
        "wanted": figures.wanted,
        "available": figures.available,
    }
