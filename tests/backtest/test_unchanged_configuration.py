"""A simulated day once more as it was: the same workloads start in the same places."""

from collections.abc import Iterable

import msgspec
import pytest

from headgate.domain.backtest.outcome import BacktestOutcome, backtest_outcome
from headgate.domain.backtest.recorded_window import ReplacedObjects, read_window
from headgate.domain.backtest.replay_run import advance, start_replay
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.workloads.events import WorkloadSubmitted
from tests.hypothesis_profiles import examples
from tests.simulation.cluster import SECONDS, Cluster
from tests.simulation.scenario_run import install, random_action

STEPS = examples(250, quick=120)


def day(seed: int) -> Cluster:
    """A day on which one of two workers looks as soon as something has happened.

    Each of them keeps its own inadmissible workloads, which decide nothing.
    """
    cluster = Cluster(seed)
    install(cluster)
    cluster.sweep()
    for _ in range(STEPS):
        until = cluster.now + cluster.chance.randint(1, 5 * SECONDS)
        while (due := cluster.partitions.agenda().next_due) is not None and due < until:
            cluster.now = max(cluster.now + 1, due)
            cluster.sweep()
        cluster.now = max(cluster.now + 1, until)
        random_action(cluster)
        cluster.now += 20_000
        cluster.sweep()
    return cluster


def state_at(cluster: Cluster, position: int) -> ClusterState:
    cluster_state = ClusterState()
    for recorded in cluster.log.read_all(0, position):
        cluster_state.apply(recorded)
    return cluster_state


def rehearsed(
    cluster: Cluster,
    start: int,
    overlay: Iterable[tuple[str, DomainEvent]] = (),
    moves: int = 10_000_000,
) -> BacktestOutcome:
    """The rest of the day from a position on."""
    cluster_state = state_at(cluster, start)
    facts = list(cluster.log.read_all(start, cluster.log.head()))
    period = (cluster_state.changed_at, facts[-1].at)
    overlay = tuple(overlay)
    replaced = ReplacedObjects(frozenset(stream for stream, _ in overlay))
    window = read_window(cluster_state, facts, period, replaced)
    progress, is_over = start_replay(state_at(cluster, start), window, overlay), False
    while not is_over:
        progress, is_over = advance(progress, window, moves)
    return backtest_outcome(window, progress)


@pytest.mark.parametrize("seed", range(examples(6, quick=2)))
def test_an_unchanged_day_starts_the_same_workloads_in_the_same_places(seed: int) -> None:
    cluster = day(seed)
    found = rehearsed(cluster, 60)

    assert found.workloads == ()
    assert found.totals.same == found.totals.workloads > 20
    assert found.totals.starts_compared > 10
    for queue in found.queues:
        assert queue.actual == queue.backtest
        for use in queue.usage:
            assert use.actual == use.backtest


def test_an_event_stamped_later_than_the_end_of_the_window_belongs_to_it() -> None:
    """Given a submit by a clock 100 ms ahead, it is a step of the window that ends after it."""
    cluster = day(3)
    facts = list(cluster.log.read_all(60, cluster.log.head()))
    end_at = facts[-1].at
    number, submit = next(
        (number, each)
        for number, each in reversed(list(enumerate(facts[:-1])))
        if isinstance(each.event, WorkloadSubmitted)
    )
    facts[number] = msgspec.structs.replace(submit, at=end_at + 100_000)
    cluster_state = state_at(cluster, 60)
    period = (cluster_state.changed_at, end_at)
    window = read_window(cluster_state, facts, period, ReplacedObjects())

    (step,) = (step for step in window.steps if step.position == submit.position)
    assert step.at == end_at
    assert [step.at for step in window.steps] == sorted(step.at for step in window.steps)


def test_the_same_rests_give_the_same_bytes() -> None:
    cluster = day(3)
    encode = msgspec.json.encode
    found = rehearsed(cluster, 60, moves=7)

    assert encode(found) == encode(rehearsed(cluster, 60, moves=7))
    assert found.workloads == ()
