"""A preemption round: its events, its state, and how events change it (preemption.md §6.10)."""

from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

import msgspec
from msgspec.structs import asdict, replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import (
    BudgetKey,
    Message,
    WorkloadKey,
    message,
    workload_references,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate

PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
]


InvalidatedBy = Literal["HostLost", "Taken", "QuotaChanged"]

ReleaseCause = Literal["Eviction", "Finished", "Shrunk", "Deleted"]


class RoundVictim(msgspec.Struct, frozen=True, kw_only=True):
    """One victim: the rule that allows its preemption, and what it frees.

    `freed` maps `flavor/resource` to an amount. With `shrinks_to` only some pods are evicted, which
    `indices` names: so many of each of these pod sets stay, and it goes on. `protection` is the
    priority that protected it, `violates` the disruption budgets (`namespace/name`) that its
    eviction breaks, `deadline_at` until when a Soft eviction lets it save its work.
    """

    workload: WorkloadKey
    cluster_queue: str
    reason: PreemptionReason
    priority: int
    pods: int
    freed: Requests
    running_seconds: int
    protection: int = 0
    cohort: str = ""
    violates: tuple[BudgetKey, ...] = ()
    mode: Literal["Immediate", "Soft"] = "Immediate"
    deadline_at: Instant | None = None
    shrinks_to: dict[str, int] = {}
    indices: dict[str, IndexRanges] = {}


class QuotaFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one flavor's resource in one ClusterQueue when the round was committed.

    `wanted` is what the preemptor requests there, `available` what it could have had at once.
    """

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    used: int
    wanted: int = 0
    available: int = 0


class RoundCommitted(msgspec.Struct, frozen=True, kw_only=True, tag="round.committed"):
    """A complete plan: the preemptor fits at `admission` once the victims have gone.

    `epoch` names the policies and quotas it was decided under.
    """

    round_id: str
    preemptor: WorkloadKey
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    considered: int
    refused: tuple[ProtectedCandidate, ...] = ()
    basis_position: int
    expires_at: Instant | None = None
    cohort: str = ""
    preemptor_generation: int = 0
    figures: tuple[QuotaFigures, ...] = ()
    epoch: str = ""


class VictimReleased(msgspec.Struct, frozen=True, kw_only=True, tag="round.victim_released"):
    """The quota and hosts of one victim are free."""

    workload: WorkloadKey
    by: ReleaseCause


class PlacementInvalidated(
    msgspec.Struct, frozen=True, kw_only=True, tag="round.placement_invalidated"
):
    """The nominated placement is lost; the preemptor may be nominated anew (§6.8).

    `taken_by` names the stronger workload that took it, if one did.
    """

    by: InvalidatedBy
    taken_by: WorkloadKey = ""


class RoundSatisfied(msgspec.Struct, frozen=True, tag="round.satisfied"):
    """Every victim has gone."""


class RoundCompleted(msgspec.Struct, frozen=True, kw_only=True, tag="round.completed"):
    """The preemptor was admitted as nominated, `waited_seconds` after the round began.

    Evictions of `called_back` victims were cancelled: capacity was released elsewhere first.
    """

    waited_seconds: int
    called_back: tuple[WorkloadKey, ...] = ()


class RoundSuperseded(msgspec.Struct, frozen=True, kw_only=True, tag="round.superseded"):
    """The preemptor got another placement or another round before all victims had gone.

    `admission` is that placement if it was admitted there, `by_round` the round that plans another.
    Evictions of `called_back` victims were cancelled.
    """

    admission: Admission | None = None
    by_round: str = ""
    called_back: tuple[WorkloadKey, ...] = ()


class RoundAborted(msgspec.Struct, frozen=True, kw_only=True, tag="round.aborted"):
    """The preemptor cannot use the placement any more, or it can no longer be had.

    Evictions of `called_back` victims were cancelled.
    """

    cause: Message
    called_back: tuple[WorkloadKey, ...] = ()


class RoundExpired(msgspec.Struct, frozen=True, kw_only=True, tag="round.expired"):
    """The victims in `stalled` did not stop in time."""

    stalled: tuple[WorkloadKey, ...]


RoundEvent = (
    RoundCommitted
    | VictimReleased
    | PlacementInvalidated
    | RoundSatisfied
    | RoundCompleted
    | RoundSuperseded
    | RoundAborted
    | RoundExpired
)


RoundStage = Literal[
    "Committed", "Draining", "Satisfied", "Invalidated",
    "Completed", "Superseded", "Aborted", "Expired",
]  # fmt: skip
OPEN_STAGES: tuple[RoundStage, ...] = ("Committed", "Draining", "Satisfied", "Invalidated")


class Round(msgspec.Struct, frozen=True, kw_only=True, tag="round"):
    """One preemption from commit to end; `released` names the victims gone, in order.

    Committed until the first victim has gone, then Draining; Satisfied when all have. Invalidated
    if the nominated placement was lost and the preemptor has no other yet; `taken_by` is the
    stronger workload that took it. `called_back` are victims that run on because their eviction was
    cancelled. `started_at` is when the preemptor was admitted, at this placement or another.
    """

    id: str
    stage: RoundStage
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    released: tuple[str, ...] = ()
    called_back: tuple[str, ...] = ()
    considered: int
    refused: tuple[ProtectedCandidate, ...] = ()
    basis_position: int
    committed_at: Instant
    ended_at: Instant | None = None
    expires_at: Instant | None = None
    outcome: Message | None = None
    cohort: str = ""
    preemptor_generation: int = 0
    figures: tuple[QuotaFigures, ...] = ()
    invalidated_by: str = ""
    taken_by: str = ""
    started_at: Instant | None = None
    epoch: str = ""


RoundState = Absent | Round


def is_open(found: Round) -> bool:
    """Whether a round has not ended."""
    return found.stage in OPEN_STAGES


def named_while_open(found: Round | None) -> tuple[str, ...]:
    """The preemptor and the victims of an open round, each once; none of an ended one."""
    if found is None or not is_open(found):
        return ()
    return tuple(dict.fromkeys((found.preemptor, *(each.workload for each in found.victims))))


MAX_ENDED_ROUNDS = 1_000
"""Ended rounds that a fold keeps; older ones are in their streams and read models."""


def oldest_ended_rounds(rounds: Mapping[str, Round]) -> list[str]:
    """The rounds, in order of their commit, that a fold of these keeps no longer."""
    if len(rounds) <= MAX_ENDED_ROUNDS:
        return []
    ended = [found.id for found in rounds.values() if not is_open(found)]
    return ended[: len(rounds) - MAX_ENDED_ROUNDS]


def oldest_first(rounds: Iterable[Round]) -> list[Round]:
    """Rounds in the order they began in.

    Their ids do not tell it: they depend on the worker, what-if or backtest that gave them.
    """
    return sorted(rounds, key=lambda found: (found.committed_at, found.preemptor, found.id))


def reclaims_nominal_quota(found: Round) -> bool:
    """Whether a round reclaims nominal quota for the preemptor's side, at any priority (§6.8)."""
    return any(victim.reason == "InCohortReclamation" for victim in found.victims)


