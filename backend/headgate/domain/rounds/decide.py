"""Commands of the scheduler to a preemption round, and what it answers (preemption.md §6.8, §6.10).

A round that has ended ignores all of them.
"""

from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import asdict

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rejection import Decider
from headgate.domain.rounds.state import (
    InvalidatedBy,
    PlacementInvalidated,
    QuotaFigures,
    ReleaseCause,
    Round,
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundEvent,
    RoundExpired,
    RoundSatisfied,
    RoundState,
    RoundSuperseded,
    RoundVictim,
    VictimReleased,
    evolve,
    is_open,
)
from headgate.domain.values.instants import Instant, seconds_after, whole_seconds
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate


class CommitRound(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a round with a complete plan; it expires `ttl_seconds` after it began."""

    round_id: str
    preemptor: str
    preemptor_priority: int
    preemptor_generation: int
    cluster_queue: str
    cohort: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    considered: int
    refused: tuple[ProtectedCandidate, ...]
    figures: tuple[QuotaFigures, ...]
    epoch: str
    basis_position: int
    ttl_seconds: int


class ReleaseVictims(msgspec.Struct, frozen=True):
    """Record victims that released their quota and hosts, by workload with the cause."""

    causes: Mapping[str, ReleaseCause]


class InvalidatePlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the nominated placement cannot be had any more; `taken_by` names its taker."""

    by: InvalidatedBy
    taken_by: str = ""


class CompleteRound(msgspec.Struct, frozen=True):
    """End a round with the admission of its preemptor at the nominated placement."""

    called_back: tuple[str, ...] = ()


class SupersedeRound(msgspec.Struct, frozen=True, kw_only=True):
    """End a round with another placement, or another round, for its preemptor."""

    admission: Admission | None = None
    by_round: str = ""
    called_back: tuple[str, ...] = ()


class AbortRound(msgspec.Struct, frozen=True):
    """End a round because its preemptor cannot use the placement any more."""

    cause: Message
    called_back: tuple[str, ...] = ()


class ExpireRound(msgspec.Struct, frozen=True):
    """End a round at the end of its time to live; `stalled` names the victims that still run."""

    stalled: tuple[str, ...]


RoundCommand = (
    CommitRound
    | ReleaseVictims
    | InvalidatePlacement
    | CompleteRound
    | SupersedeRound
    | AbortRound
    | ExpireRound
)


RoundEvents = tuple[RoundEvent, ...]


def decide(state: RoundState, command: RoundCommand, at: Instant) -> RoundEvents:
    """The events that follow for a round; none for an ended round, or one that never began."""
    if isinstance(command, CommitRound):
        return _commit(state, command, at)
    if isinstance(state, Absent) or not is_open(state):
        return ()
    match command:
        case ReleaseVictims():
            return _release_victims(state, command)
        case InvalidatePlacement():
            return _invalidate(state, command)
        case CompleteRound():
            waited = whole_seconds(at - state.committed_at)
            return (RoundCompleted(waited_seconds=waited, called_back=command.called_back),)
        case SupersedeRound():
            return (RoundSuperseded(**asdict(command)),)
        case AbortRound():
            return (RoundAborted(**asdict(command)),)
        case ExpireRound():
            return (RoundExpired(stalled=command.stalled),)
        case _:
            assert_never(command)


def _commit(state: RoundState, command: CommitRound, at: Instant) -> RoundEvents:
    assert isinstance(state, Absent), "the id of a round is given once"
    plan = asdict(command)
    expires_at = seconds_after(at, plan.pop("ttl_seconds"))
    return (RoundCommitted(**plan, expires_at=expires_at),)


def _release_victims(state: Round, command: ReleaseVictims) -> RoundEvents:
    """Releases in the order of the plan; the last satisfies the round, or ends an invalid one."""
    held = [victim.workload for victim in state.victims if victim.workload not in state.released]
    released = tuple(
        VictimReleased(workload=name, by=command.causes[name])
        for name in held
        if name in command.causes
    )
    if len(released) < len(held):
        return released
    if state.stage == "Invalidated":
        return (*released, RoundAborted(cause=message("PlacementNotAvailable")))
    return (*released, RoundSatisfied()) if released else ()


def _invalidate(state: Round, command: InvalidatePlacement) -> RoundEvents:
    if state.stage == "Invalidated":
        return ()
    return (PlacementInvalidated(by=command.by, taken_by=command.taken_by),)


ROUND: Decider[RoundCommand, RoundState, RoundEvent] = Decider(
    initial_state=Absent(), decide=decide, evolve=evolve
)
