"""How events change a preemption round; total, and it never refuses."""

from typing import assert_never

from msgspec.structs import asdict, replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rounds import events as e
from headgate.domain.rounds.state import Round, RoundStage, RoundState
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message, workload_references


def evolve(state: RoundState, event: e.RoundEvent, at: Instant) -> RoundState:
    """The round after `event`; events of a round that never began change nothing."""
    if isinstance(event, e.RoundCommitted):
        return _committed(event, at)
    if isinstance(state, Absent):
        return state
    match event:
        case e.VictimReleased():
            return _released(state, event.workload)
        case e.RoundSatisfied():
            return replace(state, stage="Satisfied")
        case e.RoundCompleted():
            outcome = message("PreemptorStarted", waited=event.waited_seconds)
            done = _ended(state, "Completed", outcome, at)
            return replace(done, started_at=at, called_back=event.called_back)
        case e.PlacementInvalidated():
            return replace(
                state, stage="Invalidated", invalidated_by=event.by, taken_by=event.taken_by
            )
        case e.RoundSuperseded():
            return _superseded(state, event, at)
        case e.RoundAborted():
            aborted = _ended(state, "Aborted", event.cause, at)
            return replace(aborted, called_back=event.called_back)
        case e.RoundExpired():
            stalled = workload_references(event.stalled)
            return _ended(state, "Expired", message("VictimsStillRunning", victims=stalled), at)
        case _:
            assert_never(event)


def _committed(event: e.RoundCommitted, at: Instant) -> Round:
    plan = asdict(event)
    return Round(id=plan.pop("round_id"), stage="Committed", committed_at=at, **plan)


def _released(state: Round, workload: str) -> Round:
    if workload in state.released:
        return state
    stage: RoundStage = "Draining" if state.stage == "Committed" else state.stage
    return replace(state, stage=stage, released=(*state.released, workload))


def _superseded(state: Round, event: e.RoundSuperseded, at: Instant) -> Round:
    if event.by_round:
        outcome = message("RoundReplaced", round=event.by_round)
        return _ended(state, "Superseded", outcome, at)
    ended = _ended(state, "Superseded", message("PlacedElsewhere"), at)
    return replace(ended, started_at=at, called_back=event.called_back)


def _ended(state: Round, stage: RoundStage, outcome: Message, at: Instant) -> Round:
    return replace(state, stage=stage, ended_at=at, outcome=outcome)
