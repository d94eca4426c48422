"""Contradictions between an explanation and independent accounting."""

from collections.abc import Iterator
from itertools import pairwise, product

from headgate.domain.cluster_state import ClusterState
from headgate.domain.rounds.state import is_open
from headgate.domain.values.message import Message, ObjectReference, message
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.specs import ADMISSION_GATES, PodSet
from headgate.domain.workloads.state import Workload, phase_of
from headgate.domain.workloads.transitions.preemption import oldest_ongoing_eviction
from tests.simulation.independent_accounting import (
    GPU,
    Accounting,
    account,
    emptied,
    empty,
    has_hosts,
    quotas_of,
    suitable_flavors,
    total,
)

CAPACITY_REASONS = {
    "WaitingForQuota",
    "ExceedsMaxQuota",
    "NoMatchingFlavor",
    "TopologyPlacementFailed",
    "WaitingForHosts",
}
REASON_OF_PHASE = {
    "Retrying": {"BackingOff"},
    "OnHold": {"OnHold"},
    "Inactive": {"Deactivated"},
    "QuotaReserved": {"UnsatisfiedAdmissionChecks"},
}
PHASE_REASONS = {reason for reasons in REASON_OF_PHASE.values() for reason in reasons}
MAX_REFUSED = 20
ROUND = "PreemptionBlockedByCycleGuard"
OWNED = message("WithinNominalQuota")
Views = tuple[Accounting, Accounting, Accounting]
"""The free capacity now, after all evictions, and in both; a sentence may mean any."""


def contradictions(
    cluster_state: ClusterState, workload: Workload, found: Explanation, now: Accounting
) -> Iterator[str]:
    """Returns what contradicts the accounting; `now` is the present free capacity."""
    later = account(cluster_state, projected=True, without=workload.key)
    views = (now, later, now.both(later))
    yield from _wrong_state(cluster_state, workload, found)
    yield from _wrong_order(cluster_state, workload, found)
    yield from _wrong_room(cluster_state, workload, found, views)
    yield from _wrong_leaving(cluster_state, workload, found)
    yield from _missed_victims(cluster_state, workload, found)
    yield from _wrong_refusals(cluster_state, workload, found)
    for blocker in found.blockers:
        yield from _wrong_numbers(cluster_state, workload, blocker, views)


