"""A prediction of waits is checked when it is due, by what the fold has counted since."""

import pytest
from msgspec.structs import replace

from headgate.application.queries.detectors import MISSED_SHOWN_SECONDS, detected_problems
from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.starts import (
    ObservedWaits,
    PredictedWait,
    Prediction,
    PredictionChecked,
    PredictionRecorded,
    verdict_on,
)
from headgate.domain.values.instants import seconds_after
from tests.builders.world import StreamEvent, World, names, quotas

STREAM, LIMIT, DAY = "prediction/one", 100, 86_400


def predicted(world: World, generation: int = 1) -> None:
    """Predicts waits of queue `q` of at most a hundred seconds, checked after a day."""
    waits = PredictedWait(
        cluster_queue="q", generation=generation, p95_seconds=40, limit_seconds=LIMIT
    )
    due_at = seconds_after(world.at, DAY)
    world.record(STREAM, PredictionRecorded(backtest="b", due_at=due_at, waits=(waits,)))


@pytest.fixture
def world() -> World:
    """Queues `q` and `other` of one GPU each, and a workload that waits in `q` for long."""
    world = World()
    world.flavor("default")
    for name in ("q", "other"):
        world.cluster_queue(name, quotas(default=1))
    world.submit("running", "q")
    world.settle()
    world.submit("waiting", "q")
    world.settle()
    world.wait(10_000)
    predicted(world)
    return world


def checked(world: World) -> ObservedWaits:
    """What the check says of `q`, once it is due."""
    world.seconds = max(world.seconds, 1_000 + 10_000 + DAY)
    (event,) = [event for _, event in checks(world.settle())]
    (observed,) = event.observed
    return observed


def checks(made: list[StreamEvent]) -> list[tuple[str, PredictionChecked]]:
    return [(stream, event) for stream, event in made if isinstance(event, PredictionChecked)]


def end_first(world: World, *, after: int) -> None:
    """Ends the running workload, so that the waiting one starts after so many seconds."""
    world.wait(after)
    world.finish("team/running")
    world.settle()


def test_a_wait_before_the_prediction_is_no_part_of_it(world: World) -> None:
    end_first(world, after=LIMIT)
    assert checked(world) == ObservedWaits(cluster_queue="q", started=1)


def test_starts_beyond_the_limit_are_counted_and_told(world: World) -> None:
    end_first(world, after=LIMIT + 1)
    observed = checked(world)
    assert (observed, verdict_on(observed)) == (
        ObservedWaits(cluster_queue="q", started=1, started_later=1),
        "Missed",
    )
    told = [one.about for one in detected_problems(world.cluster_state, world.at)]
    assert told == ["q"]
    world.wait(MISSED_SHOWN_SECONDS + 1)
    assert detected_problems(world.cluster_state, world.at) == []


def test_what_is_pending_beyond_the_limit_counts_as_well(world: World) -> None:
    world.submit("elsewhere", "other")
    world.submit("also-elsewhere", "other")
    observed = checked(world)
    assert observed == ObservedWaits(cluster_queue="q", pending_longer=1)
    assert verdict_on(observed) == "Missed"


def test_a_second_start_of_a_workload_is_none(world: World) -> None:
    end_first(world, after=1)
    starts = world.cluster_state.recent_starts
    first = world["team/waiting"]
    assert starts.dump().counts == {"one": ((1, 0),)}
    starts.replace(None, replace(first, attempt=2))
    assert starts.dump().counts == {"one": ((1, 0),)}
    undo = starts.replace(None, first)
    assert undo is not None
    undo()
    assert starts.dump().counts == {"one": ((1, 0),)}


def test_a_queue_that_was_changed_since_has_no_verdict(world: World) -> None:
    end_first(world, after=LIMIT + 1)
    world.change_cluster_queue("q", resource_groups=quotas(default=2))
    assert verdict_on(checked(world)) == "QueueChanged"
    assert detected_problems(world.cluster_state, world.at) == []


def test_it_is_checked_once_and_planned_for_its_due_time(world: World) -> None:
    with world.cluster_state.overlay():
        plan = plan_cycle(world.cluster_state, INSTALLATION, world.at, "look")
    assert plan.next_due == seconds_after(world.at, DAY)
    assert checks(world.settle()) == []
    checked(world)
    world.wait(DAY)
    assert names(world.settle()) == []


def test_the_counts_are_kept_with_the_state_and_undone_with_an_overlay(world: World) -> None:
    state = world.cluster_state
    before = state.recent_starts.dump()
    world.seconds += LIMIT + 1
    with state.overlay():
        world_of = world.cluster_state
        for stream, event in finished_and_started(world):
            world_of.assume(stream, event, world.at)
        assert state.recent_starts.dump().counts == {"one": ((1, 1),)}
    assert state.recent_starts.dump() == before
    end_first(world, after=0)
    kept = ClusterState.load(state.dump())
    assert (
        kept.recent_starts.dump() == state.recent_starts.dump() == state.fork().recent_starts.dump()
    )
    assert kept.recent_starts.dump().counts == {"one": ((1, 1),)}
    assert isinstance(kept.state_of(STREAM), Prediction)


def finished_and_started(world: World) -> list[StreamEvent]:
    """The events by which the running workload ends and the waiting one starts."""
    other = World(world.seconds)
    for recorded in world.history:
        other.cluster_state.apply(recorded)
    length = len(other.history)
    other.finish("team/running")
    other.settle()
    return [(one.stream, one.event) for one in other.history[length:]]


@pytest.mark.parametrize(
    ("started", "later", "pending", "verdict"),
    [
        (0, 0, 0, "NoStarts"),
        (20, 1, 0, "Held"),
        (19, 1, 0, "Missed"),
        (19, 0, 1, "Held"),
        (18, 1, 1, "Missed"),
    ],
)
def test_five_of_a_hundred_may_wait_longer(
    started: int, later: int, pending: int, verdict: str
) -> None:
    observed = ObservedWaits(
        cluster_queue="q", started=started, started_later=later, pending_longer=pending
    )
    assert verdict_on(observed) == verdict
