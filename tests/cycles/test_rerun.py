"""Every plan of a simulated day with crashes runs again to the same bytes."""

import os
import subprocess
import sys
from random import Random

import pytest

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.historical_states import HistoricalStates
from headgate.application.queries.cycles import rerun_cycle
from headgate.application.scheduling_cycles import CycleRecord
from tests.hypothesis_profiles import examples
from tests.simulation.cluster import Cluster
from tests.simulation.scenario_run import installed_cluster

STEPS = examples(200, quick=120)


def replay_all(cluster: Cluster, chosen: int = 0) -> list[tuple[str, bool, str]]:
    """Each committed plan, whether it came out the same, and its digest."""
    states = HistoricalStates(cluster.log, MemoryStateCache())
    committed = [record for record in cluster.records if record.outcome == "Committed"]
    records = Random(1).sample(committed, chosen) if chosen else committed
    return [_replay(cluster, states, record) for record in records]


def _replay(
    cluster: Cluster, states: HistoricalStates, record: CycleRecord
) -> tuple[str, bool, str]:
    count = record.last_position - record.first_position + 1
    recorded = cluster.log.read(record.first_position - 1, limit=count)
    found = rerun_cycle(states.at(record.input_position).fork(), record, recorded)
    return record.id, found.is_same, found.digest_replayed


@pytest.mark.parametrize("seed", range(examples(4, quick=2)))
def test_every_plan_of_a_day_with_faults_runs_again_to_the_same_bytes(seed: int) -> None:
    cluster = installed_cluster(seed, STEPS, fault_rate=0.1)
    replayed = replay_all(cluster)
    assert len(replayed) > 20
    assert [name for name, is_same, _ in replayed if not is_same] == []


@pytest.mark.nightly
def test_two_hash_seeds_give_the_same_bytes() -> None:
    program = (
        "from tests.cycles.test_rerun import replay_all\n"
        "from tests.simulation.scenario_run import installed_cluster\n"
        "print(replay_all(installed_cluster(5, 150, fault_rate=0.1)))"
    )
    answers = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program]
        answers.append(subprocess.run(command, env=environment, capture_output=True, check=True))
    assert answers[0].stdout == answers[1].stdout
    assert b"True" in answers[0].stdout
