"""What would happen is worked out by what decides in earnest, and changes nothing."""

from typing import Any

import msgspec
import pytest

from headgate.application.commands.requests import StreamCommand
from headgate.application.simulations.simulation_run import (
    SimulationOutcome,
    SimulationRequest,
    run_simulation,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.what_if.settling import DidNotSettle
from tests.simulation.scenario_run import installed_cluster
from tests.what_if.submits import compare_day, rest


@pytest.mark.parametrize("seed", range(3))
def test_a_submit_is_predicted_as_it_happens(seed: int) -> None:
    for predicted, happened in compare_day(seed, submits=10):
        assert predicted == happened


def test_days_foretell_every_kind_of_verdict() -> None:
    verdicts = {happened.verdict for seed in range(3) for _, happened in compare_day(seed, 10)}
    assert {"Admitted", "MakesRoom", "Waits"} <= verdicts


def _foresee(seed: int, *changes: StreamCommand, late: bool = False) -> SimulationOutcome:
    cluster = installed_cluster(seed, 150)
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
