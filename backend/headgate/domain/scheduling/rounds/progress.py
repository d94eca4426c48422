"""How open rounds go on: victims gone, places lost, preemptors that no longer come, time run out.

Reference preemption.md §6.8 and §6.10.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from msgspec.structs import replace

from headgate.domain.rounds.events import (
    InvalidatedBy,
    PlacementInvalidated,
    RoundAborted,
    RoundCompleted,
    RoundExpired,
    RoundSatisfied,
    RoundSuperseded,
    RoundVictim,
    VictimReleased,
)
from headgate.domain.rounds.state import Round, oldest_first
from headgate.domain.scheduling.cycle_context import CycleContext, StreamEvents
from headgate.domain.scheduling.evaluation.capacity_view import charge_fits
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.lines.standing import queue_obstacle
from headgate.domain.scheduling.partition.charges import Charge, Charges
from headgate.domain.scheduling.partition.claimed import claims
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.streams import round_stream, workload_stream
from headgate.domain.values.instants import whole_seconds
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.decide.executor_reports import is_cancellable
from headgate.domain.workloads.events import NominationWithdrawn
from headgate.domain.workloads.pods.eviction_units import evicting_pods_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
)
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.partial_eviction import (
    can_cancel,
    find_eviction,
    later_ranked_pods,
    pod_eviction_of,
)

ReleaseCause = Literal["Eviction", "Finished", "Deleted", "Shrunk"]


def advance_rounds(cycle: CycleContext) -> None:
    """Record for every open round what has happened to its victims, its place and its preemptor."""
    for begun in oldest_first(cycle.partition.rounds.values()):
        found = cycle.partition.rounds.get(begun.id)
        if found is None:
            continue
        cause = _abort_cause(cycle, found)
        if cause:
            end_round(cycle, found, RoundAborted(cause=cause))
        elif found.expires_at is not None and found.expires_at <= cycle.at:
            end_round(cycle, found, RoundExpired(stalled=_stalled_victims(cycle, found)))
        elif found.stage != "Invalidated" and not nomination_fits(cycle, found):
            invalidate_round(cycle, found)
        else:
            _release_victims(cycle, found)


def end_round(cycle: CycleContext, found: Round, end: RoundAborted | RoundExpired) -> None:
    """End a round without its preemptor's admission; the preemptor, if any, competes again.

    An aborted round calls back whom it can; victims of an expired one are leaving already.
    """
    called: dict[str, StreamEvents] = {}
    if isinstance(end, RoundAborted):
        cause = f"round {found.id} was aborted: {end.cause}"
        called = cancel_evictions(cycle, _counted_on([found], cycle), cause)
        end = replace(end, called_back=_named(called[found.id]))
    cycle.decide((round_stream(found.id), end), *_withdraw_nomination(cycle, found), *_all(called))


def invalidate_round(cycle: CycleContext, found: Round) -> None:
    """The place it kept is lost: its preemptor may plan anew, and who leaves is credited (§6.8)."""
    lost = PlacementInvalidated(by=_invalidation_cause(cycle, found))
    cycle.decide((round_stream(found.id), lost), *_withdraw_nomination(cycle, found))


def invalidate_taken(cycle: CycleContext, rounds: Iterable[str], taker: str) -> None:
    """Those of these rounds whose place was taken by the decision just made for a workload."""
    for round_id in rounds:
        found = cycle.partition.rounds.get(round_id)
        if found is not None and found.stage != "Invalidated" and not nomination_fits(cycle, found):
            lost = PlacementInvalidated(by="Taken", taken_by=taker)
            cycle.decide((round_stream(found.id), lost), *_withdraw_nomination(cycle, found))


def supersede_rounds(
    cycle: CycleContext, preemptor: Workload, end: RoundSuperseded
) -> StreamEvents:
    """The end of every round that still worked for a preemptor which has found something else.

    Once it is admitted elsewhere nobody needs to leave any more; a new round counts on whoever
    the old one sent away.
    """
    facts: StreamEvents = []
    key = preemptor.key
    own = oldest_first(each for each in cycle.partition.rounds.values() if each.preemptor == key)
    called: dict[str, StreamEvents] = {}
    if own and end.admission is not None:
        cause = f"{key} found another place"
        called = cancel_evictions(cycle, _counted_on(own, cycle), cause, end.admission)
    for found in own:
        if found.stage != "Invalidated" and not nomination_fits(cycle, found):
            lost = PlacementInvalidated(by=_invalidation_cause(cycle, found))
            facts.append((round_stream(found.id), lost))
        back = _named(called.get(found.id, []))
        facts.append((round_stream(found.id), replace(end, called_back=back)))
    return [*facts, *_all(called)]


def complete_round(cycle: CycleContext, found: Round, admission: Admission) -> StreamEvents:
    """The preemptor got the place that was kept; whoever need not leave for that is called back.

    That happens where room came from others before all victims had gone (preemption.md §6.10).
    """
    waited = whole_seconds(cycle.at - found.committed_at)
    cause = f"{found.preemptor} could start before it had gone"
    called = cancel_evictions(cycle, _counted_on([found], cycle), cause, admission)
    end = RoundCompleted(waited_seconds=waited, called_back=_named(called[found.id]))
    return [(round_stream(found.id), end), *_all(called)]


def release_cause(victim: Workload | None, round_id: str, *, shrinks: bool) -> ReleaseCause | None:
    """How a victim's place became free, or that of the pods it loses; None while it holds it."""
    if victim is None:
        return "Deleted"
    if victim.finished_at is not None:
        return "Finished"
    if not has_quota_reservation(victim):
        return "Eviction"
    if find_eviction(victim, round_id) is not None:
        return None
    return "Shrunk" if shrinks else "Eviction"