def evolve(state: RoundState, event: RoundEvent, at: Instant) -> RoundState:
    """The round after `event`; events of a round that never began change nothing."""
    if isinstance(event, RoundCommitted):
        return _committed(event, at)
    if isinstance(state, Absent):
        return state
    match event:
        case VictimReleased():
            return _released(state, event.workload)
        case RoundSatisfied():
            return replace(state, stage="Satisfied")
        case RoundCompleted():
            outcome = message("PreemptorStarted", waited=event.waited_seconds)
            done = _ended(state, "Completed", outcome, at)
            return replace(done, started_at=at, called_back=event.called_back)
        case PlacementInvalidated():
            return replace(
                state, stage="Invalidated", invalidated_by=event.by, taken_by=event.taken_by
            )
        case RoundSuperseded():
            return _superseded(state, event, at)
        case RoundAborted():
            aborted = _ended(state, "Aborted", event.cause, at)
            return replace(aborted, called_back=event.called_back)
        case RoundExpired():
            stalled = workload_references(event.stalled)
            return _ended(state, "Expired", message("VictimsStillRunning", victims=stalled), at)
        case _:
            assert_never(event)


def _committed(event: RoundCommitted, at: Instant) -> Round:
    plan = asdict(event)
    return Round(id=plan.pop("round_id"), stage="Committed", committed_at=at, **plan)


def _released(state: Round, workload: str) -> Round:
    if workload in state.released:
        return state
    stage: RoundStage = "Draining" if state.stage == "Committed" else state.stage
    return replace(state, stage=stage, released=(*state.released, workload))


def _superseded(state: Round, event: RoundSuperseded, at: Instant) -> Round:
    if event.by_round:
        outcome = message("RoundReplaced", round=event.by_round)
        return _ended(state, "Superseded", outcome, at)
    ended = _ended(state, "Superseded", message("PlacedElsewhere"), at)
    return replace(ended, started_at=at, called_back=event.called_back)


def _ended(state: Round, stage: RoundStage, outcome: Message, at: Instant) -> Round:
    return replace(state, stage=stage, ended_at=at, outcome=outcome)
