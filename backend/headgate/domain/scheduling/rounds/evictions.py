"""How a victim is asked to leave, and when it may be called back (preemption.md §6.8, trap T24)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from headgate.domain.config import Config
from headgate.domain.facts import DomainEvent
from headgate.domain.queues.specs import SoftEviction
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.capacity_view import charge_fits
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.partition.charges import Charge, Charges
from headgate.domain.scheduling.partition.claimed import claims
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.decide.executor_reports import is_cancellable
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadStopped
from headgate.domain.workloads.pods.eviction_units import evicting_pods_admission
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    SoftTerms,
    WorkloadPodsEvicted,
    WorkloadShrunk,
)
from headgate.domain.workloads.specs import EvictionPolicy
from headgate.domain.workloads.state import Workload, is_admitted
from headgate.domain.workloads.transitions.partial_eviction import (
    can_cancel,
    evicting_pods,
    find_eviction,
    later_ranked_pods,
    pod_eviction_of,
)

Facts = list[tuple[str, DomainEvent]]


def eviction_of(config: Config, victim: Workload, asked: WorkloadEvicted, at: Instant) -> Facts:
    """Asked to go, softly if it has something to save; what only reserved goes at once.

    What was never admitted has no pods, so that nobody would report it stopped.
    """
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        return [(stream, asked), (stream, WorkloadStopped(eviction=asked.eviction))]
    terms = soft_terms(config, victim, at)
    return [(stream, replace(asked, soft=terms))]


def pods_eviction_of(
    config: Config, victim: Workload, asked: WorkloadPodsEvicted, at: Instant
) -> Facts:
    """The same for some of its pods, while the rest of it goes on."""
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        later = {
            name: n for name, n in evicting_pods(victim.pod_evictions).items() if name in asked.pods
        }
        shrunk = WorkloadShrunk(
            eviction=asked.eviction, pods=asked.pods, counts=asked.counts, later=later
        )
        return [(stream, asked), (stream, shrunk)]
    return [(stream, replace(asked, soft=soft_terms(config, victim, at)))]


def soft_terms(config: Config, victim: Workload, at: Instant) -> SoftTerms | None:
    """The time a victim gets, by its own policy or its queue's, never beyond the queue's longest.

    None means none: an Immediate eviction, or one of who is not admitted.
    """
    assert victim.admission is not None, "only who holds a place is evicted"
    queue = config.cluster_queues.get(victim.admission.cluster_queue)
    rules = queue.spec.preemption.soft_eviction if queue else SoftEviction()
    policy = victim.spec.eviction_policy or EvictionPolicy(mode=rules.default)
    grace = min(policy.grace_period_seconds, rules.max_grace_seconds)
    if policy.mode != "Soft" or not grace or not is_admitted(victim):
        return None
    return SoftTerms(
        deadline_at=seconds_after(at, grace),
        latest_end_at=seconds_after(at, rules.max_grace_seconds),
        grace_seconds=grace,
        require_ack=policy.require_ack,
        handler=policy.handler,
        on_deadline=policy.on_deadline,
    )


def cancel_evictions(
    cycle: CycleContext, ended: Sequence[Round], cause: str, place: Admission | None = None
) -> dict[str, Facts]:
    """By round, the evictions that nobody has begun and no other round counts on: they run on.

    These rounds of one preemptor end; `place` is what it gets now, if anything.
    """
    facts: dict[str, Facts] = {found.id: [] for found in ended}
    if not any(victim.mode == "Soft" for found in ended for victim in found.victims):
        return facts
    partition, spared = cycle.partition, []
    others = [other for other in partition.rounds.values() if other.id not in facts]
    with _with_placement_of(cycle, ended[0].preemptor, place):
        others = [other for other in others if nomination_fits(cycle, other)]
        for found, victim in _cancellable(cycle, ended):
            held = _freed_by(partition.charges, victim, found.id)
            partition.charges.take(PROJECTED, held)
            if all(nomination_fits(cycle, other) for other in others):
                spared.append(held)
                cancelled = EvictionCancelled(eviction=found.id, cause=cause)
                facts[found.id].append((workload_stream(victim.key), cancelled))
            else:
                partition.charges.give_back(PROJECTED, held)
        for held in spared:
            partition.charges.give_back(PROJECTED, held)
    return facts


def _cancellable(cycle: CycleContext, ended: Sequence[Round]) -> Iterator[tuple[Round, Workload]]:
    """Victims who have time and have not begun to use it, each with the round it was to go for."""
    for found in ended:
        for named in found.victims:
            victim = cycle.cell.workloads.get(named.workload)
            eviction = None if victim is None else find_eviction(victim, found.id)
            if victim is None or eviction is None or not is_cancellable(eviction):
                continue
            some = pod_eviction_of(victim, found.id)
            if some is None or (victim.eviction is None and can_cancel(victim, some)):
                yield found, victim


def _freed_by(charges: Charges, victim: Workload, eviction: str) -> Charge:
    """What all of a victim holds, or the pods that it gives up by that eviction."""
    some = pod_eviction_of(victim, eviction)
    if some is None or victim.admission is None:
        return charges.held_by(victim)
    going = evicting_pods_admission(victim.admission, some, later_ranked_pods(victim, some))
    return charges.charge_of(victim, going)


@contextmanager
def _with_placement_of(
    cycle: CycleContext, preemptor: str, place: Admission | None
) -> Iterator[None]:
    """The projected view with what a preemptor gets instead of the place that was kept for it."""
    partition, workload = cycle.partition, cycle.cell.workloads.get(preemptor)
    actual, kept = claims(workload)
    if workload is None or actual is not None:
        yield
        return
    before = partition.charges.charge_of(workload, kept) if kept else None
    after = partition.charges.charge_of(workload, place) if place else None
    if before:
        partition.charges.give_back(PROJECTED, before)
    if after:
        partition.charges.take(PROJECTED, after)
    try:
        yield
    finally:
        if after:
            partition.charges.give_back(PROJECTED, after)
        if before:
            partition.charges.take(PROJECTED, before)


def nomination_fits(cycle: CycleContext, found: Round) -> bool:
    """Whether a round's preemptor will fit at the place kept for it once everyone has left."""
    preemptor = cycle.cell.workloads.get(found.preemptor)
    if preemptor is None or preemptor.round_id != found.id:
        return True
    partition = cycle.partition
    own = partition.charges.charge_of(preemptor, found.admission)
    old = replaced_slice(partition, cycle.cell.workloads, preemptor)
    partition.charges.give_back(PROJECTED, own)
    try:
        with partition.charges.without(old):
            return charge_fits(partition, own, (PROJECTED,))
    finally:
        partition.charges.take(PROJECTED, own)