def _counted_on(ending: list[Round], cycle: CycleContext) -> list[Round]:
    """Rounds of one preemptor, and those before it planned anew: they counted on their victims."""
    key = ending[0].preemptor
    before = (
        each
        for each in cycle.cell.rounds.values()
        if each.preemptor == key and each.stage == "Superseded" and each.started_at is None
    )
    return [*ending, *oldest_first(before)]


def _all(called: dict[str, StreamEvents]) -> StreamEvents:
    return [fact for facts in called.values() for fact in facts]


def _named(called: StreamEvents) -> tuple[str, ...]:
    """The workloads that are called back."""
    return tuple(stream.removeprefix("workload/") for stream, _ in called)


def _withdraw_nomination(cycle: CycleContext, found: Round) -> StreamEvents:
    preemptor = cycle.cell.workloads.get(found.preemptor)
    if preemptor is None or preemptor.round_id != found.id:
        return []
    return [(workload_stream(found.preemptor), NominationWithdrawn(round_id=found.id))]


def _abort_cause(cycle: CycleContext, found: Round) -> str:
    preemptor = cycle.cell.workloads.get(found.preemptor)
    if preemptor is None:
        return f"{found.preemptor} was deleted"
    if preemptor.finished_at is not None:
        return f"{found.preemptor} has finished"
    if found.preemptor_generation not in {0, preemptor.generation}:
        return f"{found.preemptor} was changed"
    if found.stage != "Invalidated" and preemptor.round_id != found.id:
        return f"{found.preemptor} no longer wants the place"
    if cycle.partition.competes(preemptor):
        return ""
    obstacle = queue_obstacle(cycle.cell.config, preemptor)
    return obstacle.message if obstacle else f"{found.preemptor} may not start now"


def _invalidation_cause(cycle: CycleContext, found: Round) -> InvalidatedBy:
    """Its hosts, or else its quota; who takes a place is known and told at once."""
    preemptor = cycle.cell.workloads[found.preemptor]
    partition = cycle.partition
    charge = partition.charges.charge_of(preemptor, found.admission)
    old = replaced_slice(partition, cycle.cell.workloads, preemptor)
    partition.charges.give_back(PROJECTED, charge)
    try:
        with partition.charges.without(old):
            has_hosts = charge.is_whole and partition.hosts.fits(PROJECTED, charge.pods)
    finally:
        partition.charges.take(PROJECTED, charge)
    return "QuotaChanged" if has_hosts else "HostLost"


def _release_victims(cycle: CycleContext, found: Round) -> None:
    stream = round_stream(found.id)
    events: StreamEvents = []
    left = 0
    for victim in found.victims:
        if victim.workload in found.released:
            continue
        by = _release_cause(cycle, found, victim)
        if by is None:
            left += 1
        else:
            events.append((stream, VictimReleased(workload=victim.workload, by=by)))
    if events and not left:
        events.append((stream, RoundSatisfied()))
    if found.stage == "Invalidated" and not left:
        events = [fact for fact in events if not isinstance(fact[1], RoundSatisfied)]
        events.append((stream, RoundAborted(cause="The place can no longer be had")))
    if events:
        cycle.decide(*events)


def _stalled_victims(cycle: CycleContext, found: Round) -> tuple[str, ...]:
    return tuple(
        victim.workload
        for victim in found.victims
        if victim.workload not in found.released and _release_cause(cycle, found, victim) is None
    )


def _release_cause(cycle: CycleContext, found: Round, victim: RoundVictim) -> ReleaseCause | None:
    known = cycle.cell.workloads.get(victim.workload)
    return release_cause(known, found.id, shrinks=bool(victim.shrinks_to))


def cancel_evictions(
    cycle: CycleContext, ended: Sequence[Round], cause: str, place: Admission | None = None
) -> dict[str, StreamEvents]:
    """By round, the evictions that nobody has begun and no other round counts on: they run on.

    These rounds of one preemptor end; `place` is what it gets now, if anything.
    """
    facts: dict[str, StreamEvents] = {found.id: [] for found in ended}
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
