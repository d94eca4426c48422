"""What a preemption round answers to the commands of the scheduler."""

import pytest

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rounds.decide import (
    ROUND,
    AbortRound,
    CommitRound,
    CompleteRound,
    ExpireRound,
    InvalidatePlacement,
    ReleaseVictims,
    RoundCommand,
    SupersedeRound,
)
from headgate.domain.rounds.state import (
    PlacementInvalidated,
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundEvent,
    RoundSatisfied,
    RoundState,
    RoundVictim,
    VictimReleased,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import message
from headgate.domain.workloads.admission import Admission
from tests.builders.instants import T0


def victim(name: str) -> RoundVictim:
    return RoundVictim(
        workload=f"team/{name}",
        cluster_queue="cq",
        reason="InClusterQueue",
        priority=0,
        pods=1,
        freed={},
        running_seconds=0,
    )


COMMIT = CommitRound(
    round_id="r1",
    preemptor="team/high",
    preemptor_priority=100,
    preemptor_generation=1,
    cluster_queue="cq",
    cohort="",
    admission=Admission(cluster_queue="cq", pod_set_assignments=()),
    victims=(victim("a"), victim("b")),
    considered=2,
    refused=(),
    figures=(),
    epoch="e",
    basis_position=1,
    ttl_seconds=600,
)


def after(*commands: RoundCommand) -> tuple[RoundState, tuple[RoundEvent, ...]]:
    """The round after a commit and these commands, with the events of the last one."""
    state: RoundState = Absent()
    events: tuple[RoundEvent, ...] = ()
    for number, command in enumerate((COMMIT, *commands)):
        at = seconds(number)
        events = ROUND.decide(state, command, at)
        for event in events:
            state = ROUND.evolve(state, event, at)
    return state, events


def seconds(number: int) -> Instant:
    return T0 + number * MICROSECONDS_PER_SECOND


def test_a_round_expires_its_time_to_live_after_it_began() -> None:
    _, (committed,) = after()
    assert isinstance(committed, RoundCommitted)
    assert committed.expires_at == seconds(600)


def test_the_release_of_the_last_victim_satisfies_a_round() -> None:
    _, first = after(ReleaseVictims({"team/b": "Finished"}))
    assert first == (VictimReleased(workload="team/b", by="Finished"),)
    causes = ReleaseVictims({"team/a": "Eviction", "team/b": "Finished"})
    _, last = after(ReleaseVictims({"team/b": "Finished"}), causes)
    assert last == (VictimReleased(workload="team/a", by="Eviction"), RoundSatisfied())


def test_the_release_of_the_last_victim_ends_an_invalidated_round() -> None:
    causes = ReleaseVictims({"team/a": "Eviction", "team/b": "Eviction"})
    _, (*released, end) = after(InvalidatePlacement(by="HostLost"), causes)
    assert len(released) == 2
    assert isinstance(end, RoundAborted)


def test_a_placement_is_invalidated_once() -> None:
    lost = InvalidatePlacement(by="Taken", taken_by="team/other")
    assert after(lost)[1] == (PlacementInvalidated(by="Taken", taken_by="team/other"),)
    assert after(lost, lost)[1] == ()


def test_a_completed_round_tells_how_long_its_preemptor_waited() -> None:
    _, (completed,) = after(ReleaseVictims({"team/a": "Eviction"}), CompleteRound())
    assert completed == RoundCompleted(waited_seconds=2)


@pytest.mark.parametrize(
    "command",
    [
        ReleaseVictims({"team/a": "Eviction"}),
        InvalidatePlacement(by="HostLost"),
        CompleteRound(),
        SupersedeRound(by_round="r2"),
        AbortRound(cause=message("PlacementNotAvailable")),
        ExpireRound(stalled=()),
    ],
)
def test_an_ended_round_ignores_commands(command: RoundCommand) -> None:
    assert after(AbortRound(cause=message("PlacementNotAvailable")), command)[1] == ()
    assert ROUND.decide(Absent(), command, T0) == ()
