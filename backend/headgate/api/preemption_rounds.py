"""A preemption round as the API shows it: schemas, and their content from the state."""

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
from headgate.domain.workloads.state import Workload, condition
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
    `indices` names the pods that go by pod set, like `0-4,7`.
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
