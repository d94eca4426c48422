"""What would happen is worked out by what decides in earnest, and changes nothing."""

from typing import Any

import msgspec
import pytest

from headgate.application.commands.requests import StreamCommand
from headgate.application.simulation_run import (
    SimulationOutcome,
    SimulationRequest,
    run_simulation,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.what_if import DidNotSettle
from tests.hypothesis_profiles import examples
from tests.simulation.scenario_run import installed_cluster
from tests.what_if.submits import compare_day, rest

STEPS, SUBMITS = examples(150, quick=80), examples(10, quick=7)


def test_submits_of_every_verdict_are_predicted_as_they_happen() -> None:
    days = [compare_day(seed, SUBMITS, STEPS) for seed in range(4)]
    submits = [each for day in days for each in day]
    for predicted, happened in submits:
        assert predicted == happened
    assert {"Admitted", "MakesRoom", "Waits"} <= {happened.verdict for _, happened in submits}


def _foresee(seed: int, *changes: StreamCommand, late: bool = False) -> SimulationOutcome:
    cluster = installed_cluster(seed, STEPS)
    rest(cluster)
    cluster_state = cluster.witness.cluster_state.fork()
    before = _content(cluster_state)
    try:
        return run_simulation(cluster_state, SimulationRequest(changes, cluster.now, lambda: late))
    finally:
        assert _content(cluster_state) == before, "trying out changes nothing"


def _content(cluster_state: ClusterState) -> Any:
    """All that a cell knows; in which order it came to know it says nothing."""
    return msgspec.msgpack.decode(cluster_state.dump())


def test_without_a_change_nothing_differs() -> None:
    found = _foresee(5)
    assert found.effects == ()


def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(DidNotSettle):
        _foresee(1, late=True)
