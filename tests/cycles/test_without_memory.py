"""Workers with live state decide what the log alone decides (ADR 0017)."""

import pytest
from msgspec.structs import replace

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.historical_states import HistoricalStates
from headgate.application.queries.cycles import digest, rerun_cycle
from headgate.domain.scheduling.cycle import plan_cycle
from tests.cycles.reason_changes import StreamEvent, explained_streams, without_reason_changes
from tests.hypothesis_profiles import examples
from tests.simulation.cluster import Cluster
from tests.simulation.scenario_run import install, step
from tests.what_if.submits import rest

STEPS_TO_A_REST = 10
RESTS = examples(30, quick=14)
MANY = 1_000_000


def live(seed: int, rests: int) -> Cluster:
    """A day of two workers that settle now and then; then the log leaves nothing to decide."""
    cluster = Cluster(seed)
    install(cluster)
    for _ in range(rests):
        for _ in range(STEPS_TO_A_REST):
            step(cluster)
        rest(cluster)
        assert left_to_decide(cluster) == [], f"seed {seed}: overlooked"
    return cluster


def left_to_decide(cluster: Cluster) -> list[StreamEvent]:
    """The decisions left for a state that was folded from the log alone."""
    cluster_state = cluster.witness.cluster_state.fork()
    known = explained_streams(cluster_state)
    with cluster_state.overlay():
        plans = [
            plan_cycle(cluster_state, key, cluster.now, "anew")
            for key in cluster_state.partition_keys()
        ]
    made = [fact for plan in plans for decision in plan.decisions for fact in decision.events]
    return without_reason_changes(made, known)


def decided_otherwise(cluster: Cluster) -> list[str]:
    """The plans that a state folded from the log alone begins otherwise."""
    states = HistoricalStates(cluster.log, MemoryStateCache())
    found = []
    for record in cluster.records:
        if record.outcome != "Committed":
            continue
        cluster_state = states.at(record.input_position).fork()
        known = explained_streams(cluster_state)
        count = record.last_position - record.first_position + 1
        recorded = cluster.log.read(record.first_position - 1, limit=count)
        forgotten = replace(record, inadmissible={}, decisions=MANY)
        rerun = rerun_cycle(cluster_state, forgotten, recorded)
        then, again = (
            without_reason_changes(rerun.recorded, known),
            without_reason_changes(rerun.replayed, known),
        )
        if digest(then) != digest(again[: len(then)]):
            found.append(record.id)
    return found


@pytest.mark.parametrize("seed", [2, 8][: examples(2, quick=1)])
def test_what_a_worker_remembers_decides_nothing(seed: int) -> None:
    cluster = live(seed, RESTS)
    assert len(cluster.records) > 40
    assert decided_otherwise(cluster) == []
