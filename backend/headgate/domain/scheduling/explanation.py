"""Why an evaluated workload does not start now: its blockers, and which of them decides.

A placement shortfall has its own blocker and message (topology.md §5).
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.results import (
    FlavorAttempt,
    Mode,
    PlacementShortfall,
    QuotaResult,
    VictimSearch,
)
from headgate.domain.values.message import (
    Amount,
    Argument,
    Message,
    ObjectReference,
    message,
    workload_reference,
)
from headgate.domain.values.quantities import FlavorResource, resource_rank
from headgate.domain.workloads.explanation import Blocker, Explanation, ProtectedCandidate

MAX_NAMED_EVICTIONS = 3
MAX_EVICTIONS = 5
"""At most this many workloads in eviction are holders of an explanation."""


class QuotaSupply(msgspec.Struct, frozen=True, gc=False):
    """Where more of a flavor's resource could come from for one ClusterQueue.

    `held_by` names the largest holders that could release some. `max_without_borrowing_limit` is
    the most that the ClusterQueue could use if its own borrowing limit did not apply.
    """

    held_by: tuple[str, ...] = ()
    max_without_borrowing_limit: int = 0


SEVERITY = (
    "NoMatchingFlavor",
    "ExceedsMaxQuota",
    "WaitingForQuota",
    "TopologyPlacementFailed",
    "WaitingForHosts",
    "WaitingForPreemptedWorkloads",
)
"""The reasons, most severe first."""

Need: TypeAlias = tuple[str, int]
"""A pod set and the number of a resource group: all needs must be met."""

NeededBlocker: TypeAlias = tuple[Need, Blocker]
"""A need and what blocks it."""

FindSupply: TypeAlias = Callable[[FlavorResource, QuotaResult], QuotaSupply]


class EvaluationSummary(msgspec.Struct, frozen=True, gc=False):
    """What an evaluation found, as far as an explanation needs it.

    `leaving` names the workloads in eviction that will free capacity, and `pods` how many pods of
    them do where the rest goes on.
    """

    cluster_queue: str
    flavor_attempts: tuple[FlavorAttempt, ...]
    shortfalls: tuple[tuple[str, str, PlacementShortfall], ...]
    search: VictimSearch | None
    leaving: tuple[str, ...] = ()
    is_deferred: bool = False
    has_round: bool = False
    pods: dict[str, int] = {}


def explain_summary(summary: EvaluationSummary, supply: FindSupply) -> Explanation:
    """The explanation of one evaluation; `supply` tells where more quota could come from."""
    needed = (*_flavor_blockers(summary, supply), *_topology_blockers(summary))
    blockers = (*(blocker for _, blocker in needed), *_victim_blockers(summary))
    if summary.is_deferred:
        return _deferred(summary, blockers)
    deciding = _dominant(needed)
    if deciding is None:
        return Explanation(
            dominant="WaitingForQuota", message=message("DoesNotFit"), blockers=blockers
        )
    number = next(number for number, found in enumerate(blockers) if found is deciding)
    return Explanation(dominant=deciding.reason, deciding=number, blockers=blockers)


def _deferred(summary: EvaluationSummary, blockers: tuple[Blocker, ...]) -> Explanation:
    waiting = Blocker(
        type="Round",
        reason="WaitingForPreemptedWorkloads",
        message=_evictions_message(summary),
        held_by=summary.leaving[:MAX_EVICTIONS],
    )
    return Explanation(
        dominant="WaitingForPreemptedWorkloads",
        blockers=(waiting, *(b for b in blockers if b.type == "Topology")),
    )


def _evictions_message(summary: EvaluationSummary) -> Message:
    named = summary.leaving[:MAX_NAMED_EVICTIONS]
    if not named:
        return message("WaitingForAnyEvictions")
    arguments: dict[str, Argument] = {
        "evictions": len(summary.leaving),
        "victims": tuple(_victim_argument(summary, name) for name in named),
    }
    if len(summary.leaving) > len(named):
        arguments["more"] = len(summary.leaving) - len(named)
    return Message("WaitingForEvictions", arguments)


def _victim_argument(summary: EvaluationSummary, name: str) -> Message | ObjectReference:
    pods, workload = summary.pods.get(name), workload_reference(name)
    return workload if pods is None else message("PodsOfWorkload", pods=pods, workload=workload)


def _dominant(needed: tuple[NeededBlocker, ...]) -> Blocker | None:
    """The dominant blocker: flavors of a resource group are alternatives, all else is needed."""
    worst: dict[tuple[Need, str], Blocker] = {}
    for need, blocker in needed:
        known = worst.setdefault((need, blocker.flavor), blocker)
        worst[need, blocker.flavor] = min(known, blocker, key=_mildness)
    mildest: dict[Need, Blocker] = {}
    for (need, _), blocker in worst.items():
        mildest[need] = max(mildest.setdefault(need, blocker), blocker, key=_mildness)
    return min(mildest.values(), key=_mildness, default=None)


def _mildness(blocker: Blocker) -> int:
    return SEVERITY.index(blocker.reason)


def _flavor_blockers(summary: EvaluationSummary, supply: FindSupply) -> list[NeededBlocker]:
    found: list[NeededBlocker] = []
    for attempt in summary.flavor_attempts:
        need = (attempt.pod_set, attempt.group)
        if attempt.refusal is not None:
            refused = Blocker(
                type="Quota",
                reason="NoMatchingFlavor",
                message=attempt.refusal,
                pod_set=attempt.pod_set,
                flavor=attempt.flavor,
            )
            found.append((need, refused))
        for resource in sorted(attempt.answers, key=resource_rank):
            answer = attempt.answers[resource]
            if answer.mode < Mode.DEFERRED and answer.need > answer.have:
                known = supply((attempt.flavor, resource), answer)
                found.append((need, _short_of_quota(summary, attempt, resource, answer, known)))
    return found


def _short_of_quota(
    summary: EvaluationSummary,
    attempt: FlavorAttempt,
    resource: str,
    answer: QuotaResult,
    supply: QuotaSupply,
) -> Blocker:
    impossible = answer.reason == "ExceedsMaxQuota"
    have = answer.maximum if impossible else answer.have
    return Blocker(
        type="Quota",
        reason="ExceedsMaxQuota" if impossible else "WaitingForQuota",
        message=_quota_message(summary.cluster_queue, resource, answer, supply),
        pod_set=attempt.pod_set,
        flavor=attempt.flavor,
        resource=resource,
        need=answer.need,
        have=have,
        short_by=answer.need - have,
        held_by=() if impossible else supply.held_by,
    )


def _quota_message(
    cluster_queue: str, resource: str, answer: QuotaResult, supply: QuotaSupply
) -> Message:
    """The message of a shortage of quota, with the remedy that ends the shortage.

    A higher nominal quota always does; a higher borrowing limit only where it is what limits
    borrowing, and never for non-preemptible workloads (preemption.md §6.4). `missing` is what a
    remedy must add: the shortage and the debt.
    """
    arguments: dict[str, Argument] = {
        "cluster_queue": cluster_queue,
        "nominal": Amount(resource, answer.nominal),
    }
    if answer.reason == "ExceedsMaxQuota":
        if answer.maximum:
            arguments["at_most"] = Amount(resource, answer.maximum)
        if answer.is_non_preemptible:
            return Message("RequestExceedsNominalQuota", arguments)
        is_bound = supply.max_without_borrowing_limit >= answer.need
        return Message(
            "RequestExceedsBorrowing" if is_bound else "RequestExceedsMaximum", arguments
        )
    arguments["missing"] = Amount(resource, answer.need - answer.have + answer.debt)
    if answer.is_withheld:
        is_limited = answer.has_borrowing_limit
        return Message("QuotaWithheld" if is_limited else "QuotaOfQueueWithheld", arguments)
    if answer.is_non_preemptible:
        return Message("InsufficientNonPreemptibleQuota", arguments)
    return Message("InsufficientQuota", arguments)


def _topology_blockers(summary: EvaluationSummary) -> list[NeededBlocker]:
    groups = {(t.pod_set, t.flavor): t.group for t in summary.flavor_attempts if t.refusal is None}
    return [
        (
            (pod_set, groups.get((pod_set, flavor), 0)),
            placement_blocker(pod_set, flavor, shortfall),
        )
        for pod_set, flavor, shortfall in summary.shortfalls
    ]


def _victim_blockers(summary: EvaluationSummary) -> list[Blocker]:
    if summary.search is None or summary.search.reason is None:
        return []
    return [
        Blocker(
            type="Preemption",
            reason=summary.search.kind,
            message=summary.search.reason,
            refused=tuple(
                ProtectedCandidate(workload=w, rule=rule) for w, rule in summary.search.refused
            ),
        )
    ]


def placement_blocker(pod_set: str, flavor: str, shortfall: PlacementShortfall) -> Blocker:
    """The blocker of a pod set without a placement, or of the leader that goes with it."""
    need, have = (1, 0) if shortfall.lacks_leader else (shortfall.needs, shortfall.fits)
    is_counted = shortfall.reason is None
    return Blocker(
        type="Topology",
        reason="WaitingForHosts" if shortfall.is_occupied else "TopologyPlacementFailed",
        message=_message(shortfall),
        pod_set=pod_set,
        flavor=flavor,
        level=shortfall.level,
        domain="/".join(shortfall.domain),
        need=need if is_counted else None,
        have=have if is_counted else None,
        short_by=need - have if is_counted else None,
        excluded_hosts=shortfall.excluded,
    )


def described_shortfall(
    pod_set: str, flavor: str, shortfall: PlacementShortfall
) -> PlacementShortfall:
    """The shortfall as a reason alone, which names pod set and flavor."""
    if shortfall.reason is not None:
        return shortfall
    return PlacementShortfall(placement_blocker(pod_set, flavor, shortfall).full_message)


def _message(shortfall: PlacementShortfall) -> Message:
    if shortfall.reason is not None:
        return message("PlacementFailed", why=shortfall.reason)
    is_one_domain = bool(shortfall.domain)
    if shortfall.lacks_leader:
        return message("NoHostInDomainFitsLeader" if is_one_domain else "NoHostFitsLeader")
    if not shortfall.hosts:
        return message("FlavorHasNoHosts")
    arguments: dict[str, Argument] = {}
    if shortfall.running_pods:
        arguments["running"] = shortfall.running_pods
    if shortfall.layers:
        arguments["layers"] = tuple(
            message("SlicesOfLayer", fits=layer.fits, needs=layer.needs, slice_level=layer.level)
            for layer in shortfall.layers
        )
    is_sliced = shortfall.unit == "slices"
    if is_one_domain:
        return Message("SlicesExceedDomain" if is_sliced else "PodsExceedDomain", arguments)
    arguments["hosts"] = shortfall.hosts
    if shortfall.fits:
        return Message("SlicesExceedHosts" if is_sliced else "PodsExceedHosts", arguments)
    return Message("NoHostFitsSlice" if is_sliced else "NoHostFitsPod", arguments)