def _wrong_state(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    phase = phase_of(workload)
    if found.is_unschedulable:
        if phase == "QuotaReserved":
            yield "it has quota"
        return
    wanted = REASON_OF_PHASE.get(phase)
    if wanted is not None and found.dominant not in wanted | {"Ending", "RateLimited"}:
        yield f"it is {phase}"
    if wanted is None and found.dominant in PHASE_REASONS:
        yield f"it is {phase}"
    if phase == "QuotaReserved":
        yield from _wrong_checks(workload, found)
    if phase == "Pending":
        yield from _wrong_obstacle(cluster_state, workload, found)


def _wrong_checks(workload: Workload, found: Explanation) -> Iterator[str]:
    states = workload.check_states
    for name in workload.checks:
        is_ready = name in states and states[name].state == "Ready"
        told = found.reason_message.arguments.get("checks", ())
        is_told = isinstance(told, tuple) and name in {
            each.arguments["check"] for each in told if isinstance(each, Message)
        }
        if is_ready == is_told:
            yield f"check {name} is {'' if is_ready else 'not '}ready"


def _wrong_obstacle(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    """Checks the order: gates first, then LocalQueue, ClusterQueue, and their references."""
    name = workload.spec.queue_name
    queue = cluster_state.config.cluster_queues[name].spec
    local = cluster_state.config.local_queues[f"team/{name}"].spec
    checks = [
        cluster_state.config.admission_checks[rule.name].spec for rule in queue.admission_checks
    ]
    stands = {
        "AdmissionGated": bool(workload.annotations.get(ADMISSION_GATES)),
        "LocalQueueStopped": local.stop_policy != "None",
        "Stopped": queue.stop_policy != "None",
        "AdmissionCheckInactive": not all(check.active for check in checks),
    }
    first = next((reason for reason, is_so in stands.items() if is_so), "")
    told = found.dominant if found.dominant in stands else ""
    if found.dominant != "Ending" and told != first:
        yield f"it is kept out by {first or 'nothing'}"


def _wrong_order(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    if found.dominant != "BehindHead":
        return
    if (
        cluster_state.config.cluster_queues[workload.spec.queue_name].spec.queueing_strategy
        != "StrictFIFO"
    ):
        yield "its queue is not strict"
    others = [
        other
        for other in cluster_state.workloads.values()
        if other.spec.queue_name == workload.spec.queue_name
        and phase_of(other) in {"Pending", "Nominated"}
        and not _is_out_of_line(other)
    ]
    first = min(others, key=lambda one: (-one.spec.priority, one.created_at, one.key))
    if first.key == workload.key:
        yield "no workload precedes it"
    if found.blockers[0].held_by != (first.key,):
        yield f"the first is {first.key}, not {found.blockers[0].held_by}"


def _is_out_of_line(workload: Workload) -> bool:
    """Whether it was evicted and is not requeued: `Requeued` is False (queueing.md §2.3)."""
    return any(one.type == "Requeued" and not one.status for one in workload.conditions)


def _wrong_room(
    cluster_state: ClusterState, workload: Workload, found: Explanation, views: Views
) -> Iterator[str]:
    both = views[-1]
    if found.dominant in CAPACITY_REASONS and both.fits(cluster_state, workload):
        yield "by all accounts there is room"
    if found.is_unschedulable and emptied(cluster_state).fits(cluster_state, workload):
        yield "it would start in an empty cluster"
    if found.dominant == "PendingEvaluation":
        if found.reason_message.code == "FitsNow" and not both.fits(cluster_state, workload):
            yield "it is said to fit and does not"
        if found.reason_message.code == "CanPreemptNow" and not empty(cluster_state).fits(
            cluster_state, workload
        ):
            yield "it does not fit even into the empty cluster"
    choices = [suitable_flavors(cluster_state, workload, p) for p in workload.spec.pod_sets]
    combined = list(product(*choices))
    says_quota = found.dominant in {"WaitingForQuota", "ExceedsMaxQuota"}
    if says_quota and any(both.has_quota(workload, flavors) for flavors in combined):
        yield "there is quota, so that cannot be the reason"
    never = found.is_unschedulable and found.condition_reason == "ExceedsMaxQuota"
    if never and any(empty(cluster_state).has_quota(workload, flavors) for flavors in combined):
        yield "the quota would suffice without usage"
    if found.dominant == "PreemptionRateLimited":
        yield from _wrong_rate(cluster_state, workload)
    if found.dominant == "NoMatchingFlavor" and combined:
        yield f"{combined} would serve it"


def _wrong_rate(cluster_state: ClusterState, workload: Workload) -> Iterator[str]:
    name = workload.spec.queue_name
    if cluster_state.config.cluster_queues[name].spec.preemption.rate_limit is None:
        yield f"{name} has no limit"
    if all(one.cluster_queue != name for one in cluster_state.rounds.values()):
        yield f"{name} has started no round"


def _wrong_leaving(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    """Checks that the named victims are evicting, or were just chosen by an open round."""
    if found.dominant != "WaitingForPreemptedWorkloads":
        return
    chosen = {
        victim.workload
        for one in cluster_state.rounds.values()
        if is_open(one)
        for victim in one.victims
        if victim.workload not in one.released
    }
    for key in found.blockers[0].held_by:
        other = cluster_state.workloads.get(key)
        holds = other is not None and other.admission is not None
        if other is not None and holds and not _leaves(other) and key not in chosen:
            yield f"{key} is not leaving"
    later = account(cluster_state, projected=True, without=workload.key, gone=chosen)
    if not later.fits(cluster_state, workload):
        yield "it will not fit when they have left"


def _leaves(workload: Workload) -> bool:
    """Whether all of it, or some of its pods, are evicting."""
    asked = (oldest_ongoing_eviction(workload), workload.terminating_at, workload.cancelling_at)
    return any(one is not None for one in asked)


def _missed_victims(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    """Missed victims: lower priorities of its own ClusterQueue that would suffice."""
    queue = cluster_state.config.cluster_queues[workload.spec.queue_name].spec
    searches = [blocker for blocker in found.blockers if blocker.type == "Preemption"]
    refused = {one.workload for blocker in searches for one in blocker.refused}
    if (
        found.dominant not in CAPACITY_REASONS
        or phase_of(workload) != "Pending"
        or queue.preemption.within_cluster_queue != "LowerPriority"
        or len(refused) >= MAX_REFUSED
        or _would_borrow(cluster_state, workload)
    ):
        return
    lower = {
        other.key
        for other in cluster_state.workloads.values()
        if other.admission is not None
        and other.finished_at is None
        and other.admission.cluster_queue == workload.spec.queue_name
        and other.spec.priority < workload.spec.priority
        and not _leaves(other)
        and other.key not in refused
    }
    if account(cluster_state, projected=True, without=workload.key, gone=lower).fits(
        cluster_state, workload
    ):
        yield f"{sorted(lower)} could make room"


def _wrong_refusals(
    cluster_state: ClusterState, workload: Workload, found: Explanation
) -> Iterator[str]:
    """Protection rules that do not apply to the candidates they name."""
    refused = [one for blocker in found.blockers for one in blocker.refused]
    for key, rule in ((one.workload, one.rule) for one in refused):
        other = cluster_state.workloads.get(key)
        if other is None:
            yield f"{key} is said to be safe, and is not there"
            continue
        mine, theirs = workload.spec.priority, other.spec.priority
        queue = other.admission.cluster_queue if other.admission is not None else ""
        if rule.code == ROUND:
            yield from _wrong_way_round(cluster_state, (workload.key, key), rule)
        elif rule == OWNED:
            if queue == workload.spec.queue_name:
                yield f"{key} is in its own queue, whatever that owns"
        elif (
            rule != message("NotLowerPriority", priority=theirs, preemptor_priority=mine)
            or theirs < mine
        ):
            yield f"{key} is said to be safe, as {rule}"


def _wrong_way_round(
    cluster_state: ClusterState, ends: tuple[str, str], rule: Message
) -> Iterator[str]:
    """Eviction paths that do not lead from the preemptor to the candidate."""
    chain = rule.arguments["chain"]
    assert isinstance(chain, tuple)
    way = [each.key for each in chain if isinstance(each, ObjectReference)]
    if (way[0], way[-1]) != ends:
        yield f"the way round leads from {way[0]} to {way[-1]}"
    known = cluster_state.rounds.values()
    evicted = {(victim.workload, one.preemptor) for one in known for victim in one.victims}
    robbed = {(one.preemptor, one.taken_by) for one in known if one.taken_by}
    for step in pairwise(way):
        if step not in evicted | robbed:
            yield f"{step[0]} never made way for {step[1]}"


def _would_borrow(cluster_state: ClusterState, workload: Workload) -> bool:
    """Whether the workload would borrow, which limits preemption to borrowWithinCohort."""
    if (
        cluster_state.config.cluster_queues[
            workload.spec.queue_name
        ].spec.preemption.borrow_within_cohort.policy
        != "Never"
    ):
        return False
    quotas = quotas_of(cluster_state, workload.spec.queue_name).values()
    return sum(map(total, workload.spec.pod_sets)) > max(q.nominal_quota for q in quotas)


def _wrong_numbers(
    cluster_state: ClusterState, workload: Workload, blocker: Blocker, views: Views
) -> Iterator[str]:
    if blocker.need is None or blocker.have is None:
        return
    if blocker.short_by != blocker.need - blocker.have or blocker.short_by <= 0:
        yield f"{blocker.need} - {blocker.have} is not {blocker.short_by}"
    if blocker.type == "Quota":
        yield from _wrong_quota(cluster_state, workload, blocker, views)
        yield from _wrong_holders(cluster_state, blocker)
    if blocker.type == "Topology" and blocker.domain:
        yield from _wrong_rack(cluster_state, _pod_set(workload, blocker), blocker, views)


def _wrong_quota(
    cluster_state: ClusterState, workload: Workload, blocker: Blocker, views: Views
) -> Iterator[str]:
    view = empty(cluster_state) if blocker.reason == "ExceedsMaxQuota" else views[-1]
    free = max(0, view.free[workload.spec.queue_name, blocker.flavor])
    sizes = {pod_set.name: total(pod_set) for pod_set in workload.spec.pod_sets}
    own, together = sizes[blocker.pod_set], sum(sizes.values())
    if blocker.need not in {own, together} or blocker.have != free:
        yield f"need {own} of {together}, have {free} by recount, told {blocker.message}"


def _wrong_holders(cluster_state: ClusterState, blocker: Blocker) -> Iterator[str]:
    for key in blocker.held_by:
        holder = cluster_state.workloads.get(key)
        given = holder.admission if holder is not None and holder.finished_at is None else None
        if given is None:
            yield f"{key} holds nothing"
        elif all(a.flavors.get(GPU) != blocker.flavor for a in given.pod_set_assignments):
            yield f"{key} holds no {GPU} of {blocker.flavor}"


def _wrong_rack(
    cluster_state: ClusterState, pod_set: PodSet, blocker: Blocker, views: Views
) -> Iterator[str]:
    if not has_hosts(cluster_state, blocker.flavor):
        yield f"flavor {blocker.flavor} has no hosts"
    if blocker.message.code == "PodsExceedLargestDomain":
        best = {emptied(cluster_state).best_rack(pod_set)}
    else:
        best = {view.best_rack(pod_set) for view in views}
        if (at_most := empty(cluster_state).best_rack(pod_set)) < pod_set.count:
            # No eviction would help, and the sentence says how far empty hosts would go.
            best.add(at_most)
    if blocker.have not in best:
        yield f"the best rack has room for {best}, told {blocker.message}"


def _pod_set(workload: Workload, blocker: Blocker) -> PodSet:
    return next(p for p in workload.spec.pod_sets if p.name == blocker.pod_set)
