"""How open rounds advance and end: victims gone, placement lost, preemptor changed, expiry.

preemption.md §6.8 and §6.10. Evictions that have not begun are cancelled where no other round
counts on them (trap P24).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from headgate.domain.recorded_event import round_stream, workload_stream
from headgate.domain.rounds.decide import (
    AbortRound,
    CompleteRound,
    ExpireRound,
    InvalidatePlacement,
    ReleaseVictims,
    RoundCommand,
    SupersedeRound,
    decide,
)
from headgate.domain.rounds.state import (
    InvalidatedBy,
    ReleaseCause,
    Round,
    RoundVictim,
    oldest_first,
)
from headgate.domain.scheduling.cycle_context import CycleContext, StreamEvents
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.partition.charges import Charge, Charges, charged_admissions
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.capacity_view import charge_fits
from headgate.domain.scheduling.queueing.queue_checks import check_queues
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.decide.executor_reports import is_cancellable
from headgate.domain.workloads.events import NominationWithdrawn
from headgate.domain.workloads.pods.eviction_units import evicting_pods_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import EvictionCancelled
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.preemption import (
    can_cancel,
    find_eviction,
    pod_eviction_of,
)


def advance_rounds(cycle: CycleContext) -> None:
    """Record for every open round what happened to its victims, its placement and its preemptor."""
    for begun in oldest_first(cycle.partition.rounds.values()):
        found = cycle.partition.rounds.get(begun.id)
        if found is None:
            continue
        cause = _abort_cause(cycle, found)
        if cause is not None:
            _abort_round(cycle, found, cause)
        elif found.expires_at is not None and found.expires_at <= cycle.at:
            expire = ExpireRound(_stalled_victims(cycle, found))
            cycle.decide(*decide_round(cycle, found, expire), *_withdraw_nomination(cycle, found))
        elif _has_lost_placement(cycle, found):
            invalidate_round(cycle, found)
        elif events := decide_round(cycle, found, ReleaseVictims(_release_causes(cycle, found))):
            cycle.decide(*events)


def decide_round(cycle: CycleContext, found: Round, command: RoundCommand) -> StreamEvents:
    """The events of a round that follow from a command, on the stream of that round."""
    stream = round_stream(found.id)
    return [(stream, event) for event in decide(found, command, cycle.at)]


def invalidate_round(cycle: CycleContext, found: Round) -> None:
    """Record that the nominated placement is lost: the preemptor is nominated anew (§6.8).

    Evictions that the round began go on and count for the next one.
    """
    lost = InvalidatePlacement(by=_invalidation_cause(cycle, found))
    cycle.decide(*decide_round(cycle, found, lost), *_withdraw_nomination(cycle, found))


def invalidate_taken(cycle: CycleContext, rounds: Iterable[str], taker: str) -> None:
    """Invalidate those of the rounds that lost their placement to the decision for `taker`."""
    for round_id in rounds:
        found = cycle.partition.rounds.get(round_id)
        if found is not None and _has_lost_placement(cycle, found):
            lost = InvalidatePlacement(by="Taken", taken_by=taker)
            cycle.decide(*decide_round(cycle, found, lost), *_withdraw_nomination(cycle, found))


def supersede_rounds(cycle: CycleContext, preemptor: Workload, end: SupersedeRound) -> StreamEvents:
    """The end of every open round of a preemptor that gets another placement or another round.

    Evictions are cancelled where it was admitted at another placement; a new round counts on them.
    """
    key = preemptor.key
    own = oldest_first(each for each in cycle.partition.rounds.values() if each.preemptor == key)
    cancelled: dict[str, StreamEvents] = {}
    if own and end.admission is not None:
        cause = message("PreemptorPlacedElsewhere", preemptor=workload_reference(key))
        cancelled = cancel_evictions(cycle, _with_superseded(own, cycle), cause, end.admission)
    events: StreamEvents = []
    for found in own:
        if _has_lost_placement(cycle, found):
            lost = InvalidatePlacement(by=_invalidation_cause(cycle, found))
            events += decide_round(cycle, found, lost)
        back = _workloads_of(cancelled.get(found.id, []))
        events += decide_round(cycle, found, replace(end, called_back=back))
    return [*events, *_joined(cancelled)]


def complete_round(cycle: CycleContext, found: Round, admission: Admission) -> StreamEvents:
    """The end of a round with an admission as nominated, and the evictions it cancels.

    Evictions are cancelled where other usage was released before all victims had gone (§6.10).
    """
    cause = message("PreemptorStartedBefore", preemptor=workload_reference(found.preemptor))
    cancelled = cancel_evictions(cycle, _with_superseded([found], cycle), cause, admission)
    complete = CompleteRound(called_back=_workloads_of(cancelled[found.id]))
    return [*decide_round(cycle, found, complete), *_joined(cancelled)]


def _abort_round(cycle: CycleContext, found: Round, cause: Message) -> None:
    told = message("RoundAborted", round=found.id, why=cause)
    cancelled = cancel_evictions(cycle, _with_superseded([found], cycle), told)
    abort = AbortRound(cause=cause, called_back=_workloads_of(cancelled[found.id]))
    cycle.decide(
        *decide_round(cycle, found, abort),
        *_withdraw_nomination(cycle, found),
        *_joined(cancelled),
    )


def _with_superseded(ending: list[Round], cycle: CycleContext) -> list[Round]:
    """Rounds of one preemptor, with superseded ones: later plans counted on their evictions."""
    key = ending[0].preemptor
    before = (
        each
        for each in cycle.cluster_state.rounds.values()
        if each.preemptor == key and each.stage == "Superseded" and each.started_at is None
    )
    return [*ending, *oldest_first(before)]


def _joined(by_round: dict[str, StreamEvents]) -> StreamEvents:
    return [event for events in by_round.values() for event in events]


def _workloads_of(events: StreamEvents) -> tuple[str, ...]:
    return tuple(stream.removeprefix("workload/") for stream, _ in events)


def _withdraw_nomination(cycle: CycleContext, found: Round) -> StreamEvents:
    preemptor = cycle.cluster_state.workloads.get(found.preemptor)
    if preemptor is None or preemptor.round_id != found.id:
        return []
    return [(workload_stream(found.preemptor), NominationWithdrawn(round_id=found.id))]


def _abort_cause(cycle: CycleContext, found: Round) -> Message | None:
    preemptor = cycle.cluster_state.workloads.get(found.preemptor)
    named = workload_reference(found.preemptor)
    if preemptor is None:
        return message("PreemptorDeleted", preemptor=named)
    if preemptor.finished_at is not None:
        return message("PreemptorFinished", preemptor=named)
    if found.preemptor_generation not in {0, preemptor.generation}:
        return message("PreemptorChanged", preemptor=named)
    if found.stage != "Invalidated" and preemptor.round_id != found.id:
        return message("PreemptorNotNominated", preemptor=named)
    if cycle.partition.is_admission_candidate(preemptor):
        return None
    failure = check_queues(cycle.cluster_state.config, preemptor)
    return failure.message if failure else message("PreemptorNotAdmissible", preemptor=named)


def _has_lost_placement(cycle: CycleContext, found: Round) -> bool:
    return found.stage != "Invalidated" and not nomination_fits(cycle, found)


def _invalidation_cause(cycle: CycleContext, found: Round) -> InvalidatedBy:
    """Whether hosts or quota were lost; a placement taken by a workload is recorded at once."""
    preemptor = cycle.cluster_state.workloads[found.preemptor]
    partition = cycle.partition
    with _without_nomination(cycle, preemptor, found) as charge:
        has_hosts = charge.is_whole and partition.hosts.fits(PROJECTED, charge.pods)
    return "QuotaChanged" if has_hosts else "HostLost"


def nomination_fits(cycle: CycleContext, found: Round) -> bool:
    """Whether the preemptor will fit at the nominated placement once all victims have gone."""
    preemptor = cycle.cluster_state.workloads.get(found.preemptor)
    if preemptor is None or preemptor.round_id != found.id:
        return True
    with _without_nomination(cycle, preemptor, found) as charge:
        return charge_fits(cycle.partition, charge, (PROJECTED,))


@contextmanager
def _without_nomination(cycle: CycleContext, preemptor: Workload, found: Round) -> Iterator[Charge]:
    """The projected view without the nominated charge of a round and the slice it replaces."""
    partition = cycle.partition
    charge = partition.charges.charge_of(preemptor, found.admission)
    old = replaced_slice(partition, cycle.cluster_state.workloads, preemptor)
    partition.charges.release(PROJECTED, charge)
    try:
        with partition.charges.without(old):
            yield charge
    finally:
        partition.charges.acquire(PROJECTED, charge)


def _release_causes(cycle: CycleContext, found: Round) -> dict[str, ReleaseCause]:
    """By victim, why its quota and hosts are free; without the victims that still hold them."""
    causes: dict[str, ReleaseCause] = {}
    for victim in found.victims:
        cause = _release_cause(cycle, found, victim)
        if cause is not None:
            causes[victim.workload] = cause
    return causes


def _stalled_victims(cycle: CycleContext, found: Round) -> tuple[str, ...]:
    gone = {*found.released, *_release_causes(cycle, found)}
    return tuple(each.workload for each in found.victims if each.workload not in gone)


def _release_cause(cycle: CycleContext, found: Round, named: RoundVictim) -> ReleaseCause | None:
    victim = cycle.cluster_state.workloads.get(named.workload)
    if victim is None:
        return "Deleted"
    if victim.finished_at is not None:
        return "Finished"
    if not has_quota_reservation(victim):
        return "Eviction"
    if find_eviction(victim, found.id) is not None:
        return None
    return "Shrunk" if named.shrinks_to else "Eviction"


def cancel_evictions(
    cycle: CycleContext, ended: Sequence[Round], cause: Message, place: Admission | None = None
) -> dict[str, StreamEvents]:
    """By round, the cancelled evictions: not begun yet, and no other round counts on them.

    The rounds are of one preemptor and end; `place` is the placement it gets now, if any.
    """
    stream_events: dict[str, StreamEvents] = {found.id: [] for found in ended}
    if not any(victim.mode == "Soft" for found in ended for victim in found.victims):
        return stream_events
    partition, spared = cycle.partition, []
    others = [other for other in partition.rounds.values() if other.id not in stream_events]
    with _with_placement_of(cycle, ended[0].preemptor, place):
        others = [other for other in others if nomination_fits(cycle, other)]
        for found, victim in _cancellable(cycle, ended):
            held = _freed_by(partition.charges, victim, found.id)
            partition.charges.acquire(PROJECTED, held)
            if all(nomination_fits(cycle, other) for other in others):
                spared.append(held)
                cancelled = EvictionCancelled(eviction=found.id, cause=cause)
                stream_events[found.id].append((workload_stream(victim.key), cancelled))
            else:
                partition.charges.release(PROJECTED, held)
        for held in spared:
            partition.charges.release(PROJECTED, held)
    return stream_events


def _cancellable(cycle: CycleContext, ended: Sequence[Round]) -> Iterator[tuple[Round, Workload]]:
    """Victims in their grace period that have not begun to stop, each with its round."""
    for found in ended:
        for named in found.victims:
            victim = cycle.cluster_state.workloads.get(named.workload)
            eviction = None if victim is None else find_eviction(victim, found.id)
            if victim is None or eviction is None or not is_cancellable(eviction):
                continue
            some = pod_eviction_of(victim, found.id)
            if some is None or (victim.eviction is None and can_cancel(victim, some)):
                yield found, victim


def _freed_by(charges: Charges, victim: Workload, eviction: str) -> Charge:
    """The charge that an eviction frees: all of the victim's, or that of the evicted pods."""
    some = pod_eviction_of(victim, eviction)
    if some is None or victim.admission is None:
        return charges.held_by(victim)
    going = evicting_pods_admission(victim, some)
    return charges.charge_of(victim, going)


@contextmanager
def _with_placement_of(
    cycle: CycleContext, preemptor: str, place: Admission | None
) -> Iterator[None]:
    """The projected view with a preemptor's new placement instead of its nominated one."""
    partition, workload = cycle.partition, cycle.cluster_state.workloads.get(preemptor)
    actual, kept = charged_admissions(workload)
    if workload is None or actual is not None:
        yield
        return
    before = partition.charges.charge_of(workload, kept) if kept else None
    after = partition.charges.charge_of(workload, place) if place else None
    if before:
        partition.charges.release(PROJECTED, before)
    if after:
        partition.charges.acquire(PROJECTED, after)
    try:
        yield
    finally:
        if after:
            partition.charges.release(PROJECTED, after)
        if before:
            partition.charges.acquire(PROJECTED, before)
