"""Why an evaluated workload does not start now: blockers, one sentence, and remedies.

Reasons are Kueue's (queueing.md §3.13): within alternatives the mildest counts, across what is
needed together the most severe. Each remedy ends the blocker that it stands beside.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.explanation.placement_shortfall import (
    placement_blocker,
    written_amount,
    written_level,
)
from headgate.domain.scheduling.explanation.placement_shortfall import written_number as number
from headgate.domain.scheduling.results import (
    FlavorAttempt,
    Mode,
    PlacementShortfall,
    QuotaResult,
    VictimSearch,
)
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.explanation import Blocker, Explanation, ProtectedCandidate


class QuotaSupply(msgspec.Struct, frozen=True, gc=False):
    """Where more of a flavor's resource could come from for one ClusterQueue.

    `held_by` names the largest holders that could release some. `max_without_borrowing_limit` is
    the most that the ClusterQueue could use if its own borrowing limit did not apply.
    """

    held_by: tuple[str, ...] = ()
    max_without_borrowing_limit: int = 0


def quota_remedies(
    key: FlavorResource, answer: QuotaResult, supply: QuotaSupply
) -> tuple[str, ...]:
    """What ends a shortage of quota, in the amount that ends it.

    A higher nominal quota always does; a higher borrowing limit only where it is what limits
    borrowing, and never for non-preemptible workloads (preemption.md §6.4).
    """
    flavor, resource = key
    if answer.reason == "ExceedsMaxQuota":
        return (_a_higher_limit(key, answer, supply),)
    amount = written_amount(resource, answer.need - answer.have + answer.debt)
    held = f", held by {_listed_holders(supply.held_by)}" if supply.held_by else ""
    if answer.is_non_preemptible:
        theirs = (
            f", or as much given back by {_listed_holders(supply.held_by)}"
            if supply.held_by
            else ""
        )
        return (f"a nominal quota higher by {amount} of flavor {flavor}{theirs}",)
    if answer.is_withheld:
        theirs = (
            f", or as much given back by {_listed_holders(supply.held_by)}"
            if supply.held_by
            else ""
        )
        return (f"a borrowing limit higher by {amount} of flavor {flavor}{theirs}",)
    return (f"{amount} more of flavor {flavor}{held}",)


def _a_higher_limit(key: FlavorResource, answer: QuotaResult, supply: QuotaSupply) -> str:
    flavor, resource = key
    is_bound = not answer.is_non_preemptible and supply.max_without_borrowing_limit >= answer.need
    limit = "nominal quota or borrowing limit" if is_bound else "nominal quota"
    amount = written_amount(resource, answer.need - answer.most)
    smaller = f", or a request of at most {number(resource, answer.most)}" if answer.most else ""
    return f"a {limit} higher by {amount} of flavor {flavor}{smaller}"


def placement_remedies(flavor: str, shortfall: PlacementShortfall) -> tuple[str, ...]:
    """What ends a shortage of hosts, in the units that are counted: pods, or topology slices."""
    level = written_level(shortfall.level)
    if shortfall.reason:
        return ()
    if shortfall.lacks_leader:
        where = f"in one {level} with its workers" if shortfall.domain else f"of flavor {flavor}"
        return (f"a host {where} that has room for the pods of the leader",)
    short = shortfall.needs - shortfall.fits
    units = shortfall.unit.removesuffix("s") if short == 1 else shortfall.unit
    where = f"in one {level}" if shortfall.domain else f"on any hosts of flavor {flavor}"
    return (f"room for {short} more {units} {where}",)


def _listed_holders(names: tuple[str, ...], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


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

NeededBlocker: TypeAlias = tuple[Need, Blocker, tuple[str, ...]]
"""A need, what blocks it, and the remedies against that."""

FindSupply: TypeAlias = Callable[[FlavorResource, QuotaResult], QuotaSupply]


class EvaluationSummary(msgspec.Struct, frozen=True, gc=False):
    """What an evaluation found, as far as an explanation needs it.

    `leaving` names the workloads in eviction that will free capacity, and `pods` how many pods of
    them do where the rest goes on.
    """

    cluster_queue: str
    tries: tuple[FlavorAttempt, ...]
    unplaced: tuple[tuple[str, str, PlacementShortfall], ...]
    search: VictimSearch | None
    leaving: tuple[str, ...] = ()
    is_deferred: bool = False
    has_round: bool = False
    pods: dict[str, int] = {}


def explain_summary(summary: EvaluationSummary, supply: FindSupply) -> Explanation:
    """The explanation of one evaluation; `supply` tells where more quota could come from."""
    needed = (*_flavor_blockers(summary, supply), *_topology_blockers(summary))
    blockers = (*(blocker for _, blocker, _ in needed), *_victim_blockers(summary))
    if summary.is_deferred:
        return _deferred(summary, blockers)
    deciding = _dominant(needed)
    in_order = sorted(needed, key=lambda each: each[1] is not deciding)
    return Explanation(
        dominant=deciding.reason if deciding else "WaitingForQuota",
        sentence=deciding.message if deciding else "It does not fit",
        blockers=blockers,
        would_unblock=tuple(dict.fromkeys(help_ for _, _, helps in in_order for help_ in helps)),
    )


def _deferred(summary: EvaluationSummary, blockers: tuple[Blocker, ...]) -> Explanation:
    who = _listed(tuple(_leaving_name(summary, name) for name in summary.leaving))
    what = "makes room for it" if summary.has_round else "frees enough room"
    sentence = f"It starts once what is already leaving {what}"
    sentence += f": {who}" if who else ""
    waiting = Blocker(
        type="Round",
        reason="WaitingForPreemptedWorkloads",
        message=sentence,
        held_by=summary.leaving[:5],
    )
    return Explanation(
        dominant="WaitingForPreemptedWorkloads",
        sentence=sentence,
        blockers=(waiting, *(b for b in blockers if b.type == "Topology")),
        would_unblock=tuple(_has_gone(summary, name) for name in summary.leaving[:5]),
    )


def _leaving_name(summary: EvaluationSummary, name: str) -> str:
    pods = summary.pods.get(name)
    return name if pods is None else f"{_pods(pods)} of {name}"


def _has_gone(summary: EvaluationSummary, name: str) -> str:
    pods = summary.pods.get(name)
    return f"{name} has stopped" if pods is None else f"{name} has given up {_pods(pods)}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _dominant(needed: tuple[NeededBlocker, ...]) -> Blocker | None:
    """The dominant blocker: flavors of a resource group are alternatives, all else is needed."""
    worst: dict[tuple[Need, str], Blocker] = {}
    for need, blocker, _ in needed:
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
    for looked_at in summary.tries:
        need = (looked_at.pod_set, looked_at.group)
        if looked_at.refusal:
            remedies = (looked_at.remedy,) if looked_at.remedy else ()
            found.append((need, _refused_flavor(looked_at), remedies))
        for resource, answer in sorted(looked_at.answers.items()):
            if answer.mode < Mode.DEFERRED and answer.need > answer.have:
                key = (looked_at.flavor, resource)
                known = supply(key, answer)
                short = _short_of_quota(summary, looked_at, resource, answer, known.held_by)
                found.append((need, short, quota_remedies(key, answer, known)))
    return found


def _refused_flavor(looked_at: FlavorAttempt) -> Blocker:
    where = f"Flavor {looked_at.flavor} cannot be used: " if looked_at.flavor else ""
    return Blocker(
        type="Quota",
        reason="NoMatchingFlavor",
        message=f"{where}{looked_at.refusal}",
        pod_set=looked_at.pod_set,
        flavor=looked_at.flavor,
    )


def _short_of_quota(
    summary: EvaluationSummary,
    looked_at: FlavorAttempt,
    resource: str,
    answer: QuotaResult,
    held_by: tuple[str, ...],
) -> Blocker:
    impossible = answer.reason == "ExceedsMaxQuota"
    have = answer.most if impossible else answer.have
    needs = f"Needs {written_amount(resource, answer.need)} of flavor {looked_at.flavor}"
    queue = f"ClusterQueue {summary.cluster_queue}"
    message = f"{needs}; {_quota_shortage(queue, resource, answer)}"
    return Blocker(
        type="Quota",
        reason="ExceedsMaxQuota" if impossible else "WaitingForQuota",
        message=message,
        pod_set=looked_at.pod_set,
        flavor=looked_at.flavor,
        resource=resource,
        need=answer.need,
        have=have,
        short_by=answer.need - have,
        held_by=() if impossible else held_by,
    )


def _quota_shortage(queue: str, resource: str, answer: QuotaResult) -> str:
    nominal = number(resource, answer.nominal)
    if answer.reason == "ExceedsMaxQuota":
        if not answer.is_non_preemptible:
            return f"{queue} can never use more than {number(resource, answer.most)}"
        return f"{queue} has a nominal quota of {nominal} for what may not be preempted"
    free = number(resource, answer.have)
    if answer.is_withheld:
        return (
            f"{queue} has {free} free beside what it keeps for work that waits and may not be "
            f"preempted (nominal quota {nominal})"
        )
    if answer.is_non_preemptible:
        return (
            f"{queue} has {free} of its nominal quota {nominal} left for what may not be preempted"
        )
    return f"{queue} has {free} free (nominal quota {nominal})"


def _topology_blockers(summary: EvaluationSummary) -> list[NeededBlocker]:
    groups = {(t.pod_set, t.flavor): t.group for t in summary.tries if not t.refusal}
    return [
        (
            (pod_set, groups.get((pod_set, flavor), 0)),
            placement_blocker(pod_set, flavor, shortfall),
            placement_remedies(flavor, shortfall),
        )
        for pod_set, flavor, shortfall in summary.unplaced
    ]


def _victim_blockers(summary: EvaluationSummary) -> list[Blocker]:
    if summary.search is None or not summary.search.reason:
        return []
    return [
        Blocker(
            type="Preemption",
            reason=summary.search.kind,
            message=f"Making room: {summary.search.reason}",
            refused=tuple(
                ProtectedCandidate(workload=w, rule=rule) for w, rule in summary.search.refused
            ),
        )
    ]


def _listed(names: tuple[str, ...], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
