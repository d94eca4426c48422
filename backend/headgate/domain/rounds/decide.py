"""What a preemption round answers to the scheduler (reference preemption.md §6.8 and §6.10)."""

from typing import assert_never

from msgspec.structs import asdict

from headgate.domain.decider import Decider
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rounds import commands as c
from headgate.domain.rounds import events as e
from headgate.domain.rounds.evolve import evolve
from headgate.domain.rounds.state import Round, RoundState, is_open
from headgate.domain.values.instants import Instant, seconds_after, whole_seconds
from headgate.domain.values.message import message

RoundEvents = tuple[e.RoundEvent, ...]


def decide(state: RoundState, command: c.RoundCommand, at: Instant) -> RoundEvents:
    """The events that follow for a round; none for an ended round, or one that never began."""
    if isinstance(command, c.CommitRound):
        return _commit(state, command, at)
    if isinstance(state, Absent) or not is_open(state):
        return ()
    match command:
        case c.ReleaseVictims():
            return _release_victims(state, command)
        case c.InvalidatePlacement():
            return _invalidate(state, command)
        case c.CompleteRound():
            waited = whole_seconds(at - state.committed_at)
            return (e.RoundCompleted(waited_seconds=waited, called_back=command.called_back),)
        case c.SupersedeRound():
            return (e.RoundSuperseded(**asdict(command)),)
        case c.AbortRound():
            return (e.RoundAborted(**asdict(command)),)
        case c.ExpireRound():
            return (e.RoundExpired(stalled=command.stalled),)
        case _:
            assert_never(command)


def _commit(state: RoundState, command: c.CommitRound, at: Instant) -> RoundEvents:
    assert isinstance(state, Absent), "the id of a round is given once"
    plan = asdict(command)
    expires_at = seconds_after(at, plan.pop("ttl_seconds"))
    return (e.RoundCommitted(**plan, expires_at=expires_at),)


def _release_victims(state: Round, command: c.ReleaseVictims) -> RoundEvents:
    """Releases in the order of the plan; the last satisfies the round, or ends an invalid one."""
    held = [victim.workload for victim in state.victims if victim.workload not in state.released]
    released = tuple(
        e.VictimReleased(workload=name, by=command.causes[name])
        for name in held
        if name in command.causes
    )
    if len(released) < len(held):
        return released
    if state.stage == "Invalidated":
        return (*released, e.RoundAborted(cause=message("PlacementNotAvailable")))
    return (*released, e.RoundSatisfied()) if released else ()


def _invalidate(state: Round, command: c.InvalidatePlacement) -> RoundEvents:
    if state.stage == "Invalidated":
        return ()
    return (e.PlacementInvalidated(by=command.by, taken_by=command.taken_by),)


ROUND: Decider[c.RoundCommand, RoundState, e.RoundEvent] = Decider(
    initial_state=Absent(), decide=decide, evolve=evolve
)
