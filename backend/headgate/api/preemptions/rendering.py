"""A preemption round as it is shown: what was decided, with which numbers, and how far it is."""

from typing import Any

from headgate.adapters.manifests.rendering.preemption_settings import stage_of
from headgate.adapters.manifests.rendering.workloads import rendered_admission
from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.queries.views import timestamp, timestamp_or_none
from headgate.domain.rounds.events import QuotaFigures, RoundVictim
from headgate.domain.rounds.state import Round, is_open, reclaims_nominal_quota
from headgate.domain.workloads.state import Workload, condition
from headgate.domain.workloads.transitions.partial_eviction import find_eviction


def rendered_round(
    services: ApplicationServices, found: Round, scope: NamespaceScope
) -> dict[str, Any]:
    """Names of others' namespaces are hidden from those who may not see them."""
    hide = services.redaction.redacted
    return {
        "id": found.id,
        "stage": found.stage,
        "preemptor": hide(found.preemptor, scope),
        "preemptorPriority": found.preemptor_priority,
        "clusterQueue": found.cluster_queue,
        "cohort": found.cohort,
        "admission": rendered_admission(found.admission),
        "victims": [_victim(services, v, found, scope) for v in found.victims],
        "guaranteeing": reclaims_nominal_quota(found),
        "considered": found.considered,
        "refused": [
            {"workload": hide(refused.workload, scope), "rule": refused.rule}
            for refused in found.refused
        ],
        "budgetViolations": sum(bool(victim.violates) for victim in found.victims),
        "figures": [_figures(figures) for figures in found.figures],
        "basisPosition": found.basis_position,
        "committedAt": timestamp(found.committed_at),
        "startedAt": timestamp_or_none(found.started_at),
        "endedAt": timestamp_or_none(found.ended_at),
        "expiresAt": timestamp_or_none(found.expires_at),
        "invalidatedBy": found.invalidated_by,
        "outcome": hide(found.outcome, scope),
    }


def _victim(
    services: ApplicationServices, victim: RoundVictim, found: Round, scope: NamespaceScope
) -> dict[str, Any]:
    workload = services.reader.cell.workloads.get(victim.workload)
    leaves = find_eviction(workload, found.id) if workload else None
    stage = stage_of(leaves) if leaves else _stage_without(victim, found, workload)
    soft = leaves.soft if leaves else None
    return {
        "workload": services.redaction.redacted(victim.workload, scope),
        "clusterQueue": victim.cluster_queue,
        "cohort": victim.cohort,
        "reason": victim.reason,
        "priority": victim.priority,
        "protection": victim.protection,
        "pods": victim.pods,
        "shrinksTo": dict(victim.shrinks_to),
        "freed": dict(victim.freed),
        "lost": {name: amount * victim.running_seconds for name, amount in victim.freed.items()},
        "runningSeconds": victim.running_seconds,
        "violates": list(victim.violates),
        "released": stage == "Released",
        "stage": stage,
        "mode": victim.mode,
        "deadlineAt": timestamp_or_none(soft.deadline_at if soft else victim.deadline_at),
        "handler": leaves.handler if leaves else "",
        "note": leaves.note if leaves else "",
    }


def _stage_without(victim: RoundVictim, found: Round, workload: Workload | None) -> str:
    """Called back, gone, or gone only when the round was over already.

    Of an open round who has gone is noted with its next step. Who was called back with a later
    round of the same preemptor has run since before this one.
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
