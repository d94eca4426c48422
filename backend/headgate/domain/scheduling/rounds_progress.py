"""How open rounds go on: victims gone, preemptors that no longer come, time that ran out."""

from typing import Literal

from headgate.domain.facts import DomainEvent
from headgate.domain.rounds.events import RoundAborted, RoundExpired, RoundSatisfied, VictimReleased
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.run import CycleRun
from headgate.domain.scheduling.standing import queue_obstacle
from headgate.domain.streams import round_stream, workload_stream
from headgate.domain.workloads.events import NominationWithdrawn
from headgate.domain.workloads.leaving import holds_quota
from headgate.domain.workloads.state import Workload

Gone = Literal["Eviction", "Finished", "Deleted"]


def advance_rounds(run: CycleRun) -> None:
    """Record for every open round what has happened to its victims and its preemptor."""
    for round_id in sorted(run.partition.rounds):
        found = run.partition.rounds[round_id]
        cause = _cause_to_abort(run, found)
        if cause:
            end_round(run, found, RoundAborted(cause=cause))
        elif found.expires_at is not None and found.expires_at <= run.at:
            end_round(run, found, RoundExpired(stalled=_still_there(run, found)))
        else:
            _release_victims(run, found)


def end_round(run: CycleRun, found: Round, end: RoundAborted | RoundExpired) -> None:
    """End a round without its preemptor's admission; the preemptor competes again."""
    events: list[tuple[str, DomainEvent]] = [(round_stream(found.id), end)]
    preemptor = run.cell.workloads.get(found.preemptor)
    if preemptor is not None and preemptor.round_id == found.id:
        withdrawn = NominationWithdrawn(round_id=found.id)
        events.append((workload_stream(found.preemptor), withdrawn))
    run.decide(*events)


def how_it_went(victim: Workload | None, round_id: str) -> Gone | None:
    """How a victim's place became free; None while it still holds it."""
    if victim is None:
        return "Deleted"
    if victim.finished_at is not None:
        return "Finished"
    leaves_for_this = victim.eviction is not None and victim.eviction.id == round_id
    return None if holds_quota(victim) and leaves_for_this else "Eviction"


def _cause_to_abort(run: CycleRun, found: Round) -> str:
    preemptor = run.cell.workloads.get(found.preemptor)
    if preemptor is None:
        return f"{found.preemptor} was deleted"
    if preemptor.finished_at is not None:
        return f"{found.preemptor} has finished"
    if preemptor.round_id != found.id:
        return f"{found.preemptor} no longer wants the place"
    if run.partition.competes(preemptor):
        return ""
    obstacle = queue_obstacle(run.cell.config, preemptor)
    return obstacle.message if obstacle else f"{found.preemptor} may not start now"


def _release_victims(run: CycleRun, found: Round) -> None:
    stream = round_stream(found.id)
    events: list[tuple[str, DomainEvent]] = []
    left = 0
    for victim in found.victims:
        if victim.workload in found.released:
            continue
        by = how_it_went(run.cell.workloads.get(victim.workload), found.id)
        if by is None:
            left += 1
        else:
            events.append((stream, VictimReleased(workload=victim.workload, by=by)))
    if events and not left:
        events.append((stream, RoundSatisfied()))
    if events:
        run.decide(*events)


def _still_there(run: CycleRun, found: Round) -> tuple[str, ...]:
    return tuple(
        victim.workload
        for victim in found.victims
        if victim.workload not in found.released
        and how_it_went(run.cell.workloads.get(victim.workload), found.id) is None
    )
